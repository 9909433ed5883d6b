/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting ops, case by case on streams made by hand; and what a selection lets through.
 */
#include "lib/query/ops.h"

#include "lib/stat/sketch.h"
#include "tests/tap.h"
#include "tests/unit/events.h"

static void items(struct query_ops_run *run, const struct event *ev, size_t n, bool late,
		  uint64_t lost)
{
	struct stream_item item = {
		.kind = STREAM_EVENTS, .events = ev, .n = n, .late = late, .lost = lost
	};
	struct err e;

	if (query_ops_item(run, &item, &e))
		ok(false, "items are taken: %s", e.text);
}

static void tell(struct query_ops_run *run, const struct record *r)
{
	struct stream_item item = { .kind = STREAM_RECORD, .record = r };
	struct err e;

	if (query_ops_item(run, &item, &e))
		ok(false, "records are taken: %s", e.text);
}

/* What a sketch makes of one value among larger ones. */
static uint64_t sketch_like(uint64_t v)
{
	struct sketch k = { 0 };
	uint64_t q;

	sketch_add(&k, v);
	sketch_add(&k, 1000 * v);
	q = sketch_quantile(&k, 0.5);
	sketch_free(&k);
	return q;
}

static const struct ops_row *row(const struct ops_summary *s, const char *op)
{
	static const struct ops_row none;

	for (size_t i = 0; i < s->rows.n; i++)
		if (!strcmp(s->rows.v[i].op->name, op))
			return &s->rows.v[i];
	return &none;
}

/* Two launches, the second with a driver call preempted for 30 us inside, and a failing allocation.
 */
static void fill(struct stage *s, struct actor a, struct actor hog)
{
	stage_call(s, a, OP_CU_LAUNCH, 1, 101 * US, 104 * US);
	stage_call(s, a, OP_CUDA_LAUNCH, 0, 100 * US, 105 * US);
	stage_occupied(s, hog, 0, 210 * US, 240 * US);
	stage_offcpu(s, a, 2, 210 * US, 240 * US, 30 * US, 0);
	stage_call(s, a, OP_CU_LAUNCH, 1, 205 * US, 250 * US);
	stage_call(s, a, OP_CUDA_LAUNCH, 0, 200 * US, 260 * US);
	stage_call(s, a, OP_CUDA_MALLOC, 0, 300 * US, 310 * US)->ret = 2;
	stage_sort(s);
}

static void counting(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 100, 100, 1, "train"),
		     b = stage_actor(&s, 100, 101, 1, "train");
	struct actor hog = stage_actor(&s, 200, 200, 1, "hog");
	struct filter sel = { 0 };
	struct query_ops_run *run = query_ops_new(s.w, &sel);
	struct record loss = { .kind = RECORD_LOSS }, open = { .kind = RECORD_OPEN };
	const struct ops_summary *o;

	fill(&s, a, hog);
	items(run, s.ev.v, 4, false, 0);
	o = query_ops_answer(run);
	is_u64(o->events, 4, "asked in the middle: what was there");
	is_u64(row(o, "cudaLaunchKernel")->count, 1, "asked in the middle: one launch");
	items(run, s.ev.v + 4, s.ev.n - 4, false, 0);
	o = query_ops_answer(run);
	is_u64(o->rows.n, 5, "a row per op");
	is_u64(row(o, "cudaLaunchKernel")->count, 2, "launches");
	is_u64(row(o, "cudaLaunchKernel")->total_ns, 65 * US, "their total");
	is_u64(row(o, "cudaLaunchKernel")->self_ns, 17 * US, "their own time: less the driver's");
	is_u64(row(o, "cudaLaunchKernel")->lost_ns, 30 * US,
	       "and what was taken inside the driver's");
	is_u64(row(o, "cuLaunchKernel")->self_ns, 48 * US,
	       "the driver's own time: off-CPU time is not a call");
	is_u64(row(o, "cuLaunchKernel")->lost_ns, 30 * US, "and what was taken");
	is_u64(row(o, "cuLaunchKernel")->min_ns, 3 * US, "shortest");
	is_u64(row(o, "cuLaunchKernel")->max_ns, 45 * US, "longest");
	is_u64(row(o, "cuLaunchKernel")->p50_ns, sketch_like(3 * US), "p50 of two is the first");
	is_u64(row(o, "cudaMalloc")->errors, 1, "a call that failed");
	is_u64(o->errors.n, 1, "one kind of error");
	is_int(o->errors.v[0].ret, 2, "its code");
	is_u64(o->processes.n, 1, "the occupant's process is not in the recording");
	is_u64(o->processes.v[0].in_calls_ns, 75 * US, "time in calls, folded");
	is_u64(o->processes.v[0].calls, 5, "calls, all layers");
	is_u64(o->processes.v[0].lost_ns, 30 * US, "what the process lost");
	is_u64(o->processes.v[0].threads, 1, "one thread");
	is_i64(o->start_ns, 101 * US, "begins with the first event known");
	is_i64(o->end_ns, 310 * US, "ends with the last");

	s.ev.n = 0;
	stage_call(&s, b, OP_CU_LAUNCH, 1, 401 * US, 404 * US); /* the call around it is lost */
	stage_call(&s, b, OP_CUDA_MALLOC, 0, 500 * US, 520 * US);
	items(run, s.ev.v, 2, false, 7);
	stage_call(&s, a, OP_CUDA_FREE, 0, 20 * US, 21 * US);
	items(run, s.ev.v + 2, 1, true, 0);
	o = query_ops_answer(run);
	is_u64(row(o, "cudaMalloc")->self_ns, 30 * US,
	       "a call without its parent is not taken from the next one");
	is_u64(row(o, "cudaFree")->count, 1, "a late call is counted");
	is_u64(row(o, "cudaFree")->self_ns, 1 * US, "with the time it took");
	is_u64(o->late, 1, "and told");
	is_u64(o->processes.v[0].threads, 2, "two threads");
	is_u64(o->lost, 7, "lost by the blocks' account");
	REC_SET(&loss, LOSS, count, 7);
	REC_SET(&loss, LOSS, reason, LOSS_RING_FULL);
	tell(run, &loss);
	is_u64(query_ops_answer(run)->lost, 7, "the same told by a record is not lost again");
	tell(run, &loss);
	o = query_ops_answer(run);
	is_u64(o->lost, 14, "more by the records' account");
	is_u64(o->loss_by_reason[LOSS_RING_FULL], 14, "and why");
	REC_SET(&open, OPEN, at_end, 0);
	tell(run, &open);
	REC_SET(&open, OPEN, at_end, 1);
	tell(run, &open);
	is_u64(query_ops_answer(run)->open, 1, "calls open at the end, not on the way");
	ok(!o->complete, "no end was seen");
	/* At the end of a slice that call and one inside it, at that of the next only the outer
	 * one. */
	REC_SET(&open, OPEN, thread, a.thread);
	REC_SET(&open, OPEN, start_ns, 600 * US);
	REC_SET(&open, OPEN, time_ns, 700 * US);
	tell(run, &open);
	REC_SET(&open, OPEN, depth, 1);
	REC_SET(&open, OPEN, start_ns, 610 * US);
	tell(run, &open);
	is_u64(query_ops_answer(run)->open, 3, "and one inside another");
	REC_SET(&open, OPEN, depth, 0);
	REC_SET(&open, OPEN, start_ns, 600 * US);
	REC_SET(&open, OPEN, time_ns, 800 * US);
	tell(run, &open);
	is_u64(query_ops_answer(run)->open, 2,
	       "which returned, where a later end does not name it");
	query_ops_free(run);
	stage_free(&s);
}

static uint64_t selected(struct stage *s, struct filter *sel)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->ev.n; i++)
		n += filter_event(sel, s->w, &s->ev.v[i]);
	return n;
}

static void selecting(void)
{
	static const struct {
		const char *name;
		uint64_t n;
	} rows[] = {
		{ "cuda", 3 },	    { "driver", 2 },	     { "cudaLaunchKernel", 2 },
		{ "*Launch*", 4 },  { "driver:*", 2 },	     { "runtime:cuda*", 3 },
		{ "sched", 2 },	    { "cuda:cu?Malloc", 0 }, { "sched:offcpu", 1 },
		{ "cuda[LM]*", 3 }, { "host", 0 },
	};
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 100, 100, 1, "train"),
		     hog = stage_actor(&s, 200, 200, 1, "hog");
	struct filter sel = { 0 };
	struct err e;

	fill(&s, a, hog);
	is_u64(selected(&s, &sel), s.ev.n, "an empty selection takes all");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		is_int(filter_name(&sel, rows[i].name, &e), 0, "%s is a name", rows[i].name);
		is_u64(selected(&s, &sel), rows[i].n, "%s: events", rows[i].name);
		filter_free(&sel);
	}
	filter_name(&sel, "cudaMalloc", &e);
	filter_name(&sel, "offcpu", &e);
	is_u64(selected(&s, &sel), 2, "one name or the other");
	filter_free(&sel);
	is_int(filter_name(&sel, "cudaMaloc", &e), ERR_USAGE, "a name nobody has");
	like(e.text, "did you mean 'cudaMalloc'", "and the one that was meant");
	is_int(filter_name(&sel, "", &e), ERR_USAGE, "no name at all");

	is_int(filter_pid(&sel, "100", &e), 0, "a pid");
	is_u64(selected(&s, &sel), s.ev.n - 1, "its events; what a CPU did is nobody's");
	filter_free(&sel);
	filter_pid(&sel, "200", &e);
	is_u64(selected(&s, &sel), 0, "another pid");
	for (const char *const *p =
		     (const char *const[]){ "0", "-1", "+5", "1x", "", "99999999999", NULL };
	     *p; p++)
		is_int(filter_pid(&sel, *p, &e), ERR_USAGE, "'%s' is no pid", *p);
	filter_free(&sel);

	filter_time(&sel.since, "60us", &e);
	is_int(filter_resolve(&sel, 310 * US, false, 0, &e), 0, "a time before the end");
	is_u64(selected(&s, &sel), 3, "what ended then or later");
	filter_time(&sel.until, "10us", &e);
	filter_resolve(&sel, 310 * US, false, 0, &e);
	is_u64(selected(&s, &sel), 2, "and before another");
	filter_free(&sel);
	filter_time(&sel.since, "1970-01-01T00:00:10.000250Z", &e);
	is_int(filter_resolve(&sel, 310 * US, false, 0, &e), ERR_CANNOT,
	       "a clock time needs a clock");
	is_int(filter_resolve(&sel, 310 * US, true, 10000000000, &e), 0, "a clock time");
	is_i64(sel.since_ns, 250 * US, "on the recording's clock");
	is_int(filter_time(&sel.since, "soon", &e), ERR_USAGE, "no time");
	filter_free(&sel);
	stage_free(&s);
}

/* Figures of the machine are of the time that is counted. */
static void sampling(void)
{
	struct stage s = stage_new();
	struct filter sel = { .resolved = true, .since_ns = 100 * US, .until_ns = 200 * US };
	struct query_ops_run *run = query_ops_new(s.w, &sel);
	const struct ops_summary *o;

	for (int i = 0; i < 4; i++) {
		struct record r = { .kind = RECORD_SAMPLE };

		REC_SET(&r, SAMPLE, time_ns, (50 + 50 * i) * US);
		REC_SET(&r, SAMPLE, metric, METRIC_CPU_BUSY);
		REC_SET(&r, SAMPLE, value, 10.0 * i);
		tell(run, &r);
	}
	/* Another machine's counter, which begins anew. */
	for (int i = 0; i < 4; i++) {
		static const double values[] = { 500, 700, 30, 70 };
		struct record r = { .kind = RECORD_SAMPLE };

		REC_SET(&r, SAMPLE, time_ns, (110 + 10 * i) * US);
		REC_SET(&r, SAMPLE, metric, METRIC_VM_MAJOR_FAULTS);
		REC_SET(&r, SAMPLE, value, values[i]);
		REC_SET(&r, SAMPLE, node, 2);
		tell(run, &r);
		REC_SET(&r, SAMPLE, value, 1000 + i);
		REC_SET(&r, SAMPLE, node, 1);
		tell(run, &r);
	}
	o = query_ops_answer(run);
	is_u64(o->metrics.n, 3, "a row for each metric of each machine");
	is_u64(o->metrics.v[0].n, 2,
	       "samples from the beginning of the time asked for, before its end");
	ok(o->metrics.v[0].first == 10 && o->metrics.v[0].last == 20 && o->metrics.v[0].max == 20,
	   "and no others' figures");
	ok(o->metrics.v[2].node == 2 && o->metrics.v[2].grew == 240 && o->metrics.v[2].last == 70,
	   "what a counter grew that began anew: %g", o->metrics.v[2].grew);
	ok(o->metrics.v[1].node == 1 && o->metrics.v[1].grew == 3,
	   "and nothing of the other machine's");
	/* Who asks in between changes nothing. */
	for (uint32_t node = 1; node <= 2; node++) {
		struct record r = { .kind = RECORD_SAMPLE };

		REC_SET(&r, SAMPLE, time_ns, 190 * US);
		REC_SET(&r, SAMPLE, metric, METRIC_VM_MAJOR_FAULTS);
		REC_SET(&r, SAMPLE, value, 2000 * node);
		REC_SET(&r, SAMPLE, node, node);
		tell(run, &r);
	}
	o = query_ops_answer(run);
	is_u64(o->metrics.n, 3, "the same rows, asked again");
	ok(o->metrics.v[1].last == 2000 && o->metrics.v[2].last == 4000, "each with its own");
	query_ops_free(run);
	stage_free(&s);
}

/* What sums up a stretch of time is of the time asked for where a part of it is. */
static void stretches(void)
{
	struct stage s = stage_new();
	struct filter sel = { .resolved = true, .since_ns = 100 * US, .until_ns = 200 * US };
	struct query_ops_run *run = query_ops_new(s.w, &sel);
	const struct ops_summary *o;

	for (int i = 0; i < 6; i++) {
		struct record lost = { .kind = RECORD_LOSS }, out = { .kind = RECORD_SAMPLED };

		if (i < 5) { /* the last of them says nothing of when */
			REC_SET(&lost, LOSS, since_ns, (10 + 60 * i) * US);
			REC_SET(&lost, LOSS, until_ns, (60 + 60 * i) * US);
			REC_SET(&out, SAMPLED, since_ns, (10 + 60 * i) * US);
			REC_SET(&out, SAMPLED, until_ns, (60 + 60 * i) * US);
		}
		REC_SET(&lost, LOSS, count, 1 << i);
		REC_SET(&out, SAMPLED, op, OP_CUDA_MALLOC);
		REC_SET(&out, SAMPLED, left_out, 1 << i);
		tell(run, &lost);
		tell(run, &out);
	}
	o = query_ops_answer(run);
	is_u64(o->lost, 2 + 4 + 8 + 32, "what was lost in the time asked for");
	is_u64(o->sampled_out, 2 + 4 + 8 + 32, "what was left out of it");
	query_ops_free(run);
	stage_free(&s);
}

/* Machines of one recording need not be alike. */
static void machines(void)
{
	static const struct {
		uint32_t node, cpus;
		uint64_t memory_bytes;
	} said[] = { { 1, 4, 8u << 20 }, { 2, 64, 512u << 20 }, { 1, 8, 16u << 20 } };
	struct stage s = stage_new();
	struct filter sel = { 0 };
	struct query_ops_run *run = query_ops_new(s.w, &sel);
	const struct ops_summary *o;

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		struct record r = { .kind = RECORD_NODE };

		REC_SET(&r, NODE, node, said[i].node);
		REC_SET(&r, NODE, cpus, said[i].cpus);
		REC_SET(&r, NODE, memory_bytes, said[i].memory_bytes);
		tell(run, &r);
		if (i == 0) {
			o = query_ops_answer(run);
			is_u64(ops_machine_of(o, 0).cpus, 4,
			       "what names no machine is the only one's");
			is_u64(ops_machine_of(o, 2).cpus, 0, "and not another's");
		}
	}
	o = query_ops_answer(run);
	is_u64(ops_machine_of(o, 1).memory_bytes, 16u << 20, "memory of one, as it was said last");
	is_u64(ops_machine_of(o, 2).memory_bytes, 512u << 20, "of the other");
	is_u64(ops_machine_of(o, 1).cpus, 8, "CPUs of one");
	is_u64(ops_machine_of(o, 2).cpus, 64, "of the other");
	is_u64(ops_machine_of(o, 0).cpus, 0, "of several none is meant");
	query_ops_free(run);
	stage_free(&s);
}

int main(void)
{
	counting();
	machines();
	selecting();
	sampling();
	stretches();
	return tap_done();
}
