/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libnccl.so.2 of the double: the exported collectives and communicator calls succeed at once, and what collectives give
 * the device ends when all ranks have entered, where $DOUBLE_SHARED couples them. As in the real library each nccl name
 * has a pnccl twin at the same address.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct id {
	char bytes[128];
};

#define API(name, params, args_checked)                                          \
	__attribute__((visibility("default"))) int name params;                  \
	__attribute__((visibility("default"), alias(#name))) int p##name params; \
	int name params                                                          \
	{                                                                        \
		return (args_checked) ? 0 : 4; /* ncclInvalidArgument */         \
	}

struct comm {
	int ranks, rank;
	uint64_t sequence;
};

/* Enters a collective with the other ranks, in the driver's double if that is loaded. */
static int meet(struct comm *c, void *stream)
{
	static void (*collective)(void *, uint64_t, uint32_t);
	void *driver = collective ? NULL : dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);

	if (!c)
		return 0;
	if (driver)
		*(void **)&collective = dlsym(driver, "double_collective");
	if (collective && c->ranks > 1)
		collective(stream, c->sequence++, (uint32_t)c->ranks);
	return 1;
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

static int end_comm(struct comm *c)
{
	free(c);
	return c != NULL;
}

API(ncclGetVersion, (int *version), version && (*version = 22800))
API(ncclGetUniqueId, (struct id * id), id &&memset(id, 7, sizeof *id))
API(ncclCommInitRank, (struct comm * *c, int ranks, struct id id, int rank),
    new_comm(c, ranks, rank))
API(ncclCommInitRankConfig, (struct comm * *c, int ranks, struct id id, int rank, void *config),
    new_comm(c, ranks, rank))
API(ncclCommSplit, (struct comm * c, int color, int key, struct comm **out, void *config),
    c &&new_comm(out, c->ranks, key))
API(ncclCommFinalize, (struct comm * c), c)
API(ncclCommDestroy, (struct comm * c), end_comm(c))
API(ncclCommAbort, (struct comm * c), end_comm(c))
API(ncclCommCount, (const struct comm *c, int *n), c &&n && (*n = c->ranks))
API(ncclCommGetAsyncError, (struct comm * c, int *error), c &&error && !(*error = 0))
API(ncclGroupStart, (void), 1)
API(ncclGroupEnd, (void), 1)
API(ncclAllReduce,
    (const void *s, void *r, size_t n, int type, int op, struct comm *c, void *stream),
    meet(c, stream))
API(ncclReduceScatter,
    (const void *s, void *r, size_t n, int type, int op, struct comm *c, void *stream),
    meet(c, stream))
API(ncclReduce,
    (const void *s, void *r, size_t n, int type, int op, int root, struct comm *c, void *stream),
    meet(c, stream))
API(ncclBroadcast,
    (const void *s, void *r, size_t n, int type, int root, struct comm *c, void *stream),
    meet(c, stream))
API(ncclBcast, (void *buffer, size_t n, int type, int root, struct comm *c, void *stream),
    meet(c, stream))
API(ncclAllGather, (const void *s, void *r, size_t n, int type, struct comm *c, void *stream),
    meet(c, stream))
API(ncclSend, (const void *s, size_t n, int type, int peer, struct comm *c, void *stream), c)
API(ncclRecv, (void *r, size_t n, int type, int peer, struct comm *c, void *stream), c)
API(ncclAlltoAll, (const void *s, void *r, size_t n, int type, struct comm *c, void *stream),
    meet(c, stream))
API(ncclGather,
    (const void *s, void *r, size_t n, int type, int root, struct comm *c, void *stream),
    meet(c, stream))
API(ncclScatter,
    (const void *s, void *r, size_t n, int type, int root, struct comm *c, void *stream),
    meet(c, stream))
API(ncclCommInitRankScalable,
    (struct comm * *c, int ranks, int rank, int n, struct id *ids, void *config),
    new_comm(c, ranks, rank))
API(ncclCommInitAll, (struct comm * *c, int n, const int *devices), new_comm(c, n, 0))
API(ncclMemAlloc, (void **p, size_t n), p && (*p = malloc(n)))
API(ncclMemFree, (void *p), p)
