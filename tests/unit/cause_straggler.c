/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that enter collectives late: who is named, for how long, and what its path had more of than
 * the others'.
 */
#include "tests/tap.h"

#include "tests/unit/kinds.h"

#define RANKS_MAX 8
#define STEPS	  60
#define STREAM	  7
#define GAP_NS	  (100 * US) /* from the end of a step to the next */
#define WORK_NS	  (5 * MS)   /* of any rank, in each step */

/* What a late rank does longer than the others. */
enum late_by { BY_COMPUTING, BY_SLEEPING, BY_LOADER, BY_TAKEN };

struct play {
	unsigned ranks;
	int64_t device_ns; /* the collective takes it, once all have entered */
	int64_t ahead_ns;  /* the device has work for so long behind it: who enters late is not
			      waited for */
	int64_t (*late_ns)(unsigned rank, unsigned step);
	enum late_by by;
	const char *hog; /* who takes the CPU; NULL: "hog" */
	int64_t skew_ns; /* of the clock of a second machine, which has every other rank; 0: there
			    is none */
};

struct ranks {
	struct stage s;
	const struct play *play;
	struct actor rank[RANKS_MAX], loader[RANKS_MAX], hog;
	uint32_t step, extra, load, wait;
};

static uint32_t frame_at(struct stage *s, const char *function, unsigned line)
{
	struct world_frame f = { .kind = FRAME_PYTHON, .offset = line };

	f.name = world_string(s->w, bytes_of(function));
	f.file = world_string(s->w, bytes_of("run.py"));
	return world_frame(s->w, &f);
}

/* In a function that the loop of main calls. */
static uint32_t stack_at(struct stage *s, const char *function, unsigned line)
{
	uint32_t frames[] = { frame_at(s, function, line), frame_at(s, "main", 100 + line) };

	return world_stack(s->w, frames, 2);
}

static void second_node(struct stage *s)
{
	struct world_node n = { .uuid = { 4, 5, 6 }, .boot = 8 };

	n.name = world_string(s->w, bytes_of("otherhost"));
	s->node = world_node(s->w, &n);
}

static struct ranks make(const struct play *p)
{
	struct ranks r = { .s = stage_new(), .play = p };
	uint32_t first = r.s.node;

	if (p->skew_ns)
		second_node(&r.s);
	for (unsigned i = 0; i < p->ranks; i++) {
		uint32_t second = r.s.node;

		if (p->skew_ns && i % 2 == 0)
			r.s.node = first;
		r.rank[i] = stage_actor(&r.s, 100 + i, 100 + i, 1, "train");
		r.loader[i] = stage_actor(&r.s, 100 + i, 200 + i, 1, "loader");
		r.s.node = second;
	}
	r.s.node = first;
	r.hog = stage_actor(&r.s, 900, 900, 1, p->hog ? p->hog : "hog");
	r.step = stack_at(&r.s, "train_step", 23);
	r.extra = stack_at(&r.s, "collect", 17);
	r.load = stack_at(&r.s, "decode", 31);
	r.wait = stack_at(&r.s, "next_batch", 12);
	return r;
}

static void add_sample(struct ranks *r, struct actor a, int64_t at, uint32_t stack)
{
	stage_event(&r->s, OP_CPU_SAMPLE, a.ctx, 0, at, at)->stack = stack;
}

/* So it is late, from one time to another. */
static void spend(struct ranks *r, unsigned rank, int64_t from, int64_t to)
{
	struct actor a = r->rank[rank], loader = r->loader[rank];
	struct event *ev;

	switch (r->play->by) {
	case BY_COMPUTING:
		for (int64_t at = from + MS / 2; at < to; at += MS)
			add_sample(r, a, at, r->extra);
		break;
	case BY_SLEEPING:
		ev = stage_offcpu(&r->s, a, 0, from, to, 0, 0);
		stage_set(ev, COL_OBJECT_KIND, OBJECT_TIMER);
		ev->stack = r->extra;
		break;
	case BY_LOADER:
		ev = stage_offcpu(&r->s, a, 0, from, to, 0, 0);
		stage_set(ev, COL_OBJECT_KIND, OBJECT_FD);
		stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
		stage_set(ev, COL_WAKER, loader.thread);
		ev->stack = r->wait;
		for (int64_t at = from + MS / 2; at < to; at += MS)
			add_sample(r, loader, at, r->load);
		ev = stage_offcpu(&r->s, loader, 0, to + 10 * US, to + 20 * US, 0, 1);
		stage_set(ev, COL_OBJECT_KIND, OBJECT_TIMER);
		break;
	case BY_TAKEN:
		stage_offcpu(&r->s, a, 0, from, to, (uint64_t)(to - from), rank);
		stage_occupied(&r->s, r->hog, rank, from, to);
		break;
	}
}

static void join(struct ranks *r, unsigned rank, int64_t skew)
{
	struct event *ev =
		stage_call(&r->s, r->rank[rank], OP_NCCL_COMM_INIT_RANK, 0, skew, skew + MS);

	stage_set(ev, COL_COMM, 0x1000 + rank);
	stage_set(ev, COL_COMM_ID, 99);
	stage_set(ev, COL_RANK, rank);
	stage_set(ev, COL_RANKS, r->play->ranks);
}

static void enter(struct ranks *r, unsigned rank, unsigned step, int64_t at, int64_t done)
{
	struct event *ev =
		stage_call(&r->s, r->rank[rank], OP_NCCL_ALL_REDUCE, 0, at, at + 10 * US);

	stage_set(ev, COL_COMM, 0x1000 + rank);
	stage_set(ev, COL_SEQUENCE, step);
	stage_set(ev, COL_BYTES, 4096);
	stage_set(ev, COL_STREAM, STREAM);
	ev->stack = r->step;
	ev = stage_call(&r->s, r->rank[rank], OP_CUDA_STREAM_SYNC, 0, at + 20 * US, done);
	stage_set(ev, COL_STREAM, STREAM);
	ev->stack = r->step;
}

static void run_step(struct ranks *r, unsigned step, int64_t *begin)
{
	const struct play *p = r->play;
	int64_t entered[RANKS_MAX], last = 0;

	for (unsigned i = 0; i < p->ranks; i++) {
		entered[i] = *begin + WORK_NS + p->late_ns(i, step);
		last = entered[i] > last ? entered[i] : last;
	}
	for (unsigned i = 0; i < p->ranks; i++) {
		int64_t skew = i % 2 ? p->skew_ns : 0,
			done = p->ahead_ns ? entered[i] + p->ahead_ns : last + p->device_ns;

		add_sample(r, r->rank[i], skew + *begin + WORK_NS / 2, r->step);
		if (p->late_ns(i, step))
			spend(r, i, skew + *begin + WORK_NS, skew + entered[i]);
		enter(r, i, step, skew + entered[i], skew + done);
	}
	*begin = last + (p->ahead_ns ? p->ahead_ns : p->device_ns) + GAP_NS;
}

static void run(const struct play *p, struct kinds_run *out)
{
	struct ranks r = make(p);
	int64_t begin = 2 * MS;

	for (unsigned i = 0; i < p->ranks; i++)
		join(&r, i, i % 2 ? p->skew_ns : 0);
	for (unsigned step = 0; step < STEPS; step++)
		run_step(&r, step, &begin);
	analyze(&r.s, out);
	stage_free(&r.s);
}

static unsigned count_of(const struct kinds_run *p)
{
	unsigned n = 0;

	for (size_t i = 0; i < p->list.v.n; i++)
		n += bytes_equal(p->list.v.v[i].kind, bytes_of("collective-straggler"));
	return n;
}

/* The finding about the rank; NULL: there is none. */
static const struct finding *find(const struct kinds_run *p, unsigned rank)
{
	for (size_t i = 0; i < p->list.v.n; i++) {
		const struct finding *f = &p->list.v.v[i];

		if (bytes_equal(f->kind, bytes_of("collective-straggler")) &&
		    f->culprit.pid == 100 + rank)
			return f;
	}
	return NULL;
}

static void is_told(const struct kinds_run *p, unsigned rank, int64_t lost_ns, const char *says)
{
	const struct finding *f = find(p, rank);

	ok(f != NULL, "rank %u is told of", rank);
	if (!f)
		return;
	/* The last collective is not known to be waited for. */
	ok(f->lost_ns <= (uint64_t)lost_ns && f->lost_ns >= (uint64_t)(lost_ns * 9 / 10),
	   "rank %u: %" PRIu64 " of %" PRIi64 " ns", rank, f->lost_ns, lost_ns);
	like(f->summary.p, says, "rank %u: %s", rank, f->summary.p);
}

/* ---- who is late ---- */

static int64_t nobody(unsigned rank, unsigned step)
{
	(void)rank;
	(void)step;
	return 0;
}

static int64_t rank_1(unsigned rank, unsigned step)
{
	return rank == 1 && step % 2 ? 10 * MS : 0;
}

static int64_t by_turns(unsigned rank, unsigned step)
{
	return rank < 2 && step % 2 == rank ? 10 * MS : 0;
}

/* As late as each other, but for a little. */
static int64_t two_of_eight(unsigned rank, unsigned step)
{
	(void)step;
	return rank == 2 ? 10 * MS : rank == 5 ? 9 * MS : 0;
}

static int64_t a_little(unsigned rank, unsigned step)
{
	return (int64_t)((rank * 7 + step * 3) % 8) * US;
}

/* ---- tests ---- */

static void why(enum late_by by, const char *says)
{
	const struct play p = { .ranks = 2, .device_ns = MS, .late_ns = rank_1, .by = by };
	struct kinds_run out;

	run(&p, &out);
	ok(count_of(&out) == 1, "one rank is late");
	is_told(&out, 1, STEPS / 2 * 10 * MS, says);
	chain_list_free(&out.list);
}

/* Shares are of steps, as those of other findings: a start of five seconds changes nothing. */
static void shares(void)
{
	static const int64_t starts[] = { 2 * MS, 5000 * MS };
	const struct play p = { .ranks = 2, .device_ns = MS, .late_ns = rank_1 };

	for (unsigned i = 0; i < 2; i++) {
		struct ranks r = make(&p);
		struct kinds_run out;
		int64_t begin = starts[i];
		const struct finding *f;

		for (unsigned k = 0; k < p.ranks; k++)
			join(&r, k, 0);
		for (unsigned step = 0; step < STEPS; step++)
			run_step(&r, step, &begin);
		analyze(&r.s, &out);
		f = find(&out, 1);
		ok(f && f->share > 0.42 && f->share < 0.46, "%.3f of the steps", f ? f->share : 0);
		if (f)
			like(f->summary.p, "% of its steps, ", "and said so: %s", f->summary.p);
		chain_list_free(&out.list);
		stage_free(&r.s);
	}
}

static void slow_link(void)
{
	struct play p = { .ranks = 4, .device_ns = 30 * MS, .late_ns = nobody };
	struct kinds_run out;

	run(&p, &out);
	ok(count_of(&out) == 0, "a slow link is no rank's");
	chain_list_free(&out.list);
	p.late_ns = rank_1;
	run(&p, &out);
	ok(count_of(&out) == 1, "beside a slow link one rank is late");
	is_told(&out, 1, STEPS / 2 * 10 * MS, "it was on the CPU in collect (run.py:17)");
	chain_list_free(&out.list);
}

static void runs_ahead(void)
{
	const struct play p = { .ranks = 4, .ahead_ns = 40 * MS, .late_ns = rank_1 };
	struct kinds_run out;

	run(&p, &out);
	ok(count_of(&out) == 0, "nobody waits for hosts that run ahead");
	chain_list_free(&out.list);
}

static void alternating(void)
{
	struct play p = { .ranks = 4, .device_ns = MS, .late_ns = by_turns };
	struct kinds_run out;

	run(&p, &out);
	ok(count_of(&out) == 2, "two ranks are late by turns");
	is_told(&out, 0, STEPS / 2 * 10 * MS, "kept 3 other ranks waiting");
	is_told(&out, 1, STEPS / 2 * 10 * MS, "it was on the CPU in collect (run.py:17)");
	chain_list_free(&out.list);
	p.late_ns = a_little;
	run(&p, &out);
	ok(count_of(&out) == 0, "microseconds by turns are nobody's");
	chain_list_free(&out.list);
}

static void two_stragglers(void)
{
	const struct play p = { .ranks = 8, .device_ns = MS, .late_ns = two_of_eight };
	struct kinds_run out;

	run(&p, &out);
	ok(count_of(&out) == 2, "two of eight are late");
	is_told(&out, 2, STEPS * 10 * MS, "kept 6 other ranks waiting");
	is_told(&out, 5, STEPS * 9 * MS, "it was on the CPU in collect (run.py:17)");
	/* Mended alone, rank 2 gains the tenth by which it is later than the other. */
	if (find(&out, 2))
		ok(find(&out, 2)->without.n == 1 && find(&out, 2)->without.v[0].high_ns ==
							    find(&out, 2)->without.v[0].from_ns,
		   "without one of them nothing is gained for certain");
	chain_list_free(&out.list);
}

static void two_machines(void)
{
	const struct play p = {
		.ranks = 4, .device_ns = MS, .late_ns = rank_1, .skew_ns = 400 * MS
	};
	struct kinds_run out;

	run(&p, &out);
	ok(count_of(&out) == 1, "one rank on another machine is late");
	is_told(&out, 1, STEPS / 2 * 10 * MS, "on otherhost, kept 3 other ranks waiting");
	is_told(&out, 1, STEPS / 2 * 10 * MS, "it was on the CPU in collect (run.py:17)");
	chain_list_free(&out.list);
}

static void recorder(void)
{
	const struct play p = { .ranks = 2,
				.device_ns = MS,
				.late_ns = rank_1,
				.by = BY_TAKEN,
				.hog = "ingero-record" };
	struct kinds_run out;

	run(&p, &out);
	ok(count_of(&out) == 0, "what the recorder took is no fault of the job");
	chain_list_free(&out.list);
}

int main(void)
{
	why(BY_COMPUTING, "Rank 1, train (pid 101), kept 1 other rank waiting for ");
	why(BY_COMPUTING, "collectives): it was on the CPU in collect (run.py:17)");
	why(BY_SLEEPING, ": it slept in collect (run.py:17)");
	why(BY_LOADER, ": it waited for loader (tid 201 of pid 101), which was on the CPU in "
		       "decode (run.py:31)");
	why(BY_TAKEN, ": hog (pid 900) had the CPU");
	shares();
	slow_link();
	runs_ahead();
	alternating();
	two_stragglers();
	two_machines();
	recorder();
	return done_testing();
}
