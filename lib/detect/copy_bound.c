/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy-bound: a thread's time goes into copies that it waits for. Counted is what moving the bytes
 * takes: a copy that also waits for kernels before it counts as long as copies of its direction
 * with nothing to wait for take for so many bytes. Asynchronous copies that return at once are no
 * lost time, however many bytes they move.
 */
#include "lib/detect/detect_internal.h"

#include <inttypes.h>

#include "lib/base/fmt.h"
#include "lib/base/compiler.h"
#include "lib/account/names.h"
#include "lib/account/tolls.h"

/* An asynchronous copy only submitted, when it took no longer than this (a submission is a few us),
 * or than a few of the process's launches, which submit too. */
#define RETURNS_AT_ONCE_NS 20000
#define LIKE_LAUNCHES	   3

/* Assumed while nothing is known: a copy moves at least a byte per ns, and the call itself takes so
 * long. */
#define SLOWEST_BYTES_PER_NS 1
#define CALL_NS		     20000

#define SMALL_BYTES (64u << 10)
#define MOST_BYTES  (1ull << 50)

enum direction { TO_HOST_FROM_HOST, TO_DEVICE, FROM_DEVICE, ON_DEVICE, ANY, DIRECTIONS };

static const char *const said[DIRECTIONS] = { "within host memory", "to the device",
					      "from the device", "on the device",
					      "between host and device" };

struct copies {
	struct toll_row row;		     /* of: enum direction */
	uint64_t bytes, pure_ns, pure_bytes; /* pure: with nothing to wait for */
	uint64_t at_once, blocked; /* asynchronous ones that returned at once, and that did not */
	uint64_t guessed_ns; /* of the toll: how long the bytes take is not known from others */
	uint64_t waited_ns;  /* in these calls, for what was submitted before: not lost here */
};

struct per_process {
	struct copies *copies[DIRECTIONS]; /* NULL: not looked up yet */
	uint64_t launches; /* as of when it last waited for the device: what was submitted until
			      then is done */
	int64_t waited_ns; /* when that was */
	uint32_t pinned;   /* allocations of pinned memory */
};

struct state {
	struct tolls tolls;
	VEC(struct per_process) by_process; /* by world id */
};

static bool is_pinning_op(uint16_t op)
{
	return op == OP_CUDA_MALLOC_HOST || op == OP_CUDA_HOST_REGISTER ||
	       op == OP_CU_MEM_ALLOC_HOST || op == OP_CU_MEM_HOST_REGISTER;
}

static unsigned subscribe_op(const struct op_def *op)
{
	if (!op)
		return 0;
	return op->flags & (OP_COPY | OP_SYNC) || is_pinning_op(op->id) ? SUBSCRIBE_CALLS : 0;
}

COLD_CALL static struct per_process *process_new(struct state *s, uint32_t process)
{
	while (s->by_process.n <= process) {
		if (!vec_push(&s->by_process, (struct per_process){ .waited_ns = INT64_MIN }))
			return NULL;
	}
	return &s->by_process.v[process];
}

static inline struct per_process *process_of(struct state *s, uint32_t process)
{
	return process < s->by_process.n ? &s->by_process.v[process] : process_new(s, process);
}

/* NULL: out of memory. */
static struct copies *copies_of(struct state *s, struct per_process *pp, uint32_t process,
				uint64_t direction)
{
	uint32_t of = direction < ANY ? (uint32_t)direction : ANY;

	if (!pp->copies[of])
		pp->copies[of] = tolls_row(&s->tolls, process, of, NULL);
	return pp->copies[of];
}

/* It has nothing to wait for: nothing was launched since its process waited, and no launch is
 * missing. */
static bool is_pure(const struct cause *c, const struct per_process *pp,
		    const struct tally_process *books, const struct line_piece *p)
{
	return (!books || books->launches == pp->launches) &&
	       !cause_paused(c, p->process, TIERS_ALL, pp->waited_ns, p->start_ns);
}

static bool account_copy(struct state *s, const struct cause *cause, struct per_process *pp,
			 const struct tally_process *books, const struct line_piece *p)
{
	uint64_t bytes = 0, direction = ANY, lost = line_own_ns(p, 0);
	bool sync = p->op->flags & OP_SYNC;
	struct where_place *place;
	struct copies *c;

	if (!p->sound || p->open || p->ev->ret != 0)
		return true;
	event_get(p->ev, p->op, COL_BYTES, &bytes);
	event_get(p->ev, p->op, COL_DIRECTION, &direction);
	if (bytes > MOST_BYTES) /* of a damaged recording */
		return true;
	c = copies_of(s, pp, p->process, direction);
	if (!c)
		return false;
	if (!sync && (lost < RETURNS_AT_ONCE_NS ||
		      (books && books->launches &&
		       lost < LIKE_LAUNCHES * books->launches_ns / books->launches))) {
		c->at_once++;
		return true;
	}
	c->blocked += !sync;
	c->bytes += bytes;
	if (is_pure(cause, pp, books, p)) {
		c->pure_ns += lost;
		c->pure_bytes += bytes;
	} else {
		uint64_t takes =
			CALL_NS + (c->pure_bytes ? (uint64_t)((double)c->pure_ns * (double)bytes /
							      (double)c->pure_bytes)
						 : bytes / SLOWEST_BYTES_PER_NS);

		if (lost > takes) {
			c->waited_ns += lost - takes;
			lost = takes;
		}
		c->guessed_ns += c->pure_bytes ? 0 : lost;
	}
	place = where_at(&s->tolls.where, c->row.at, p->ev->op, p->ev->stack);
	if (!place)
		return false;
	place->bytes += bytes;
	return tolls_add(cause, &s->tolls, &c->row, p->thread, p->ev, lost);
}

static bool on_call(void *state, struct cause *c, const struct line_piece *p)
{
	struct state *s = state;
	struct per_process *pp = process_of(s, p->process);
	const struct tally_process *books = tally_process_known(&c->tally, p->process);
	uint32_t flags = p->op->flags;

	if (!pp)
		return false;
	if (is_pinning_op(p->ev->op))
		pp->pinned += p->ev->ret == 0;
	if (flags & OP_COPY && !account_copy(s, c, pp, books, p))
		return false;
	if (flags & OP_SYNC) {
		pp->launches = books ? books->launches : 0;
		pp->waited_ns = p->end_ns;
	}
	return true;
}

static void add_fixes(struct fact *f, const struct cause *c, const struct copies *k, uint32_t stack,
		      bool pinned)
{
	bool python = name_python(c->w, stack);
	uint64_t each = k->bytes / k->row.toll.count;

	if (each < SMALL_BYTES)
		fact_fix_code(f, "Copy what belongs together as one piece",
			      python ? "torch.stack(parts).to(\"cuda\", non_blocking=True)"
				     : "cudaMemcpyAsync(dst, staged, all_bytes, kind, stream)",
			      0, f->lost_ns,
			      "a copy so small is the cost of the call: fewer calls cost less, "
			      "down to what the bytes take");
	if (k->row.of == FROM_DEVICE)
		fact_fix_code(
			f,
			"Copy results into pinned memory and go on; wait only when they are read",
			python ? "host = torch.empty_like(x, device=\"cpu\", pin_memory=True); "
				 "host.copy_(x, non_blocking=True)"
			       : "cudaMallocHost(&host, bytes); cudaMemcpyAsync(host, device, "
				 "bytes, cudaMemcpyDeviceToHost, stream)",
			0, f->lost_ns,
			"from nothing, if the next step needs the result, to all of the wait");
	else if (k->row.of == ON_DEVICE)
		fact_fix_code(f, "Copy on a stream of its own, or write to where it is needed",
			      "cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, stream)",
			      0, f->lost_ns,
			      "from nothing, if the next kernel needs it, to all of the wait");
	else
		fact_fix_code(
			f,
			pinned ? "Look whether these bytes lie in pinned memory: it has "
				 "some, but the copies wait; copy without waiting"
			       : "Copy from pinned memory, without waiting, while kernels run",
			python && pinned ? "print(batch.is_pinned()); batch.to(\"cuda\", "
					   "non_blocking=True)"
			: python	 ? "DataLoader(..., pin_memory=True); batch.to(\"cuda\", "
					   "non_blocking=True)"
					 : "cudaMallocHost(&host, bytes); cudaMemcpyAsync(device, "
					   "host, bytes, cudaMemcpyHostToDevice, stream)",
			0, f->lost_ns,
			"from nothing, if the link is busy all the time anyway, to all of "
			"the wait");
}

static const char *memory_kind_text(const struct copies *k, uint32_t pinned)
{
	if (k->row.of != TO_DEVICE && k->row.of != FROM_DEVICE && k->row.of != ANY)
		return NULL;
	if (k->blocked * 2 > k->row.toll.count)
		return pinned ? "asynchronous copies of it did not return until the bytes were "
				"moved, though the process has pinned memory"
			      : "pageable: asynchronous copies of it did not return until the "
				"bytes were moved, and the process pinned none";
	return pinned ? "the process has pinned memory, but these calls wait for the bytes"
		      : "the process pinned no memory while it was recorded";
}

static void fill_finding(void *state, const struct cause *c, struct toll_row *r, struct fact *f)
{
	const struct state *s = state;
	const struct copies *k = (struct copies *)r;
	const char *memory = memory_kind_text(k, s->by_process.v[r->process].pinned);
	uint64_t moved = k->pure_bytes ? k->pure_bytes : k->bytes,
		 took = k->pure_bytes ? k->pure_ns : r->toll.ns;
	double rate = took ? (double)moved / (double)took * 1e9 : 0;

	f->identity = said[r->of];
	f->upper_bound = k->guessed_ns * 5 > r->toll.ns;
	fact_blame_site(c, f, said[r->of]);
	fact_lost(f, c, " waited ");
	buf_printf(&f->summary, " for copies %s of %s", said[r->of], fmt_bytes(k->bytes).s);
	buf_printf(&f->summary, " at %s/s", fmt_bytes((uint64_t)rate).s);
	if (f->culprit.text != said[r->of])
		buf_printf(&f->summary, ", mostly in %s", f->culprit.text);
	fact_evidence(f, "bytes copied while it waited", (double)k->bytes, "B");
	fact_evidence(f, "bytes per copy", (double)k->bytes / (double)r->toll.count, "B");
	fact_evidence(f, "bandwidth reached", rate, "B/s");
	fact_evidence(f, "asynchronous copies that returned at once", (double)k->at_once, "");
	if (k->waited_ns)
		fact_evidence(f, "waited in these calls for earlier work, not counted here",
			      (double)k->waited_ns, "ns");
	if (memory)
		fact_evidence_text(f, "host memory", memory);
	add_fixes(f, c, k, f->nsites ? f->sites[0].stack : 0, s->by_process.v[r->process].pinned);
}

static const struct tolls_def copying = { .kind = "copy-bound",
					  .counted = "copies",
					  .row = sizeof(struct copies),
					  .tell = fill_finding };

static bool forget_process(void *state, struct cause *c, uint32_t process)
{
	struct state *s = state;

	for (unsigned i = 0; process < s->by_process.n && i < DIRECTIONS; i++)
		s->by_process.v[process].copies[i] = NULL;
	return true;
}

static void free_state(void *state)
{
	vec_free(&((struct state *)state)->by_process);
}

const struct detector detector_copy_bound = { .size = sizeof(struct state),
					      .tolls = { &copying },
					      .subscribe_op = subscribe_op,
					      .on_span = on_call,
					      .forget_process = forget_process,
					      .free = free_state };
