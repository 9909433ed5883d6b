/* SPDX-License-Identifier: Apache-2.0 */
/*
 * errors: calls that returned an error, by process and code, with what was called before the first
 * of them. library-mismatch: the codes by which the libraries say that they do not fit the driver,
 * the device or each other. Only outermost calls count: what a call inside returned is the
 * library's business. Not errors: "not ready" of queries, and what programs ask for in order to
 * find out. Allocations that do not fit are gpu-oom, captures that break are graph-capture-failed.
 */
#include "lib/detect/detect_internal.h"

#include "lib/base/hash.h"
#include "lib/base/fmt.h"
#include "lib/base/compiler.h"
#include "lib/base/timetext.h"
#include "lib/account/tolls.h"
#include "lib/account/finding_details.h"
#include "lib/account/names.h"
#include "lib/event/chain.h"

#define CODES_MAX     1024
#define LIBRARIES_MAX 1024
#define CALLS_TOLD    6
#define CALLS_KEPT    8		 /* so that where the next one goes is no division */
#define STOPPED_NS    1000000000 /* a process that made no call for so long afterwards stopped */

struct before {
	unsigned n; /* ever */
	struct kept_call {
		uint32_t stack;
		int32_t ret;
		uint16_t op;
	} v[CALLS_KEPT];
};

struct code {
	struct toll_row row; /* its toll has no time, only a count */
	int32_t ret;
	uint8_t source;	      /* of the first */
	struct before before; /* of the first's thread; the newest is the first itself */
	uint16_t first_op;
	bool exited;
	uint64_t status;
};

struct library {
	uint32_t process;
	uint64_t key; /* hash of what it is, for whom */
	char *text;   /* "libcudart.so.12: 80 of 120 entry points found" */
	bool ended;   /* the process did */
};

struct state {
	struct tolls tolls;
	VEC(struct before) by_thread; /* by world id */
	VEC(struct library)
	libraries;     /* LIBRARIES_MAX at most: then those of ended processes make room */
	size_t looked; /* for one that may go */
};

static unsigned subscribe_op(const struct op_def *op)
{
	if (!op)
		return 0;
	return op->id == OP_PROC_EXIT ? SUBSCRIBE_EVENTS
	       : op->flags & OP_CALL  ? SUBSCRIBE_CALLS
				      : 0;
}

static bool is_library_mismatch(const struct code *k)
{
	static const int32_t codes[] = { 34, 35, 36, 209, 221, 222, 223, 803, 804 };

	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		if (k->source != SOURCE_NCCL && k->ret == codes[i])
			return true;
	}
	return false;
}

/* The context is of no use after it: every later call returns the same. */
static bool is_sticky(const struct code *k)
{
	return k->source != SOURCE_NCCL &&
	       (k->ret == 214 || k->ret == 220 || k->ret == 226 || k->ret == 700 || k->ret == 702 ||
		k->ret == 710 || (k->ret >= 714 && k->ret <= 719));
}

static bool is_counted(const struct event *ev, const struct op_def *op)
{
	if (!event_failed(ev->op, ev->ret))
		return false;
	if (op->source == SOURCE_NCCL)
		return true;
	if (ev->ret == 2 && op->flags & OP_ALLOC)
		return false;
	if (ev->ret == 500 && /* does this module have that function? */
	    (op->id == OP_CU_MODULE_GET_FUNCTION || op->id == OP_CU_LIBRARY_GET_KERNEL))
		return false;
	return ev->ret != 4 &&			    /* at the end of the program */
	       ev->ret != 704 &&		    /* peer access that is there already */
	       !(ev->ret >= 900 && ev->ret <= 908); /* of a capture */
}

COLD_CALL static bool add_error(struct state *s, const struct before *b, const struct line_piece *p)
{
	struct fact_moment m = {
		.end_ns = p->end_ns, .dur_ns = p->ev->dur_ns, .thread = p->thread, .op = p->ev->op
	};
	bool nccl = p->op->source == SOURCE_NCCL;
	struct code *k;
	bool nomem;

	k = tolls_row(&s->tolls, p->process, (uint32_t)p->ev->ret << 1 | nccl, &nomem);
	if (!k)
		return !nomem;
	if (k->row.toll.count == 0) {
		k->ret = p->ev->ret;
		k->source = p->op->source;
		k->first_op = p->ev->op;
		k->before = *b;
	}
	toll_count(&k->row.toll, &m);
	return where_add(&s->tolls.where, k->row.at, p->ev->op, p->ev->stack, 0, p->ev->dur_ns);
}

static bool on_call(void *state, struct cause *c, const struct line_piece *p)
{
	struct state *s = state;
	struct kept_call *kept;
	struct before *b;

	if (p->open)
		return true;
	if (!vec_reach(&s->by_thread, p->thread))
		return false;
	b = &s->by_thread.v[p->thread];
	kept = &b->v[b->n++ % CALLS_KEPT];
	kept->op = p->ev->op;
	kept->ret = p->ev->ret;
	kept->stack = p->ev->stack;
	return p->ev->ret == 0 || !is_counted(p->ev, p->op) || add_error(s, b, p);
}

static bool on_event(void *state, struct cause *c, const struct event *ev, const struct op_def *op)
{
	struct state *s = state;
	uint32_t process = cause_exited(c->w, ev);

	for (size_t i = 0; process && i < s->tolls.v.n; i++) {
		struct code *k = (struct code *)s->tolls.v.v[i];

		if (k->row.process != process)
			continue;
		k->exited = true;
		event_get(ev, op, COL_STATUS, &k->status);
	}
	for (size_t i = 0; process && i < s->libraries.n; i++)
		s->libraries.v[i].ended |= s->libraries.v[i].process == process;
	return true;
}

/* The process ended, and no finding to report names its libraries any more. */
static bool may_go(const struct state *s, const struct library *l)
{
	for (size_t i = 0; l->ended && i < s->tolls.v.n; i++) {
		const struct code *k = (const struct code *)s->tolls.v.v[i];

		if (k->row.process == l->process && is_library_mismatch(k))
			return false;
	}
	return l->ended;
}

/* The place for one more, where there is one. */
static bool place_for(struct state *s, size_t *at)
{
	if (s->libraries.n < LIBRARIES_MAX) {
		*at = s->libraries.n;
		return true;
	}
	for (unsigned tries = 0; tries < 64; tries++) {
		*at = s->looked++ % LIBRARIES_MAX;
		if (may_go(s, &s->libraries.v[*at]))
			return true;
	}
	return false;
}

/* Which libraries the process has, and how much of them was found: a library that lacks entry
 * points is an older one. Each file of a recording says so again: the newest holds. */
static bool on_record(void *state, struct cause *c, const struct record *r)
{
	const struct rec_COVERAGE *v = &r->u.COVERAGE;
	struct state *s = state;
	struct library fresh = { .process = v->process };
	struct buf text = { 0 };
	size_t i = 0;

	if (r->kind != RECORD_COVERAGE || !REC_HAS(r, COVERAGE, path) || v->path.n == 0 ||
	    !REC_HAS(r, COVERAGE, process) || v->process == 0 ||
	    bytes_equal(v->layer, bytes_of("python"))) /* which is read, not hooked */
		return true;
	fresh.key =
		hash_bytes(v->path.p, v->path.n, hash_bytes(v->layer.p, v->layer.n, v->process));
	while (i < s->libraries.n && s->libraries.v[i].key != fresh.key)
		i++;
	if (i == s->libraries.n && !place_for(s, &i))
		return true;
	buf_printf(&text, "%.*s: %u of %u entry points found", (int)v->path.n, v->path.p,
		   v->attached, v->requested);
	if (text.failed || (i == s->libraries.n && !vec_push(&s->libraries, fresh))) {
		buf_free(&text);
		return false;
	}
	free(s->libraries.v[i].text);
	fresh.text = text.p;
	s->libraries.v[i] = fresh;
	return true;
}

/* "cudaMalloc, cudaMemcpyAsync, cudaLaunchKernel called from step (train.py:41)": those before it,
 * oldest first. */
static void calls_before(const struct cause *c, const struct before *b, struct buf *out)
{
	unsigned n = b->n < CALLS_TOLD ? b->n : CALLS_TOLD;
	uint32_t frame = 0;

	for (unsigned i = b->n - n; i + 1 < b->n; i++) {
		if (out->n)
			buf_puts(out, ", ");
		name_op(out, c->w, b->v[i % CALLS_KEPT].op);
		if (b->v[i % CALLS_KEPT].ret)
			buf_printf(out, " (%d)", b->v[i % CALLS_KEPT].ret);
		frame = name_site_frame(c->w, b->v[i % CALLS_KEPT].stack);
	}
	if (frame) {
		buf_puts(out, " called from ");
		name_frame(out, c->w, frame);
	}
}

static void add_fixes(struct fact *f, const struct cause *c, const struct code *k)
{
	bool python = f->nsites && name_python(c->w, f->sites[0].stack);

	if (is_library_mismatch(k))
		fact_fix(f,
			 "Use libraries that fit: a driver at least as new as the runtime, built "
			 "for this device",
			 "nvidia-smi --query-gpu=driver_version,compute_cap --format=csv; ldconfig "
			 "-p | grep -E 'libcuda|libcudart'",
			 0, 0, "without that nothing runs on the device");
	else if (is_sticky(k))
		fact_fix(f, "Find the kernel: it ran before the call that told of it",
			 python ? "CUDA_LAUNCH_BLOCKING=1 compute-sanitizer python3 train.py"
				: "CUDA_LAUNCH_BLOCKING=1 compute-sanitizer ./program",
			 0, 0, "no time is lost by it: the work stops");
	else
		fact_fix(f, "Look at what the call was given there",
			 "compute-sanitizer --report-api-errors all ./program", 0, 0,
			 "no time is lost by it but what the program does about it");
}

static void fill_finding(void *state, const struct cause *c, struct toll_row *r, struct fact *f)
{
	const struct state *s = state;
	const struct code *k = (struct code *)r;
	const char *name = event_error_name(k->source, k->ret);
	uint64_t count = r->toll.count;
	bool stops = cause_stopped(c, r->process, r->toll.last_ns, k->exited, STOPPED_NS);
	struct buf before = { 0 }, how = { 0 };
	char took[48];

	if (is_library_mismatch(k))
		f->kind = "library-mismatch";
	f->identity = name ? name : "unknown code";
	f->severity = is_sticky(k) || stops    ? FINDING_HIGH
		      : is_library_mismatch(k) ? FINDING_MEDIUM
					       : FINDING_LOW;
	f->op = k->first_op;
	calls_before(c, &k->before, &before);
	fact_victim(f, c, &f->summary);
	buf_puts(&f->summary, " got ");
	if (name)
		buf_printf(&f->summary, "%s (%d)", name, k->ret);
	else
		buf_printf(&f->summary, "error %d", k->ret);
	buf_printf(&f->summary, " %s%s", count == 1 ? "once" : fmt_count(count).s,
		   count == 1 ? "" : " times");
	buf_printf(&f->summary, ", first %s after the start",
		   duration_text(took, sizeof(took),
				 (uint64_t)(f->moments[0].end_ns - c->start_ns)));
	buf_printf(&f->summary, ", %sin %s%s", count > 1 ? "mostly " : "", f->culprit.text,
		   stops ? "; then it stopped" : "");
	fact_evidence(f, "return code", k->ret, "");
	if (name)
		fact_evidence_text(f, "its name", name);
	if (before.n)
		fact_evidence_text(f, "called before the first of them",
				   details_text(&f->found, &before));
	if (is_sticky(k))
		fact_evidence_text(f, "after it",
				   "the context is of no use: each call returns the same");
	if (k->exited) {
		name_end(&how, k->status);
		fact_evidence_text(f, "the process ended", details_text(&f->found, &how));
	}
	for (size_t i = 0; is_library_mismatch(k) && i < s->libraries.n; i++) {
		if (s->libraries.v[i].process == r->process)
			fact_evidence_text(f, "library", s->libraries.v[i].text);
	}
	add_fixes(f, c, k);
}

static const struct tolls_def failing = { .kind = "errors",
					  .counted = "failed calls",
					  .row = sizeof(struct code),
					  .most = CODES_MAX,
					  .due = tolls_due_count,
					  .blamed = "a call",
					  .tell = fill_finding };

static void free_state(void *state)
{
	struct state *s = state;

	for (size_t i = 0; i < s->libraries.n; i++)
		free(s->libraries.v[i].text);
	vec_free(&s->libraries);
	vec_free(&s->by_thread);
}

const struct detector detector_errors = { .size = sizeof(struct state),
					  .tolls = { &failing },
					  .subscribe_op = subscribe_op,
					  .on_event = on_event,
					  .on_span = on_call,
					  .on_record = on_record,
					  .free = free_state };
