/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One element a thread that repeats a sequence of calls: how many steps, how long they take, which were slow and what
 * the slow ones lost, by state.
 */
#include "lib/cause/stepping.h"

#include "lib/cause/names.h"
#include "lib/line/steps.h"

/* A step is slow when it takes half as much again as the median does. */
#define SLOW(median) ((median) + (median) / 2)

static void sequence_json(const struct cause *c, const struct step_phase *p, struct jsonw *j)
{
	struct buf text = { 0 };

	jsonw_key_array(j, "sequence");
	for (unsigned i = 0; i < p->nsequence; i++) {
		const struct step_call *call = &p->sequence[i];
		const struct op_def *op = world_op(c->w, call->op);
		uint32_t frame = name_site_frame(c->w, call->stack);

		jsonw_object_begin(j);
		name_op(&text, c->w, call->op);
		name_key(j, "op", &text);
		jsonw_key_str(j, "source", op ? op->source_name : "?");
		if (frame)
			name_frame(&text, c->w, frame);
		name_key(j, "text", &text);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	buf_free(&text);
}

/* States sum to ns: what no interval took was its own code. */
static void parts_json(const uint64_t *part_ns, uint64_t ns, struct jsonw *j)
{
	uint64_t left = ns;

	jsonw_key_object(j, "parts");
	for (unsigned i = 0; i < PART_COUNT; i++) {
		uint64_t part = part_ns[i] < left ? part_ns[i] : left;

		if (i == PART_SELF || part == 0)
			continue;
		jsonw_key_u64(j, part_name((enum part)i), part);
		left -= part;
	}
	if (left)
		jsonw_key_u64(j, part_name(PART_SELF), left);
	jsonw_object_end(j);
}

static void slow_json(const struct cause *c, const struct step_phase *p, uint64_t median,
		      struct jsonw *j)
{
	jsonw_key_array(j, "slow");
	for (unsigned i = 0; i < p->nslow && p->slow[i].dur_ns > SLOW(median); i++) {
		const struct step *s = &p->slow[i];

		jsonw_object_begin(j);
		jsonw_key_u64(j, "number", s->number);
		jsonw_key_i64(j, "t_ns", s->start_ns - c->start_ns);
		jsonw_key_u64(j, "dur_ns", s->dur_ns);
		parts_json(s->part_ns, s->dur_ns, j);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

/* What pauses of probes leave unknown; nothing is added where they leave nothing. */
static void pauses_json(const struct cause *c, const struct steps_thread *th,
			const struct step_phase *p, struct jsonw *j)
{
	uint64_t unseen = steps_unseen_ns(th, p, &c->paused);

	if (p->gaps) {
		jsonw_key_u64(j, "windows", p->gaps + 1);
		jsonw_key_u64(j, "estimated_count", steps_estimate(p));
	}
	if (unseen)
		jsonw_key_u64(j, "unseen_ns", unseen);
}

static void thread_json(const struct cause *c, const struct steps_thread *th,
			const struct step_phase *p, struct jsonw *j)
{
	const struct world_thread *t = world_get_thread(c->w, th->thread);
	const struct world_process *v = world_get_process(c->w, th->process);
	const struct world_node *node = world_get_node(c->w, th->node);
	uint64_t median = sketch_quantile(&p->dur, 0.5);

	jsonw_object_begin(j);
	jsonw_key_u64(j, "pid", v ? v->tgid : 0);
	jsonw_key(j, "node");
	jsonw_bytes(j, node ? world_text(c->w, node->name) : bytes_of(""));
	jsonw_key(j, "comm");
	jsonw_bytes(j, name_process(c->w, &c->tally, th->process));
	jsonw_key_u64(j, "tid", t ? t->tid : 0);
	jsonw_key_u64(j, "count", p->count);
	pauses_json(c, th, p, j);
	jsonw_key_i64(j, "first_ns", p->start_ns - c->start_ns);
	jsonw_key_i64(j, "last_ns", p->end_ns - c->start_ns);
	jsonw_key_u64(j, "total_ns", p->ns);
	jsonw_key_u64(j, "p50_ns", median);
	jsonw_key_u64(j, "p99_ns", sketch_quantile(&p->dur, 0.99));
	jsonw_key_u64(j, "max_ns", p->dur.max);
	/* How many steps are slow, from the distribution; those told below are the longest. */
	jsonw_key_u64(j, "slow_count", sketch_between(&p->dur, SLOW(median) + 1, UINT64_MAX));
	jsonw_key_u64(j, "phases", th->phases);
	parts_json(p->part_ns, p->ns, j);
	sequence_json(c, p, j);
	slow_json(c, p, median, j);
	jsonw_object_end(j);
}

/* The STEPPING_TOLD largest of all threads; returns how many there are. */
static unsigned largest(const struct cause *c, uint64_t top[STEPPING_TOLD])
{
	unsigned n = 0;

	for (size_t i = 0; i < steps_threads(c->steps); i++) {
		const struct step_phase *p = steps_told(steps_thread(c->steps, i));
		uint64_t x = p ? steps_excess(p) : 0;
		unsigned at;

		if (!p || (n == STEPPING_TOLD && x <= top[n - 1]))
			continue;
		n += n < STEPPING_TOLD;
		for (at = n - 1; at && top[at - 1] < x; at--)
			top[at] = top[at - 1];
		top[at] = x;
	}
	return n;
}

/* In the order in which they were met; of too many those with the longest steps. */
void cause_steps_json(const struct cause *c, struct jsonw *j)
{
	uint64_t top[STEPPING_TOLD], least;
	unsigned n = largest(c, top), as_least = 0;

	least = n ? top[n - 1] : 0;
	for (unsigned i = 0; i < n; i++)
		as_least += top[i] == least;
	jsonw_key_array(j, "steps");
	for (size_t i = 0; i < steps_threads(c->steps); i++) {
		const struct steps_thread *th = steps_thread(c->steps, i);
		const struct step_phase *p = steps_told(th);
		uint64_t x = p ? steps_excess(p) : 0;

		if (!p || x < least || (x == least && as_least == 0))
			continue;
		as_least -= x == least;
		thread_json(c, th, p, j);
	}
	jsonw_array_end(j);
}
