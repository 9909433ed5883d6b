/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of gaps, for the files of this room that handle it: spans and their effect on a device
 * (gaps.c), the ends of gaps (gaps_end.c), and runs (gaps_run.c).
 */
#ifndef INGERO_GPUSTATE_GAPS_INTERNAL_H
#define INGERO_GPUSTATE_GAPS_INTERNAL_H

#include "lib/base/vec.h"
#include "lib/gpustate/gaps.h"
#include "lib/gpustate/gpu_use.h"

#define GAPS_NONE UINT32_MAX
/* Wake-ups are short and belong to no finding: they count as the gap's own time. */
#define GAPS_HOST_PARTS (PARTS_NOT_OWN & ~(1u << PART_CPU_IDLE))

struct gap_side {	    /* state of a device besides its work; hot members first */
	bool idle, running; /* running: run holds */
	uint32_t epoch;
	uint32_t issuer;
	uint32_t laggard; /* of threads, the one that was seen least lately */
	uint32_t node;	  /* of its process */
	int64_t seen_ns;  /* up to where pauses were looked for */
	int64_t idle_ns;
	int64_t issued_ns;	 /* end of the newest submission */
	uint64_t launches;	 /* since the wait before */
	VEC(struct gap) pending; /* gaps, oldest first */
	struct gap_run run;
	uint16_t since_op;
	uint32_t since_stack;
	uint32_t since_thread; /* which waited */
	uint64_t gap_launches;
	bool some_launches;    /* gap_launches may have been more */
	uint64_t tail_host_ns; /* of the wait, after the device was done */
	uint64_t others_ns;    /* of other processes' work on its GPU, when the gap began */
	VEC(uint32_t) threads; /* that submit to it */
};

/* How a thread spent the time outside its calls since its device became idle. */
struct gap_did {
	uint64_t self_ns, kept_ns; /* on its CPU, and waiting or kept from it */
	uint64_t longest_ns;	   /* wait */
};

/* What is kept of a thread about one of the devices that it gives work. */
struct gap_hand {
	uint32_t device, epoch; /* epoch: of did */
	bool working;		/* it submitted something since it last waited, first at work_ns */
	int64_t work_ns;
	struct gpu_mark work_mark; /* others' work on the GPU until then */
	struct gap_did did;
};

struct gap_thread {
	VEC(struct gap_hand) hands; /* none: it never submitted */
	size_t at;		    /* of these: whose device it drives now */
	uint32_t gpu, ctx;	    /* ctx: in which it submitted last */
	int64_t last_ns;	    /* its newest piece ended */
	bool blocked;		    /* and is a wait that had not ended with the recording */
	bool has_inner, has_sync;
	int64_t waited_ns; /* when its newest wait for the device ended; INT64_MIN: none was seen */
	int64_t ready_ns;  /* when its newest wait inside a call ended; then it waited for a CPU */
	uint64_t ready_host_ns;
	struct device_call inner, inner_sync; /* of calls inside one that says nothing itself */
};

struct gaps {
	const struct world *w;
	const struct paused *paused;
	struct gap_sink *sink;
	struct devices devices;
	struct gpu_use use;		  /* by device */
	VEC(struct gap_side) side;	  /* by device */
	VEC(struct gap_thread *) threads; /* by world id; NULL: nothing is known of it */
	bool partial;
	struct gap_op {
		uint8_t known, act;
		int8_t stream, event; /* positions of these columns; -1 none */
	} op[1 << 16];
};

/* NULL: nothing is known of it. */
static inline struct gap_thread *gaps_thread(const struct gaps *g, uint32_t thread)
{
	return thread < g->threads.n ? g->threads.v[thread] : NULL;
}

/* About the device that it drives now; NULL: it drives none. */
static inline struct gap_hand *gaps_hand(const struct gap_thread *th)
{
	return th->hands.n ? &th->hands.v[th->at] : NULL;
}

/* Whether probes were detached in that time on the device's node, of whatever tier: calls that are
 * not seen submit work, wait for it, or are what looks like a thread's own code. */
static inline bool gaps_paused(const struct gaps *g, uint32_t device, int64_t from_ns,
			       int64_t to_ns)
{
	return g->paused->lists.n &&
	       paused_tiers(g->paused, g->side.v[device].node, from_ns, to_ns);
}

/* A launch of a CUDA graph counts as many. */
static inline bool gaps_is_graph(const struct op_def *op)
{
	return op->id == OP_CUDA_GRAPH_LAUNCH || op->id == OP_CU_GRAPH_LAUNCH;
}

/* How long it was busy for others since then, at most so long. */
static inline uint64_t gaps_others_since(const struct gaps *g, uint32_t device, uint64_t then_ns,
					 int64_t now_ns, uint64_t most_ns)
{
	uint64_t ns = gpu_use_others(&g->use, device, now_ns);

	ns = ns > then_ns ? ns - then_ns : 0;
	return ns < most_ns ? ns : most_ns;
}

/* ---- gaps_end.c ---- */

/* The device's gap ends here, with this call. False: out of memory, as below. */
bool gaps_end(struct gaps *g, uint32_t device, const struct line_piece *p, int64_t end_ns,
	      bool unbounded);
/* The recording is over: what is idle and stays it. */
bool gaps_last(struct gaps *g, uint32_t device);
/* Passes on the gaps that all threads of the device have gone past. */
bool gaps_stand_past(struct gaps *g, struct gap_side *s);
/* A thread's call shows that the device worked from start to end: drops the gaps of which that is
 * more than a little. */
void gaps_take_back(struct gap_side *s, int64_t start_ns, int64_t end_ns);

/* ---- gaps_known.c ---- */

/* Probes were detached since the device's call before, or during this one: it may have work that
 * nobody saw. */
void gaps_resume(struct gaps *g, uint32_t device, const struct line_piece *p);

/* ---- gaps_run.c ---- */

static inline void gaps_run_first(struct gap_run *r, const struct line_piece *p)
{
	r->op = p->ev->op;
	r->stack = p->ev->stack;
	r->issuer = p->thread;
	r->issued_ns = p->end_ns;
}

static inline void gaps_run_add(struct gap_side *s, const struct line_piece *p)
{
	uint64_t host = parts_sum(p->parts, PARTS_NOT_OWN);
	struct gap_run *r = &s->run;

	if (!s->running) {
		s->running = true;
		r->start_ns = p->start_ns;
		r->launches = r->issue_ns = r->device_ns = 0;
		gaps_run_first(r, p);
	} else { /* nobody can foresee whether it is: no branch */
		int64_t since = p->start_ns - s->issued_ns;
		bool burst = (s->issuer == p->thread) & (since <= GAP_ISSUE_NS);

		r->issue_ns += (uint64_t)since & -(uint64_t)burst;
	}
	if (p->op->flags & OP_LAUNCH && !gaps_is_graph(p->op)) {
		if (r->launches++ == 0)
			gaps_run_first(r, p);
	}
	r->issue_ns += p->ev->dur_ns > host ? p->ev->dur_ns - host : 0;
	s->issuer = p->thread;
	s->issued_ns = p->end_ns;
}

bool gaps_run_end(struct gaps *g, uint32_t device, const struct line_piece *p);

#endif
