/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The analysis record: what became of the time of every process, whether or not anything was found
 * (formats/analysis.schema.json). Thread time is summed over a process's threads; its parts sum to
 * it exactly.
 */
#include <stdlib.h>

#include "lib/base/jsonw.h"
#include "lib/base/oom_flag.h"
#include "lib/account/analysis_state.h"
#include "lib/account/memory_members.h"
#include "lib/account/names.h"
#include "lib/account/standing.h"
#include "lib/account/without.h"
#include "lib/tracks/steps_json.h"
#include "lib/tracks/track_json.h"

#define PROCESSES_TOLD                                                                           \
	1024 /* those with the most time: a record of all that came and went in days would be no \
		record */

#define UNCOVERED_TOLD 256 /* libraries of processes whose calls are missing */

static void parts_json(struct jsonw *j, const char *key, const uint64_t *ns_by)
{
	jsonw_key_object(j, key);
	for (unsigned i = 0; i < PART_COUNT; i++) {
		if (ns_by[i])
			jsonw_key_u64(j, part_name((enum part)i), ns_by[i]);
	}
	jsonw_object_end(j);
}

/* Slow by themselves: what classes took beyond the expected time, without the host's share. */
static void classes_json(struct cause *c, struct jsonw *j)
{
	struct buf text = { 0 };
	unsigned told = 0;
	struct hist all;

	jsonw_key_array(j, "classes");
	for (size_t i = 0; i < c->classes.told_end && told < CLASSES_FIRST; i++) {
		const struct cause_class *cl = &c->classes.v.v[i];
		const struct op_def *op = world_op(c->w, cl->key.op);
		uint64_t expected;
		bool borrowed;

		if (cl->key.op == 0)
			continue;
		told++;
		expected = class_expected(&c->classes, (uint32_t)i, &borrowed);
		jsonw_object_begin(j);
		name_process_keys(j, c->w, &c->tally, cl->key.process);
		jsonw_key_str(j, "source", op ? op->source_name : "?");
		name_op(&text, c->w, cl->key.op);
		name_key(j, "op", &text);
		jsonw_key_bool(j, "first_use", cl->key.first);
		if (cl->key.size)
			jsonw_key_u64(j, "bytes_below",
				      cl->key.size >= 64 ? UINT64_MAX : 1ull << cl->key.size);
		class_whole(cl, &all);
		jsonw_key_u64(j, "n", all.n);
		jsonw_key_u64(j, "total_ns", all.sum);
		jsonw_key_u64(j, "p50_ns", hist_quantile(&all, 0.5));
		jsonw_key_u64(j, "p99_ns", hist_quantile(&all, 0.99));
		jsonw_key_u64(j, "max_ns", all.max);
		jsonw_key_u64(j, "host_ns", cl->host_ns);
		jsonw_key_u64(j, "expected_ns", expected);
		jsonw_key_bool(j, "expected_borrowed", borrowed);
		class_own(cl, &all);
		jsonw_key_u64(j, "slow_ns", cl->key.first ? 0 : hist_above(&all, expected));
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	jsonw_key_u64(j, "classes_total", c->classes.made);
	if (c->classes.others) {
		class_whole(&c->classes.v.v[c->classes.others - 1], &all);
		jsonw_key_u64(j, "calls_not_classed", all.n);
	}
	buf_free(&text);
}

static void process_json(struct cause *c, const struct tally_process *p, struct jsonw *j)
{
	struct bytes cmdline = name_cmdline(c->w, &c->tally, p->process);
	struct tally_gone sum;

	tally_threads_sum(&c->tally, p, &sum);
	jsonw_object_begin(j);
	name_process_keys(j, c->w, &c->tally, p->process);
	jsonw_key(j, "command");
	if (cmdline.p)
		jsonw_bytes(j, cmdline);
	else
		jsonw_null(j);
	jsonw_key_bool(j, "exited", p->exited);
	jsonw_key_u64(j, "calls", p->calls);
	jsonw_key_u64(j, "wall_ns",
		      p->last_ns > p->first_ns ? (uint64_t)(p->last_ns - p->first_ns) : 0);
	jsonw_key_u64(j, "host_ns", p->host_ns);
	jsonw_key_u64(j, "threads", sum.threads);
	jsonw_key_u64(j, "thread_ns", sum.ns);
	parts_json(j, "parts", sum.ns_by);
	jsonw_key_u64(j, "calling_threads", sum.calling_threads);
	jsonw_key_u64(j, "calling_thread_ns", sum.calling_ns);
	parts_json(j, "calling_parts", sum.calling_ns_by);
	jsonw_object_end(j);
}

static int most_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* In order of appearance; at most PROCESSES_TOLD, those with the most time. */
static void processes_json(struct cause *c, struct jsonw *j)
{
	size_t n = c->tally.order.n, alike = n;
	uint64_t *ns = n > PROCESSES_TOLD ? malloc(n * sizeof(*ns)) : NULL, least = 0;

	if (n > PROCESSES_TOLD && !ns) {
		oom_flag_set();
		j->out->failed = true;
		return;
	}
	for (size_t i = 0; ns && i < n; i++)
		ns[i] = tally_threads_ns(&c->tally, &c->tally.processes.v[c->tally.order.v[i]]);
	if (ns) {
		qsort(ns, n, sizeof(*ns), most_first);
		least = ns[PROCESSES_TOLD - 1];
		for (alike = 0; alike < PROCESSES_TOLD && ns[PROCESSES_TOLD - 1 - alike] == least;)
			alike++;
	}
	free(ns);
	jsonw_key_array(j, "processes");
	for (size_t i = 0; i < n; i++) {
		const struct tally_process *p = &c->tally.processes.v[c->tally.order.v[i]];
		uint64_t x = n > PROCESSES_TOLD ? tally_threads_ns(&c->tally, p) : UINT64_MAX;

		if (x < least || (x == least && !alike))
			continue;
		alike -= x == least;
		process_json(c, p, j);
	}
	jsonw_array_end(j);
	if (n > PROCESSES_TOLD)
		jsonw_key_u64(j, "processes_total", n);
}

/* Calls that may have been made and are not in the stream. */
static void list_uncovered(struct cause *c, struct jsonw *j)
{
	if (c->uncovered.v.n == 0)
		return;
	jsonw_key_array(j, "uncovered");
	for (size_t i = 0; i < c->uncovered.v.n && i < UNCOVERED_TOLD; i++) {
		const struct uncovered_row *u = &c->uncovered.v.v[i];

		jsonw_object_begin(j);
		name_process_keys(j, c->w, &c->tally, u->process);
		uncovered_json(j, u, c->start_ns);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	if (c->uncovered.v.n > UNCOVERED_TOLD)
		jsonw_key_u64(j, "uncovered_total", c->uncovered.v.n);
}

static const struct loop *longest_loop(const struct cause *c)
{
	const struct loop *longest = NULL;

	for (size_t i = 0; i < path_tracks_count(c->tracks); i++) {
		const struct loop *x = path_tracks_get(c->tracks, i).loop;

		if (x && (!longest || x->ns > longest->ns))
			longest = x;
	}
	return longest;
}

/* The start makes few calls, and is recorded as a whole. */
static double covered_steps(const struct cause *c, const struct loop *loop,
			    const struct paused_list *l)
{
	double all = (double)(loop->last_ns - loop->first_ns);
	uint64_t ns = paused_ns(&c->paused, l->node, l->tier, loop->first_ns, loop->last_ns);

	return all > 0 ? 1 - (double)ns / all : 0;
}

/* Calls of which tiers were recorded for how much of the time; nothing where it was all of it. */
static void list_paused(struct cause *c, struct jsonw *j)
{
	int64_t from_ns = c->settled_ns - (int64_t)cause_wall_ns(c);
	const struct loop *loop = longest_loop(c);
	bool any = false;

	for (size_t i = 0; i < c->paused.lists.n; i++) {
		const struct paused_list *l = &c->paused.lists.v[i];
		const struct world_node *node = world_get_node(c->w, l->node);
		uint64_t ns = paused_ns(&c->paused, l->node, l->tier, from_ns, c->settled_ns);

		if (ns == 0)
			continue;
		if (!any)
			jsonw_key_array(j, "paused");
		any = true;
		jsonw_object_begin(j);
		jsonw_key(j, "node");
		if (node)
			jsonw_bytes(j, world_text(c->w, node->name));
		else
			jsonw_null(j);
		jsonw_key_str(j, "tier", op_tier_name(l->tier));
		jsonw_key_u64(j, "ns", ns);
		jsonw_key_double(j, "covered", 1 - (double)ns / (double)cause_wall_ns(c));
		if (loop)
			jsonw_key_double(j, "covered_steps", covered_steps(c, loop, l));
		jsonw_key(j, "reason");
		jsonw_bytes(j, bytes_of(l->reason));
		jsonw_object_end(j);
	}
	if (any)
		jsonw_array_end(j);
}

/* Of threads that make calls, or of all of a process that makes none: others lose nothing by it. */
static uint64_t part_of_all(const struct cause *c, enum part part)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < c->tally.order.n; i++) {
		struct tally_gone sum;

		tally_threads_sum(&c->tally, &c->tally.processes.v[c->tally.order.v[i]], &sum);
		ns += sum.calling_threads ? sum.calling_ns_by[part] : sum.ns_by[part];
	}
	return ns;
}

/* What recording took from the programs; nothing where no record says who recorded, or its cost. */
static void recorder_json(struct cause *c, struct jsonw *j)
{
	bool known = c->tally.culprits->recorders.n && c->off_cpu;

	if (!known && !c->traps_known)
		return;
	jsonw_key_object(j, "recorder");
	if (c->traps_known) {
		jsonw_key_u64(j, "traps_ns", c->traps_ns);
		jsonw_key_u64(j, "host_programs_ns", c->host_programs_ns);
	}
	if (known) {
		jsonw_key_u64(j, "stops_ns", part_of_all(c, PART_ATTACH));
		jsonw_key_u64(j, "cpu_taken_ns", part_of_all(c, PART_RECORDER));
	}
	jsonw_object_end(j);
}

void cause_analysis_body(struct cause *c, struct buf *out)
{
	const struct line_totals *totals = line_totals(c->line);
	struct jsonw j;

	jsonw_init(&j, out, false);
	jsonw_object_begin(&j);
	jsonw_key_str(&j, "schema", "ingero.analysis/1");
	jsonw_key_u64(&j, "wall_ns", cause_wall_ns(c));
	jsonw_key_u64(&j, "events", totals->events);
	jsonw_key_u64(&j, "lost_events", totals->lost);
	jsonw_key_u64(&j, "late_events", totals->late);
	if (c->left_out) {
		jsonw_key_u64(&j, "calls", c->calls);
		jsonw_key_u64(&j, "calls_left_out", c->left_out);
	}
	list_uncovered(c, &j);
	list_paused(c, &j);
	recorder_json(c, &j);
	jsonw_key_u64(&j, "contradicting_calls", totals->unsound);
	/* Without off-CPU intervals nothing can be known of what the host took. */
	jsonw_key_bool(&j, "host_recorded", c->off_cpu);
	jsonw_key_bool(&j, "steal_recorded", c->steal);
	jsonw_key_u64(&j, "chains", c->chains);
	processes_json(c, &j);
	standing_json(c, &j);
	without_all_json(c, &j);
	classes_json(c, &j);
	cause_memory_json(c, &j);
	if (!steps_json(c->tracks, c->start_ns, &j) ||
	    !path_tracks_json(c->tracks, c->start_ns, &j))
		out->failed = true;
	jsonw_object_end(&j);
}
