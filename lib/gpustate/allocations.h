/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which memory of a device a process holds: every allocation by its pointer (or handle), from the
 * call that made it to the call that freed it, counted once however many layers it went through,
 * only when it succeeded. Live bytes are kept by process and by call site, with their history.
 * Memory is bounded by live allocations, at most LIVE_BLOCKS_MAX of them; what is beyond is counted
 * and makes every figure a lower bound. What a library keeps free inside its own pool (a caching
 * allocator's) is live here: it is not free for anybody else.
 */
#ifndef INGERO_GPUSTATE_ALLOCATIONS_H
#define INGERO_GPUSTATE_ALLOCATIONS_H

#include "lib/base/map.h"
#include "lib/attrib/layer_dedup.h"

#define LIVE_BLOCKS_MAX (1u << 18)
#define LIVE_SITES_MAX	8192
#define LIVE_POINTS	256 /* of a history */
#define LIVE_TOLD	256 /* processes of which an analysis tells */

enum live_kind {
	LIVE_DEVICE,
	LIVE_MANAGED, /* moves between host and device */
	LIVE_PINNED,  /* of the host, for the device to reach */
	LIVE_KINDS
};

/* Bytes of device and managed memory over time: of equal spans, what was least and most held in
 * each. */
struct live_history {
	int64_t first_span,
		span_ns; /* point i covers span first_span + i, each of span_ns from 0 */
	unsigned n;
	struct live_point {
		uint64_t least, most;
	} v[LIVE_POINTS];
};

struct live_site {
	uint32_t process, stack;
	uint16_t op;
	enum live_kind kind;
	uint64_t bytes, n;	      /* now */
	uint64_t peak_bytes;	      /* of its own */
	uint64_t allocs, alloc_bytes; /* ever */
	uint64_t frees;
	uint64_t at_peak_bytes; /* held when its process held most */
	uint64_t peak_seen;	/* as of which peak of its process that is */
};

struct live_process {
	uint32_t process;
	uint64_t bytes[LIVE_KINDS], n; /* now; n: blocks */
	uint64_t peak_bytes;	       /* device and managed together */
	int64_t peak_ns;
	uint64_t peaks; /* how often it grew to a new one */
	uint64_t allocs, frees, failed;
	int64_t allocated_ns;	/* when it last allocated something */
	uint64_t unknown_frees; /* of memory allocated before the recording, or in lost events */
	uint64_t beyond;	/* allocations beyond LIVE_BLOCKS_MAX: not kept */
	uint64_t replaced;	/* pointers handed out again whose freeing was not seen */
	bool ended; /* with the process; what it held then stays in the figures, its blocks are gone
		     */
	uint64_t after; /* blocks that came since: its first thread ended, and others live on */
	struct live_history history;
};

struct live_block {
	uint64_t key; /* of its process and pointer or handle */
	uint64_t bytes, dur_ns;
	int64_t end_ns; /* when it had been allocated */
	uint32_t process, site;
	uint32_t gpu; /* 0: not known */
	bool used;
};

enum live_what { LIVE_ALLOCATED, LIVE_FREED, LIVE_FAILED, LIVE_ENDED };

struct live_told {
	enum live_what what;
	const struct once_call *call;
	uint64_t bytes;			/* 0: not known */
	const struct live_block *block; /* FREED: what it was; borrowed */
	/* ALLOCATED, FREED: position of the site that allocated it */
	uint32_t site;
	struct live_process *process;
};

struct live {
	struct once once;
	/* Called for each allocation and each freeing, and for a process's end while its blocks are
	 * there. May be NULL. False: out of memory. */
	bool (*told)(void *ctx, const struct live_told *t);
	void *ctx;
	struct map block_by; /* pointer -> position */
	VEC(struct live_block) blocks;
	VEC(uint32_t) unused; /* positions */
	struct map site_by;
	VEC(struct live_site) sites;
	VEC(uint32_t) unused_sites;	      /* positions */
	VEC(struct live_process *) processes; /* in order of appearance */
	VEC(uint32_t) by_process;	      /* world id -> 1 + position */
};

/* NULL: out of memory. w must outlive it. */
struct live *live_new(const struct world *w, bool (*told)(void *ctx, const struct live_told *t),
		      void *ctx);
void live_free(struct live *l);

/* Whether live_event needs events of this op. */
bool live_wants(const struct op_def *op);
bool live_event(struct live *l, const struct event *ev, const struct op_def *op);

/* Everything that ended before this is accounted for. INT64_MAX: everything. */
bool live_settle(struct live *l, int64_t before_ns);

/* Let go of a process that ended, unless it still holds something or is one of the first LIVE_TOLD.
 * False: out of memory. */
bool live_forget(struct live *l, uint32_t process);

/* NULL: it has made no allocation. */
struct live_process *live_of(const struct live *l, uint32_t process);

static inline uint64_t live_bytes(const struct live_process *p)
{
	return p->bytes[LIVE_DEVICE] + p->bytes[LIVE_MANAGED];
}

/* Positions of the process's sites by bytes (held now, or with at_peak when it held most), most
 * first; at most n. */
unsigned live_top(const struct live *l, uint32_t process, bool at_peak, uint32_t *v, unsigned n);

#endif
