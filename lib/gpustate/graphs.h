/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lives of CUDA graphs, joined by their handles: captured from a stream, instantiated,
 * launched, destroyed. An executable graph belongs to the call site that captured it (or, where no
 * capture was seen, that instantiated it), so that what is captured again and again by one line is
 * seen. Memory is bounded by graphs alive, those of processes that have not ended, at most
 * GRAPHS_MAX; what is beyond is not told.
 */
#ifndef INGERO_GPUSTATE_GRAPHS_H
#define INGERO_GPUSTATE_GRAPHS_H

#include "lib/base/map.h"
#include "lib/attrib/layer_dedup.h"

#define GRAPHS_MAX	65536
#define GRAPH_SITES_MAX 4096
#define GRAPH_OPEN_MAX	256

/* A capture that has begun, or one that ended. */
struct graph_capture {
	uint32_t process, thread, stack;
	uint16_t op; /* that began it */
	uint64_t stream;
	int64_t start_ns, end_ns;
};

struct graph_site {
	uint32_t process, stack;
	uint16_t op;
	uint64_t created, again; /* again: when one of the site's had been launched before */
	uint64_t launches, alive, most_alive;
};

/* A graph that was captured and is not destroyed. */
struct graph_made {
	uint64_t key;
	uint32_t process, site;
	uint64_t cost_ns; /* of capturing it; 0 once an executable has borne it */
	bool used;
};

struct graph_exec {
	uint64_t key;
	uint32_t process, site;
	bool used;
};

enum graph_what { GRAPH_BEGUN, GRAPH_CAPTURED, GRAPH_CREATED };

struct graph_told {
	enum graph_what what;
	const struct once_call *call;
	const struct graph_capture *capture; /* BEGUN, CAPTURED: it; else NULL */
	/* CREATED: */
	uint32_t site;
	uint64_t cost_ns; /* instantiating, and the capture it is made from */
	bool again;	  /* an earlier one of the site had been launched */
};

struct graphs {
	struct once once;
	bool (*told)(void *ctx, const struct graph_told *t); /* may be NULL; false: out of memory */
	void *ctx;
	VEC(struct graph_capture) open;
	struct map graph_by; /* graph handle -> position in graphs */
	VEC(struct graph_made) graphs;
	VEC(uint32_t) unused_graphs;
	struct map exec_by;
	VEC(struct graph_exec) execs;
	VEC(uint32_t) unused;
	struct map site_by;
	VEC(struct graph_site) sites;
};

struct graphs *graphs_new(const struct world *w,
			  bool (*told)(void *ctx, const struct graph_told *t), void *ctx);
void graphs_free(struct graphs *g);

bool graphs_want(const struct op_def *op);
bool graphs_event(struct graphs *g, const struct event *ev, const struct op_def *op);
bool graphs_settle(struct graphs *g, int64_t before_ns);

#endif
