/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libnccl.so.2 of the double: the exported collectives and communicator calls succeed at once, and
 * what collectives give the device ends when all ranks have entered, where $DOUBLE_SHARED couples
 * them. Where device memory has contents, a collective is a kernel of its stream and moves what
 * this process has: every other rank's data is taken to be the same. As in the real library each
 * nccl name has a pnccl twin at the same address.
 */
#include <stdlib.h>
#include <string.h>

#include "client.h"

/* The table names every parameter for the reader; some results need fewer. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

struct id {
	char bytes[128];
};

struct comm {
	int ranks, rank;
	uint64_t sequence;
};

static size_t size_of(int type)
{
	/* ncclDataType_t from 0 on: int8, uint8, int32, uint32, int64, uint64, half, float, double,
	 * bfloat16, two of 8 bits */
	static const unsigned char sizes[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };

	return type >= 0 && (size_t)type < sizeof sizes ? sizes[type] : 1;
}

/* A copy on the device, as a kernel makes it: no call of the driver's. */
static void move(const void *from, void *to, size_t bytes)
{
	if (from && to && from != to)
		memmove(to, from, bytes);
}

/* Enters a collective with the other ranks. */
static int meet(struct comm *c, void *stream)
{
	static void (*_Atomic collective)(void *, uint64_t, uint32_t);

	if (!c)
		return 0;
	if (client_has_contents()) {
		client_launch(stream);
		return 1;
	}
	if (!collective)
		collective = (void (*)(void *, uint64_t, uint32_t))client_find("double_collective");
	if (collective && c->ranks > 1)
		collective(stream, c->sequence++, (uint32_t)c->ranks);
	return 1;
}

/* A collective that leaves `pieces` times n values behind: each of them is this rank's. */
static int collect(const void *s, void *r, size_t n, int type, int pieces, struct comm *c,
		   void *stream)
{
	size_t bytes = n * size_of(type);

	if (!c)
		return 0;
	for (int i = 0; client_has_contents() && i < pieces; i++)
		move(s, (char *)r + (size_t)i * bytes, bytes);
	return meet(c, stream);
}

/* The piece of s that is this rank's. */
static int scatter(const void *s, void *r, size_t n, int type, struct comm *c, void *stream)
{
	return c && collect((const char *)s + (size_t)c->rank * n * size_of(type), r, n, type, 1, c,
			    stream);
}

static int new_comm(struct comm **out, int ranks, int rank)
{
	struct comm *c = out ? calloc(1, sizeof *c) : NULL;

	if (!c)
		return 0;
	*c = (struct comm){ .ranks = ranks, .rank = rank };
	*out = c;
	return 1;
}

static int new_comms(struct comm **out, int n)
{
	for (int i = 0; i < n; i++)
		if (!new_comm(&out[i], n, i))
			return 0;
	return 1;
}

static int end_comm(struct comm *c)
{
	free(c);
	return c != NULL;
}

static int give_handle(void **out)
{
	static _Atomic uintptr_t last = 0x7b0000000000;

	if (!out)
		return 0;
	*out = (void *)(last += 64);
	return 1;
}

#define API_OF(type, name, params, result)                                        \
	__attribute__((visibility("default"))) type name params;                  \
	__attribute__((visibility("default"), alias(#name))) type p##name params; \
	type name params                                                          \
	{                                                                         \
		static struct counter *_Atomic counter;                           \
		struct call call = client_enter(&counter, #name);                 \
		type answer = result;                                             \
                                                                                  \
		client_leave(&call, 0);                                           \
		return answer;                                                    \
	}
#define API(name, params, ok)                                                    \
	__attribute__((visibility("default"))) int name params;                  \
	__attribute__((visibility("default"), alias(#name))) int p##name params; \
	int name params                                                          \
	{                                                                        \
		static struct counter *_Atomic counter;                          \
		struct call call = client_enter(&counter, #name);                \
		int rc = call.failed ? call.failed : (ok) ? 0 : 4;               \
                                                                                 \
		client_leave(&call, rc); /* 4: ncclInvalidArgument */            \
		return rc;                                                       \
	}

API(ncclGetVersion, (int *version), version && (*version = 22800))
API_OF(const char *, ncclGetErrorString, (int error), error ? "invalid argument" : "no error")
API_OF(const char *, ncclGetLastError, (struct comm * c), "")
API(ncclGetUniqueId, (struct id * id), id &&memset(id, 7, sizeof *id))
API(ncclCommInitRank, (struct comm * *c, int ranks, struct id id, int rank),
    new_comm(c, ranks, rank))
API(ncclCommInitRankConfig, (struct comm * *c, int ranks, struct id id, int rank, void *config),
    new_comm(c, ranks, rank))
API(ncclCommInitRankScalable,
    (struct comm * *c, int ranks, int rank, int n, struct id *ids, void *config),
    new_comm(c, ranks, rank))
API(ncclCommInitAll, (struct comm * *c, int n, const int *devices), c &&new_comms(c, n))
API(ncclCommSplit, (struct comm * c, int color, int key, struct comm **out, void *config),
    c &&new_comm(out, c->ranks, key))
API(ncclCommShrink,
    (struct comm * c, int *exclude, int n, struct comm **out, void *config, int flags),
    c &&new_comm(out, c->ranks - n, c->rank))
API(ncclCommFinalize, (struct comm * c), c)
API(ncclCommDestroy, (struct comm * c), end_comm(c))
API(ncclCommAbort, (struct comm * c), end_comm(c))
API(ncclCommCount, (const struct comm *c, int *n), c &&n && (*n = c->ranks))
API(ncclCommUserRank, (const struct comm *c, int *n), c &&n && ((*n = c->rank), 1))
API(ncclCommCuDevice, (const struct comm *c, int *n), c &&n && ((*n = 0), 1))
API(ncclCommGetAsyncError, (struct comm * c, int *error), c &&error && !(*error = 0))
API(ncclCommRegister, (struct comm * c, void *p, size_t n, void **handle), c &&give_handle(handle))
API(ncclCommDeregister, (struct comm * c, void *handle), c)
API(ncclCommWindowRegister, (struct comm * c, void *p, size_t n, void **window, int flags),
    c &&give_handle(window))
API(ncclCommWindowDeregister, (struct comm * c, void *window), c)
API(ncclRedOpCreatePreMulSum, (int *op, void *scalar, int type, int where, struct comm *c),
    op &&c && (*op = 5))
API(ncclRedOpDestroy, (int op, struct comm *c), c)
API(ncclGroupStart, (void), 1)
API(ncclGroupEnd, (void), 1)
API(ncclAllReduce,
    (const void *s, void *r, size_t n, int type, int op, struct comm *c, void *stream),
    collect(s, r, n, type, 1, c, stream))
API(ncclReduceScatter,
    (const void *s, void *r, size_t n, int type, int op, struct comm *c, void *stream),
    scatter(s, r, n, type, c, stream))
API(ncclReduce,
    (const void *s, void *r, size_t n, int type, int op, int root, struct comm *c, void *stream),
    collect(s, r, n, type, 1, c, stream))
API(ncclBroadcast,
    (const void *s, void *r, size_t n, int type, int root, struct comm *c, void *stream),
    collect(s, r, n, type, 1, c, stream))

/* Does nothing but call the exported name, as in NVIDIA's library, and so does not count itself. */
__attribute__((visibility("default"))) int ncclBcast(void *buffer, size_t n, int type, int root,
						     struct comm *c, void *stream);
__attribute__((visibility("default"), alias("ncclBcast"))) int pncclBcast(void *buffer, size_t n,
									  int type, int root,
									  struct comm *c,
									  void *stream);
int ncclBcast(void *buffer, size_t n, int type, int root, struct comm *c, void *stream)
{
	return ncclBroadcast(buffer, buffer, n, type, root, c, stream);
}

API(ncclAllGather, (const void *s, void *r, size_t n, int type, struct comm *c, void *stream),
    collect(s, r, n, type, c ? c->ranks : 0, c, stream))
API(ncclAlltoAll, (const void *s, void *r, size_t n, int type, struct comm *c, void *stream),
    collect(s, r, n *(size_t)(c ? c->ranks : 0), type, 1, c, stream))
API(ncclGather,
    (const void *s, void *r, size_t n, int type, int root, struct comm *c, void *stream),
    collect(s, r, n, type, c && c->rank == root ? c->ranks : 0, c, stream))
API(ncclScatter,
    (const void *s, void *r, size_t n, int type, int root, struct comm *c, void *stream),
    scatter(s, r, n, type, c, stream))
API(ncclSend, (const void *s, size_t n, int type, int peer, struct comm *c, void *stream), c)
API(ncclRecv, (void *r, size_t n, int type, int peer, struct comm *c, void *stream), c)
API(ncclMemAlloc, (void **p, size_t n), p && (*p = malloc(n)))
API(ncclMemFree, (void *p), p)

/* What no program has needed an answer from yet. */
#define REFUSED(name) API(name, (void), 0)
REFUSED(ncclCommGetUniqueId)
REFUSED(ncclCommGrow)
REFUSED(ncclCommMemStats)
REFUSED(ncclCommResume)
REFUSED(ncclCommRevoke)
REFUSED(ncclCommSuspend)
REFUSED(ncclDevCommCreate)
REFUSED(ncclDevCommDestroy)
REFUSED(ncclGetLsaMultimemDevicePointer)
REFUSED(ncclGetPeerDevicePointer)
REFUSED(ncclGroupSimulateEnd)
REFUSED(ncclPutSignal)
REFUSED(ncclSignal)
REFUSED(ncclWaitSignal)
REFUSED(ncclWinGetUserPtr)
