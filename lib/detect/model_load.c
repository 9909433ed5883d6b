/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model-load: getting a model onto the device takes long: much is allocated, about as much is
 * copied to it, and nearly nothing is launched meanwhile. Counted is the time of the loading thread
 * since it last gave the device work: waiting for the disk, its own code (reading, decompressing,
 * converting), copies and allocations; idle waiting is not loading. Only loads slower than one disk
 * of a server delivers are reported.
 */
#include "lib/detect/detect_internal.h"

#include "lib/base/fmt.h"
#include "lib/base/compiler.h"
#include "lib/account/names.h"
#include "lib/account/tolls.h"

#define RUNS_AFTER  500 /* launches: then it runs, and what comes is no part of the load */
#define LEAST_BYTES (256ull << 20)
#define SLOW_PER_NS 1.074	/* bytes: 1 GiB/s; one NVMe disk reads two to seven times as fast */
#define COPY_BYTES  (64u << 10) /* smaller copies are no weights */
#define MOST_BYTES  (1ull << 50) /* more is of a damaged recording */
#define ALLOC_BYTES (1u << 20)

/* Of one thread, since it last had the device work. */
struct loading {
	uint64_t launches_then, copied, copy_ns, async_ns, alloc_ns, growth;
	bool begun;		   /* base and start_ns hold */
	int64_t start_ns, last_ns; /* last_ns: of the last sign of loading */
	uint64_t base[PART_COUNT]; /* the thread's ledger at start_ns */
	uint64_t now[PART_COUNT];  /* ... and at that sign */
	uint64_t copy_then, async_then, alloc_then;
	uint32_t stack; /* of the largest copy's call */
	uint16_t op;
	uint64_t largest;
};

struct model {
	struct toll_row row;
	uint64_t bytes, disk_ns, host_ns, copy_ns, alloc_ns;
};

struct state {
	struct tolls models;
	VEC(struct loading *) by_thread; /* by world id; NULL: nothing is known of it */
};

static unsigned subscribe_op(const struct op_def *op)
{
	if (op && op->flags & OP_LAUNCH)
		return SUBSCRIBE_CALLS | SUBSCRIBE_AT_NTH_LAUNCH;
	return op && op->flags & (OP_COPY | OP_SYNC) ? SUBSCRIBE_CALLS : 0;
}

COLD_CALL static struct loading *loading_begins(struct state *s, struct cause *c, uint32_t thread,
						int64_t ns)
{
	struct loading *l;

	if (!vec_reach(&s->by_thread, thread))
		return NULL;
	if (!s->by_thread.v[thread])
		s->by_thread.v[thread] = calloc(1, sizeof(*l));
	l = s->by_thread.v[thread];
	if (l && !l->begun && thread < c->tally.threads.n) {
		struct tally_thread *t = &c->tally.threads.v[thread];

		/* Its time began with its first span: the ledger holds all of it. */
		l->start_ns = ns - (int64_t)t->ns;
		l->begun = true;
		t->launches_left = RUNS_AFTER;
	}
	return l;
}

static inline struct loading *loading_of(struct state *s, struct cause *c, uint32_t thread,
					 int64_t ns)
{
	struct loading *l = thread < s->by_thread.n ? s->by_thread.v[thread] : NULL;

	return l && l->begun ? l : loading_begins(s, c, thread, ns);
}

static inline uint64_t launches_of(const struct cause *c, uint32_t thread)
{
	return RUNS_AFTER - c->tally.threads.v[thread].launches_left;
}

/* parts: of the call that is the sign, if the ledger does not hold it yet; NULL: it does. */
NOINLINE static void note_sign(struct loading *l, const struct cause *c, uint32_t thread,
			       int64_t ns, const struct parts *parts)
{
	const struct tally_thread *t = &c->tally.threads.v[thread];

	l->launches_then = launches_of(c, thread);
	l->last_ns = ns;
	for (unsigned i = 0; i < PART_COUNT; i++)
		l->now[i] = tally_thread_part(t, i) + (parts ? parts_get(parts, (enum part)i) : 0);
	l->copy_then = l->copy_ns;
	l->async_then = l->async_ns;
	l->alloc_then = l->alloc_ns;
}

/* It runs, or the recording is over: what came before was a load, or not. */
NOINLINE static bool finish_load(struct state *s, struct cause *c, uint32_t thread,
				 struct loading *l, int64_t ns)
{
	struct tally_thread *t = &c->tally.threads.v[thread];
	uint64_t d[PART_COUNT], disk, self, device, calls, all;
	struct loading was = *l;
	struct model *m;

	*l = (struct loading){ .begun = true, .start_ns = ns };
	t->launches_left = RUNS_AFTER;
	for (unsigned i = 0; i < PART_COUNT; i++) {
		l->base[i] = tally_thread_part(t, i);
		d[i] = was.now[i] > was.base[i] ? was.now[i] - was.base[i] : 0;
	}
	/* Nor is it known where launches, or whatever else it did, may not have been recorded. */
	if (was.growth < LEAST_BYTES || was.copied < was.growth / 2 ||
	    cause_paused(c, t->process, TIERS_ALL, was.start_ns, was.last_ns))
		return true;
	disk = d[PART_DISK] + d[PART_FAULT];
	self = d[PART_SELF];
	device = d[PART_DEVICE];
	calls = was.alloc_then + was.async_then;
	all = disk + self + device;
	if ((double)was.copied > SLOW_PER_NS * (double)all)
		return true;
	m = tolls_row(&s->models, t->process, 0, NULL);
	if (!m)
		return false;
	m->bytes += was.copied;
	m->disk_ns += disk;
	m->host_ns += self > calls ? self - calls : 0;
	m->copy_ns += device + was.async_then;
	m->alloc_ns += was.alloc_then;
	return where_add(&s->models.where, m->row.at, was.op, was.stack, all, all) &&
	       toll_add(c, &m->row.toll, thread, 0, was.start_ns, was.last_ns, all);
}

NOINLINE static void no_launch(struct loading *l, const struct cause *c, const struct line_piece *p)
{
	uint64_t bytes = 0, direction = 1;

	if (p->op->flags & OP_COPY) {
		event_get(p->ev, p->op, COL_BYTES, &bytes);
		event_get(p->ev, p->op, COL_DIRECTION, &direction);
		if (bytes < COPY_BYTES || bytes > MOST_BYTES ||
		    (direction != 1 && direction != 4) || p->ev->ret != 0)
			return;
		l->copied += bytes;
		l->copy_ns += p->ev->dur_ns;
		l->async_ns += p->op->flags & OP_SYNC ? 0 : p->ev->dur_ns;
		if (bytes > l->largest) {
			l->largest = bytes;
			l->op = p->ev->op;
			l->stack = p->ev->stack;
		}
		/* More than what was made room for is something else: batches. */
		if (l->copied <= 2 * l->growth)
			note_sign(l, c, p->thread, p->end_ns, p->parts);
	} else if (launches_of(c, p->thread) == l->launches_then && l->copied &&
		   l->copied <= 2 * l->growth) {
		note_sign(l, c, p->thread, p->end_ns, p->parts); /* it waits for its copies */
	}
}

static bool on_call(void *state, struct cause *c, const struct line_piece *p)
{
	struct state *s = state;
	struct loading *l = loading_of(s, c, p->thread, p->start_ns);

	if (!l)
		return false;
	if (p->thread >= c->tally.threads.n || p->open) /* its first piece */
		return true;
	if (p->op->flags & OP_LAUNCH)
		return --c->tally.threads.v[p->thread].launches_left ||
		       finish_load(s, c, p->thread, l, p->end_ns);
	no_launch(l, c, p);
	return true;
}

static bool on_memory(void *state, struct cause *c, const struct live_told *t)
{
	struct state *s = state;
	struct loading *l;

	if ((t->what != LIVE_ALLOCATED && t->what != LIVE_FREED) ||
	    c->live->sites.v[t->site].kind == LIVE_PINNED || t->call->thread >= c->tally.threads.n)
		return true;
	l = loading_of(s, c, t->call->thread, event_start(&t->call->ev));
	if (!l)
		return false;
	if (t->what == LIVE_FREED) {
		l->growth -= t->bytes < l->growth ? t->bytes : l->growth;
		return true;
	}
	l->growth += t->bytes;
	l->alloc_ns += t->call->ev.dur_ns;
	if (t->bytes >= ALLOC_BYTES)
		note_sign(l, c, t->call->thread, t->call->ev.end_ns, NULL);
	return true;
}

/* A load is rare: it need not come often, but must weigh something in the whole. */
static bool is_due(const struct cause *c, const struct toll_row *r, int64_t pane, double *share)
{
	*share = cause_share(c, r->toll.worst_ns);
	return c->ended && r->toll.ns >= c->opt.min_lost_ns &&
	       cause_share(c, r->toll.ns) >= c->opt.min_share;
}

static void fill_finding(void *state, const struct cause *c, struct toll_row *r, struct fact *f)
{
	const struct model *m = (struct model *)r;
	bool python = f->nsites && name_python(c->w, f->sites[0].stack);
	const struct {
		const char *what;
		uint64_t ns;
		const char *fix, *command;
	} split[] = {
		{ "waiting for the disk", m->disk_ns,
		  "Keep the file on a faster disk, or in the page cache",
		  "vmtouch -t model.safetensors" },
		{ "its own code on the CPU", m->host_ns,
		  "Store the weights as they are needed, and map the file",
		  python ? "safetensors.torch.load_file(\"model.safetensors\", device=\"cuda\")"
			 : "mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);" },
		{ "copying to the device", m->copy_ns,
		  "Copy from pinned memory, while the next part is read",
		  "cudaMallocHost(&staging, bytes); cudaMemcpyAsync(...)" },
		{ "allocating", m->alloc_ns, "Allocate once for all of it",
		  "cudaMalloc(&all, total);" }
	};
	double rate = (double)m->bytes / (double)r->toll.ns * 1e9;
	unsigned most = 0;

	fact_victim(f, c, &f->summary);
	buf_printf(&f->summary, " loaded %s onto the device at %s/s, which took ",
		   fmt_bytes(m->bytes).s, fmt_bytes((uint64_t)rate).s);
	fact_amount(f, &f->summary);
	for (unsigned i = 0; i < 4; i++) {
		most = split[i].ns > split[most].ns ? i : most;
		fact_evidence(f, split[i].what, (double)split[i].ns, "ns");
	}
	buf_printf(&f->summary, ", %s of it %s; copied in %s", fmt_ns(split[most].ns).s,
		   split[most].what, f->culprit.text);
	fact_evidence(f, "bytes loaded", (double)m->bytes, "B");
	fact_evidence(f, "rate", rate, "B/s");
	(most == 0 ? fact_fix
		   : fact_fix_code)(f, split[most].fix, split[most].command, 0, split[most].ns,
				    "from nothing to all of the largest part; the others remain");
}

static const struct tolls_def model_load = { .kind = "model-load",
					     .counted = "loads",
					     .stays = true, /* few: told in the end */
					     .row = sizeof(struct model),
					     .moment = "a model is loaded",
					     .blamed = "its own loading",
					     .due = is_due,
					     .tell = fill_finding };

static int flush_window(void *state, struct cause *c, int64_t pane, struct err *e)
{
	struct state *s = state;

	for (uint32_t i = 0; c->ended && i < s->by_thread.n; i++) {
		if (i < c->tally.threads.n && s->by_thread.v[i] && s->by_thread.v[i]->begun &&
		    !finish_load(s, c, i, s->by_thread.v[i], c->end_ns))
			return err_nomem(e);
	}
	return 0;
}

static bool forget_process(void *state, struct cause *c, uint32_t process)
{
	const struct tally_process *p = tally_process_known(&c->tally, process);
	struct state *s = state;

	for (size_t i = 0; p && i < p->threads.n; i++) {
		if (p->threads.v[i] >= s->by_thread.n)
			continue;
		free(s->by_thread.v[p->threads.v[i]]);
		s->by_thread.v[p->threads.v[i]] = NULL;
		c->tally.threads.v[p->threads.v[i]].launches_left = 0;
	}
	return true;
}

static void free_state(void *state)
{
	struct state *s = state;

	for (size_t i = 0; i < s->by_thread.n; i++)
		free(s->by_thread.v[i]);
	vec_free(&s->by_thread);
}

const struct detector detector_model_load = { .size = sizeof(struct state),
					      .tolls = { &model_load },
					      .subscribe_op = subscribe_op,
					      .on_span = on_call,
					      .on_memory = on_memory,
					      .flush_window = flush_window,
					      .forget_process = forget_process,
					      .free = free_state };
