/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library of NVIDIA's whose functions succeed without doing their work: the rows that stubs.py
 * has written for it (STUBS) become exported functions that are counted. Mathematics gives the
 * device one kernel on the stream of its handle.
 */
#include <stdlib.h>

#include "client.h"

/* The table names every parameter for the reader; most results need few of them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"

/* What every CREATE gives. */
struct handle {
	void *stream;
	char rest[248];
};

/* cublasLtMatmulHeuristicResult_t of the public cublasLt.h: status 0 and no workspace. */
struct heuristic {
	uint64_t algo[8];
	size_t workspace;
	int status;
	float waves;
	int reserved[4];
};

static int give_handle(void **out)
{
	*out = calloc(1, sizeof(struct handle));
	return *out ? 0 : 3; /* the libraries' own "not allocated" */
}

#define ANSWER(type, name, params, result)                        \
	__attribute__((visibility("default"))) type name params;  \
	type name params                                          \
	{                                                         \
		static struct counter *_Atomic counter;           \
		struct call call = client_enter(&counter, #name); \
		type answer = result;                             \
                                                                  \
		client_leave(&call, 0);                           \
		return answer;                                    \
	}
/* A long fills the register that any integer or pointer is returned in. */
#define PLAIN(name) ANSWER(long, name, (void), call.failed)
#define CREATE(name) \
	ANSWER(long, name, (void **handle), call.failed ? call.failed : give_handle(handle))
#define KERNEL(name)                                 \
	ANSWER(long, name, (struct handle * handle), \
	       call.failed ? call.failed : (client_launch(handle ? handle->stream : NULL), 0))

#include STUBS
