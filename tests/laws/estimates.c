/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of calls that were recorded for a part of the time are estimates, and near what was there:
 * by op, by process, by kernel and by key; of a recording that is cut, of its part. What was
 * recorded all of the time is as it was. Where nothing was recorded since probes were detached
 * first, counts are least ones. With a scenario and a file it writes such a recording instead, for
 * tests of programs; a third argument is which of the windows, or "end": no launches after the
 * first 1.5 s.
 */
#include "tests/tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/query/group_by.h"
#include "lib/query/ops.h"
#include "lib/ige/writer.h"
#include "tests/laws/paused.h"

#define DURATION_NS INT64_C(8000000000)

static const struct windows windows[] = {
	{ "launches, 500 ms of 2 s", 1u << TIER_LAUNCHES, 2000000000, 500000000, INT64_MAX },
	{ "launches, 300 ms of 700 ms", 1u << TIER_LAUNCHES, 700000000, 300000000, INT64_MAX },
	{ "launches until 5 s", 1u << TIER_LAUNCHES, 1000000000, 200000000, 5000000000 },
	{ "allocations and waits, 500 ms of 2 s", 1u << TIER_ALLOCATIONS | 1u << TIER_WAITS,
	  2000000000, 500000000, INT64_MAX },
	{ "launches and other submissions, 500 ms of 2 s", 1u << TIER_LAUNCHES | 1u << TIER_SUBMITS,
	  2000000000, 500000000, INT64_MAX },
	{ "all, 400 ms of 1.5 s", TIERS_ALL, 1500000000, 400000000, INT64_MAX },
};

#define WINDOWS (sizeof(windows) / sizeof(windows[0]))
static const struct windows until_end = { "no launches after 1.5 s", 1u << TIER_LAUNCHES,
					  INT64_MAX / 4, 1500000000, INT64_MAX };

/* One way to count, kept apart for the whole recording and for the one with pauses. */
struct counted {
	struct filter sel;
	struct query_ops_run *run;
	struct query_by *by;
	const struct ops_summary *answer;
};

static void count_item(void *ctx, const struct stream_item *it)
{
	query_ops_item(((struct counted *)ctx)->run, it, NULL);
}

static void count(struct counted *c, const struct law *l, const struct pauses *p, enum by_key key,
		  bool fold)
{
	memset(c, 0, sizeof(*c));
	c->run = query_ops_new(l->w, &c->sel);
	c->by = query_by_new(l->w, key, 0);
	query_ops_set_group_by(c->run, c->by);
	paused_play(l, p, fold, count_item, c);
	query_ops_end(c->run, NULL);
	c->answer = query_ops_answer(c->run);
}

static void counted_free(struct counted *c)
{
	query_ops_free(c->run);
	query_by_free(c->by);
}

/* A loop's steps are alike; a window holds whole ones and parts of two. */
static bool is_close(double got, double want)
{
	double off = got > want ? got - want : want - got;

	return off <= 0.10 * want + 30;
}

static const struct ops_row *row_of(const struct ops_summary *s, const struct op_def *op)
{
	for (size_t i = 0; i < s->rows.n; i++)
		if (s->rows.v[i].op == op)
			return &s->rows.v[i];
	return NULL;
}

static void check_rows(const struct ops_summary *all, const struct ops_summary *some,
		       const struct windows *w, const char *scenario)
{
	unsigned wrong = 0, estimates = 0, changed = 0;

	for (size_t i = 0; i < all->rows.n; i++) {
		const struct ops_row *want = &all->rows.v[i], *got = row_of(some, want->op);
		bool paused = w->tiers >> op_tier(want->op->id) & 1;

		if (!got || !paused) {
			changed += !paused && (!got || got->all.is || got->count != want->count ||
					       got->all.count != want->count);
			continue;
		}
		estimates += got->all.is;
		if (want->count < 200)
			continue;
		if (!got->all.is || !is_close((double)got->all.count, (double)want->count) ||
		    !is_close((double)got->all.total_ns, (double)want->total_ns)) {
			printf("# %s: %" PRIu64 " of %" PRIu64 " estimated as %" PRIu64 ", %" PRIu64
			       " ns as %" PRIu64 "\n",
			       want->op->name, got->count, want->count, got->all.count,
			       want->total_ns, got->all.total_ns);
			wrong++;
		}
	}
	ok(estimates && !wrong, "%s, %s: %u ops are estimated, near what was there", scenario,
	   w->name, estimates);
	ok(!changed, "%s, %s: others are as they were", scenario, w->name);
}

static double sum_kernels(const struct ops_summary *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->kernels.n; i++)
		sum += (double)s->kernels.v[i].all.count;
	return sum;
}

static double sum_processes(const struct ops_summary *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->processes.n; i++)
		sum += (double)s->processes.v[i].all.count;
	return sum;
}

static double sum_by(const struct ops_summary *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->by->rows.n; i++)
		sum += (double)s->by->rows.v[i].all.count;
	return sum;
}

static void check(const struct law *l, const char *scenario, const struct windows *w,
		  enum by_key key)
{
	struct pauses none = { 0 }, p = { 0 };
	struct counted all, some;

	pauses_make(&p, w, event_start(&l->ev.v[0]), DURATION_NS);
	count(&all, l, &none, key, false);
	count(&some, l, &p, key, false);
	check_rows(all.answer, some.answer, w, scenario);
	is_near(sum_kernels(some.answer), sum_kernels(all.answer),
		0.1 * sum_kernels(all.answer) + 30, "%s, %s: launches of kernels", scenario,
		w->name);
	is_near(sum_processes(some.answer), sum_processes(all.answer),
		0.1 * sum_processes(all.answer) + 30, "%s, %s: calls of processes", scenario,
		w->name);
	is_near(sum_by(some.answer), sum_by(all.answer), 0.1 * sum_by(all.answer) + 30,
		"%s, %s: by %s", scenario, w->name, by_key_name(key));
	ok(some.answer->paused.n && some.answer->paused.v[0].covered > 0 &&
		   some.answer->paused.v[0].covered < 1 && !all.answer->paused.n,
	   "%s, %s: the share of the time is known", scenario, w->name);
	counted_free(&all);
	counted_free(&some);
	vec_free(&p.v);
}

/* Driver calls that are folded are counted, and what is left is the runtime's. */
static void check_folded(const struct law *l)
{
	struct pauses none = { 0 };
	struct counted all, some;
	uint64_t folded = 0, was = 0, is = 0;

	count(&all, l, &none, BY_KERNEL, false);
	count(&some, l, &none, BY_KERNEL, true);
	for (size_t i = 0; i < some.answer->folded.n; i++)
		folded += some.answer->folded.v[i].calls;
	for (size_t i = 0; i < all.answer->rows.n; i++)
		was += all.answer->rows.v[i].count;
	for (size_t i = 0; i < some.answer->rows.n; i++)
		is += some.answer->rows.v[i].count;
	ok(folded && was == is + folded, "folded calls are counted apart");
	is_near(sum_by(some.answer), sum_by(all.answer), 0.5,
		"rows of kernels count a launch once, folded or not");
	counted_free(&all);
	counted_free(&some);
}

static unsigned count_marks(const struct ops_summary *s, unsigned *wrong)
{
	unsigned least = 0;

	*wrong = 0;
	for (size_t i = 0; i < s->rows.n; i++) {
		const struct ops_row *r = &s->rows.v[i];

		least += r->all.least;
		*wrong += r->all.is || r->all.count != r->count ||
			  r->all.least != (op_tier(r->op->id) == TIER_LAUNCHES);
	}
	for (size_t i = 0; i < s->kernels.n; i++)
		*wrong += !s->kernels.v[i].all.least;
	for (size_t i = 0; i < s->processes.n; i++)
		*wrong += s->processes.v[i].all.least != (s->processes.v[i].calls > 0);
	return least;
}

/* A process that has ended before has made all of its calls. */
static void check_ended_before(void)
{
	struct world *w = world_new();
	struct world_process process = { .tgid = 7 };
	struct world_thread thread = { .tid = 7 };
	struct world_ctx ctx = { 0 };
	struct event ev = { .op = OP_PROC_EXIT, .end_ns = 50 };
	struct record r = { .kind = RECORD_PAUSED };
	struct coverage c = { .from_ns = 0, .to_ns = 1000 };
	struct coverage_row row = { 0 };
	struct estimate counted = { .count = 1 };

	thread.process = world_process(w, &process);
	ctx.thread = world_thread(w, &thread);
	ev.ctx = world_ctx(w, &ctx);
	REC_SET(&r, PAUSED, since_ns, 100);
	REC_SET(&r, PAUSED, tier, TIER_LAUNCHES);
	ok(coverage_count_call(&c, &row, thread.process, OP_CUDA_LAUNCH, false, 10, 5) &&
		   coverage_add_record(&c, w, &r) && coverage_estimate(&c, w, &row, &counted).least,
	   "what a process launched before is the least of it");
	paused_free(&c.paused);
	memset(&c.paused, 0, sizeof(c.paused));
	ok(coverage_add_event(&c, w, &ev) && coverage_add_record(&c, w, &r) &&
		   !coverage_estimate(&c, w, &row, &counted).least,
	   "where it has ended it is all of it");
	coverage_free(&c);
	coverage_row_free(&row);
	world_free(w);
}

/* Tiers are detached one after the other: what lies between says nothing of the last. */
static void check_one_after_other(void)
{
	static const struct {
		int64_t since_ns;
		uint32_t tier;
	} pauses[] = { { 1000000, TIER_LAUNCHES }, { 1200000, TIER_ALLOCATIONS } };
	struct world *w = world_new();
	struct coverage c = { .from_ns = 0, .to_ns = 600000000 };
	struct coverage_row row = { 0 };
	struct estimate counted = { .count = 1 }, e;
	bool taken = true;

	for (size_t i = 0; i < 2; i++) {
		struct record r = { .kind = RECORD_PAUSED };

		REC_SET(&r, PAUSED, since_ns, pauses[i].since_ns);
		REC_SET(&r, PAUSED, tier, pauses[i].tier);
		taken &= coverage_add_record(&c, w, &r);
	}
	taken &= coverage_count_call(&c, &row, 0, OP_CUDA_MALLOC, false, 900000, 5);
	e = coverage_estimate(&c, w, &row, &counted);
	ok(taken && e.least && e.count == 1, "what was allocated before is the least of it");
	coverage_free(&c);
	coverage_row_free(&row);
	world_free(w);
}

/* The recording ends before the first window after the pause began. */
static void check_least(const struct law *l, const char *scenario, enum by_key key)
{
	struct pauses p = { 0 };
	struct counted some;
	unsigned wrong, least, by = 0;

	pauses_make(&p, &until_end, event_start(&l->ev.v[0]), DURATION_NS);
	count(&some, l, &p, key, false);
	least = count_marks(some.answer, &wrong);
	for (size_t i = 0; i < some.answer->by->rows.n; i++)
		by += some.answer->by->rows.v[i].all.least;
	ok(least && !wrong, "%s, %s: launches are the least there was, others all", scenario,
	   until_end.name);
	ok(by > 0 && by <= some.answer->by->rows.n, "%s, %s: so are %u rows by %s", scenario,
	   until_end.name, by, by_key_name(key));
	ok(some.answer->paused.n && some.answer->paused.v[0].least &&
		   some.answer->paused.v[0].covered > 0,
	   "%s, %s: the tier is said to be so", scenario, until_end.name);
	counted_free(&some);
	vec_free(&p.v);
}

static void open_scenario(struct law *l, const char *name)
{
	struct sim_options o;

	sim_scenario_options(name, &o);
	o.duration_ns = DURATION_NS;
	o.seed = 5;
	law_open(l, &o);
}

static void write_item(void *ctx, const struct stream_item *it)
{
	if (ige_writer_item(ctx, it, NULL))
		abort();
}

/* With calls in such windows, to a file. */
static int write_recording(const char *scenario, const char *path, const struct windows *w)
{
	struct ige_writer_options opt = { .clock_id = 1, .index = true };
	const struct world_node *node;
	struct pauses p = { 0 };
	struct ige_fd_sink sink;
	struct ige_writer *out;
	struct law l;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), rc;

	open_scenario(&l, scenario);
	node = world_get_node(l.w, 1);
	memcpy(opt.node_uuid, node->uuid, sizeof(opt.node_uuid));
	opt.boot = node->boot;
	opt.real_minus_mono_ns = sim_real_minus_mono_ns();
	pauses_make(&p, w, event_start(&l.ev.v[0]), DURATION_NS);
	ige_fd_sink_init(&sink, fd);
	if (fd < 0 || ige_writer_new(&out, l.w, &sink.sink, &opt, NULL))
		return 1;
	paused_play(&l, &p, true, write_item, out);
	rc = ige_writer_finish(out, NULL);
	ige_writer_free(out);
	vec_free(&p.v);
	law_close(&l);
	return rc || close(fd) ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		enum by_key key;
	} scenarios[] = { { "clean", BY_OP },
			  { "launch-bound", BY_KERNEL },
			  { "alloc-churn", BY_LINE },
			  { "gpu-steal", BY_PID },
			  { "two-nodes", BY_NODE } };

	if (argc >= 3)
		return write_recording(argv[1], argv[2],
				       argc == 3 ? &windows[0]
				       : strcmp(argv[3], "end") == 0
					       ? &until_end
					       : &windows[strtoul(argv[3], NULL, 10) % WINDOWS]);
	check_ended_before();
	check_one_after_other();
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		struct law l;

		open_scenario(&l, scenarios[i].name);
		for (size_t k = 0; k < WINDOWS; k++)
			check(&l, scenarios[i].name, &windows[k], scenarios[i].key);
		check_least(&l, scenarios[i].name, scenarios[i].key);
		if (i == 0)
			check_folded(&l);
		law_close(&l);
	}
	return tap_done();
}
