/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For each length up to STEPS_SEQUENCE it is counted how many calls in a row equal the one that stands so many before: a
 * sequence of n calls was made five times when 4 n did.
 */
#include "lib/line/steps.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/rare.h"
#include "lib/base/vec.h"

#define RING (STEPS_SEQUENCE * STEPS_PERIODS)

struct steps {
	VEC(struct steps_thread *) v;
	VEC(struct steps_thread *) by_thread; /* by world id */
	unsigned gone;
};

bool steps_hears(const struct op_def *op)
{
	if (op->source != SOURCE_CUDA && op->source != SOURCE_DRIVER && op->source != SOURCE_GRAPH)
		return false;
	return op->flags & OP_CALL &&
	       (op->flags & (OP_SYNC | OP_COPY) || op->id == OP_CUDA_GRAPH_LAUNCH ||
		op->id == OP_CU_GRAPH_LAUNCH);
}

struct steps *steps_new(void)
{
	return calloc(1, sizeof(struct steps));
}

static void thread_free(struct steps_thread *th)
{
	sketch_free(&th->best.dur);
	sketch_free(&th->current.dur);
	free(th);
}

void steps_free(struct steps *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->v.n; i++)
		thread_free(s->v.v[i]);
	vec_free(&s->v);
	vec_free(&s->by_thread);
	free(s);
}

size_t steps_threads(const struct steps *s)
{
	return s->v.n;
}

const struct steps_thread *steps_thread(const struct steps *s, size_t i)
{
	return s->v.v[i];
}

static struct steps_thread *find(const struct steps *s, uint32_t thread)
{
	return thread < s->by_thread.n ? s->by_thread.v[thread] : NULL;
}

/* NULL with *nomem false: there are too many. */
static struct steps_thread *need(struct steps *s, const struct line_piece *p, bool *nomem)
{
	struct steps_thread *th = find(s, p->thread);

	if (th || s->v.n - s->gone >= STEPS_THREADS)
		return th;
	th = calloc(1, sizeof(*th));
	*nomem = true;
	while (s->by_thread.n <= p->thread) {
		if (!vec_push(&s->by_thread, NULL))
			break;
	}
	if (!th || s->by_thread.n <= p->thread || !vec_push(&s->v, th)) {
		free(th);
		return NULL;
	}
	th->thread = p->thread;
	th->process = p->process;
	th->node = p->node;
	s->by_thread.v[p->thread] = th;
	*nomem = false;
	return th;
}

void steps_forget(struct steps *s, uint32_t thread)
{
	struct steps_thread *th = find(s, thread);
	size_t at = 0;

	if (!th)
		return;
	while (s->v.v[at] != th)
		at++;
	s->v.n--;
	memmove(s->v.v + at, s->v.v + at + 1, (s->v.n - at) * sizeof(s->v.v[0]));
	s->by_thread.v[thread] = NULL;
	s->gone -= th->gone;
	thread_free(th);
}

static struct step_call *back(struct steps_thread *th, uint64_t n)
{
	return &th->ring[(th->seen - n) % RING];
}

static bool same(const struct step_call *a, const struct step_call *b)
{
	return a->op == b->op && a->stack == b->stack;
}

const struct steps_thread *steps_of(const struct steps *s, uint32_t thread)
{
	return find(s, thread);
}

const struct step_phase *steps_told(const struct steps_thread *th)
{
	const struct step_phase *p = th->current.ns > th->best.ns ? &th->current : &th->best;

	return p->count >= STEPS_PERIODS ? p : NULL;
}

uint64_t steps_excess(const struct step_phase *p)
{
	uint64_t median = sketch_quantile(&p->dur, 0.5);

	return p->dur.max > median ? p->dur.max - median : 0;
}

void steps_gone(struct steps *s, uint32_t thread, unsigned most)
{
	struct steps_thread *th = find(s, thread);
	const struct steps_thread *least = th;
	uint64_t least_ns;

	if (!th || th->gone)
		return;
	if (!steps_told(th)) {
		steps_forget(s, thread);
		return;
	}
	th->gone = true;
	if (++s->gone <= most)
		return;
	least_ns = steps_excess(steps_told(th));
	for (size_t i = 0; i < s->v.n; i++) {
		uint64_t ns = s->v.v[i]->gone ? steps_excess(steps_told(s->v.v[i])) : 0;

		if (s->v.v[i]->gone && ns <= least_ns) {
			least = s->v.v[i];
			least_ns = ns;
		}
	}
	steps_forget(s, least->thread);
}

static void phase_over(struct steps_thread *th)
{
	struct step_phase *p = &th->current, drop = th->best;
	bool copies_missing = th->broken && !(th->broken >> TIER_WAITS & 1);

	if (p->ns > th->best.ns) {
		th->best = *p;
		*p = drop;
	}
	sketch_free(&p->dur);
	memset(p, 0, sizeof(*p));
	memset(&th->ends, 0, sizeof(th->ends));
	th->broken = 0;
	th->resumed = false;
	memset(th->run, 0, sizeof(th->run));
	/* While the loop was known nobody looked at what stood before. */
	memset(&th->before, 0, sizeof(th->before));
	if (copies_missing) {
		th->waits_only = true;
		th->cut = th->seen;
	}
	for (unsigned i = 0; i < STEPS_SEQUENCE && i + 1 < th->seen - th->cut; i++) {
		th->before.stack[i] = back(th, i + 2)->stack;
		th->before.op[i] = back(th, i + 2)->op;
	}
}

/* How long it would have been had the recording taken nothing: a step is not slow for that. */
static uint64_t unrecorded_ns(const struct step *step)
{
	uint64_t taken = step->part_ns[PART_ATTACH] + step->part_ns[PART_RECORDER];

	return step->dur_ns > taken ? step->dur_ns - taken : 0;
}

static void slow_add(struct step_phase *p, const struct step *step)
{
	unsigned at = p->nslow;
	uint64_t ns = unrecorded_ns(step);

	while (at > 0 && ns > unrecorded_ns(&p->slow[at - 1]))
		at--;
	if (at == STEPS_SLOW)
		return;
	if (p->nslow < STEPS_SLOW)
		p->nslow++;
	for (unsigned k = p->nslow - 1; k > at; k--)
		p->slow[k] = p->slow[k - 1];
	p->slow[at] = *step;
}

static void series_add(struct step_series *s, int64_t end_ns, uint64_t own_ns, uint64_t device_ns)
{
	uint64_t at;

	if (s->cell_ns == 0) {
		s->cell_ns = STEPS_CELL_NS;
		s->first_ns = end_ns;
	}
	at = (uint64_t)(end_ns - s->first_ns) / (uint64_t)s->cell_ns;
	while (at >= STEPS_CELLS) {
		for (unsigned i = 0; i < STEPS_CELLS; i++) {
			struct step_cell two = s->v[i];

			s->v[i] = (struct step_cell){ 0 };
			s->v[i / 2].count += two.count;
			s->v[i / 2].own_ns += two.own_ns;
			s->v[i / 2].device_ns += two.device_ns;
		}
		s->cell_ns *= 2;
		s->n = (s->n + 1) / 2;
		at /= 2;
	}
	s->v[at].count++;
	s->v[at].own_ns += own_ns;
	s->v[at].device_ns += device_ns;
	if (s->n <= at)
		s->n = (unsigned)at + 1;
}

/* What a step took of itself: neither the host's time, nor sleeping or waiting for others. */
static uint64_t own_of(const struct step *step)
{
	uint64_t own = step->dur_ns;

	for (unsigned i = 0; i < PART_COUNT; i++) {
		if (i != PART_SELF && i != PART_DEVICE)
			own -= step->part_ns[i] < own ? step->part_ns[i] : own;
	}
	return own;
}

/* Of a step that takes a hundred times as long nobody can tell. */
#define QUIET 100

/* The open step ends here and the next begins. */
static bool step_ends(struct steps_thread *th, int64_t end_ns)
{
	struct step_phase *p = &th->current;
	struct step *step = &th->open;
	uint64_t taken = 0;

	th->ended = th->seen;
	if (th->broken) {
		th->broken = 0;
		th->resumed = p->count > 0;
		*step = (struct step){ .start_ns = end_ns };
		return true;
	}
	step->dur_ns = end_ns > step->start_ns ? (uint64_t)(end_ns - step->start_ns) : 0;
	step->number = ++p->count;
	p->gaps += th->resumed;
	th->resumed = false;
	if (p->count == 1)
		p->start_ns = step->start_ns;
	p->end_ns = end_ns;
	p->ns += step->dur_ns;
	for (unsigned i = 0; i < PART_COUNT; i++) {
		p->part_ns[i] += step->part_ns[i];
		taken += PARTS_NOT_OWN >> i & 1 ? step->part_ns[i] : 0;
	}
	if (taken * QUIET < step->dur_ns) {
		p->quiet_count++;
		p->quiet_ns += step->dur_ns;
	} else {
		p->taken_ns += taken;
	}
	slow_add(p, step);
	series_add(&p->series, end_ns, own_of(step), step->part_ns[PART_DEVICE]);
	if (!sketch_add(&p->dur, step->dur_ns))
		return false;
	*step = (struct step){ .start_ns = end_ns };
	return true;
}

/* Of a sequence of n calls, the one that stands once in it and ends the step: the one that waits longest, else the last
 * copy. Calls before the newest, n when none stands once. */
static unsigned anchor_of(struct steps_thread *th, unsigned n)
{
	unsigned best = n;

	for (unsigned i = 0; i < n; i++) {
		const struct step_call *a = back(th, i + 1), *b;
		unsigned times = 0;

		for (unsigned k = 0; k < n; k++)
			times += same(a, back(th, k + 1));
		if (times > 1)
			continue;
		b = best < n ? back(th, best + 1) : NULL;
		if (!b || a->waits > b->waits || (a->waits && b->waits && a->dur_ns > b->dur_ns))
			best = i;
	}
	return best;
}

/* A sequence of n calls has just been made for the fifth time. */
static bool found(struct steps_thread *th, unsigned n)
{
	struct step_phase *p = &th->current;
	unsigned anchor = anchor_of(th, n);

	if (anchor == n)
		return true;
	for (unsigned i = 0; i < n; i++)
		p->sequence[i] = *back(th, anchor + n - i);
	p->nsequence = n;
	th->ends.n = n;
	th->ends.stack = p->sequence[n - 1].stack;
	th->ends.op = p->sequence[n - 1].op;
	th->phases++;
	/* The steps that were made while it was being found. */
	th->open =
		(struct step){ .start_ns = back(th, anchor + 1 + (STEPS_PERIODS - 1) * n)->end_ns };
	for (unsigned k = STEPS_PERIODS - 1; k-- > 0;) {
		if (!step_ends(th, back(th, anchor + 1 + k * n)->end_ns))
			return false;
	}
	return true;
}

/* newest: the call that was made, which is back(th, 1). */
APART static bool look(struct steps_thread *th, const struct step_call *newest)
{
	const uint32_t stack = newest->stack, op = newest->op;
	int32_t *run = th->run + 1, enough = 0;
	unsigned n = 1;

	/* All lengths, so that vectors do it: where no call stands yet, nothing equals this one. */
	for (int32_t i = 0; i < STEPS_SEQUENCE; i++) {
		uint32_t other = (th->before.stack[i] ^ stack) | (th->before.op[i] ^ op);

		run[i] = other ? 0 : run[i] + (run[i] < INT32_MAX);
		enough |= run[i] >= (STEPS_PERIODS - 1) * (i + 1);
	}
	if (!enough)
		return true;
	while (th->run[n] < (int32_t)((STEPS_PERIODS - 1) * n))
		n++;
	return found(th, n);
}

/* It is not the newest any more. */
static void remember(struct steps_thread *th, const struct step_call *call)
{
	memmove(th->before.stack + 1, th->before.stack,
		sizeof(th->before.stack) - sizeof(th->before.stack[0]));
	memmove(th->before.op + 1, th->before.op, sizeof(th->before.op) - sizeof(th->before.op[0]));
	th->before.stack[0] = call->stack;
	th->before.op[0] = call->op;
}

void steps_break(struct steps *s, uint32_t thread, unsigned tiers)
{
	struct steps_thread *th = find(s, thread);
	bool waits = tiers >> TIER_WAITS & 1;

	if (!th || (th->waits_only && !waits))
		return;
	/* The call that ends a step was recorded: what else belongs to the step does not matter. */
	if (th->ends.n && !(tiers >> op_tier((uint16_t)th->ends.op) & 1))
		return;
	th->cut = th->seen;
	/* While copies are missing the waits tell whether the loop that one of them ends goes on. */
	if (!th->ends.n || waits)
		th->ended = th->seen;
	if (th->ends.n) {
		th->broken |= tiers;
		return;
	}
	th->waits_only = !waits;
	memset(th->run, 0, sizeof(th->run));
	memset(&th->before, 0, sizeof(th->before));
}

void steps_check_pauses(struct steps *s, const struct paused *p, const struct line_piece *next)
{
	const struct steps_thread *th = p->lists.n ? find(s, next->thread) : NULL;
	unsigned tiers;

	if (!th || !th->seen)
		return;
	tiers = paused_tiers(p, next->node, steps_last_ns(th), next->end_ns) & STEPS_TIERS;
	if (tiers)
		steps_break(s, next->thread, tiers);
}

uint64_t steps_unseen_ns(const struct steps_thread *th, const struct step_phase *p,
			 const struct paused *paused)
{
	uint64_t ns = paused_any_ns(paused, th->node, STEPS_TIERS, th->first_ns, p->start_ns) +
		      paused_any_ns(paused, th->node, STEPS_TIERS, p->end_ns, th->last_ns);

	return ns > (uint64_t)(p->end_ns - p->start_ns) ? ns : 0;
}

uint64_t steps_estimate(const struct step_phase *p)
{
	if (!p->gaps || !p->ns)
		return p->count;
	return (uint64_t)((double)p->count * (double)steps_span_ns(p) / (double)p->ns + 0.5);
}

bool steps_call(struct steps *s, const struct line_piece *p)
{
	bool nomem = false;
	struct steps_thread *th = need(s, p, &nomem);
	struct step_call call = { .end_ns = p->end_ns,
				  .dur_ns = p->ev->dur_ns,
				  .stack = p->ev->stack,
				  .op = p->ev->op,
				  .waits = p->op->flags & OP_SYNC };

	if (!th)
		return !nomem;
	th->first_ns = th->first_ns ? th->first_ns : p->end_ns;
	th->last_ns = p->end_ns;
	if (p->open || (th->waits_only && op_tier(p->ev->op) != TIER_WAITS))
		return true;
	/* Tensors that are copied one after the other are one call of the sequence. */
	if (th->seen > th->cut && !call.waits && same(&call, back(th, 1))) {
		back(th, 1)->end_ns = call.end_ns;
		return true;
	}
	if (th->seen > th->cut && !th->ends.n)
		remember(th, back(th, 1));
	th->ring[th->seen++ % RING] = call;
	th->open.part_ns[PART_DEVICE] += parts_get(p->parts, PART_DEVICE);
	if (th->ends.n == 0)
		return look(th, &call);
	if (call.op == th->ends.op && call.stack == th->ends.stack)
		return step_ends(th, p->end_ns);
	if (th->seen - th->ended > 4 * th->ends.n + 16)
		phase_over(th);
	return true;
}

bool steps_interval(struct steps *s, const struct line_piece *p)
{
	struct steps_thread *th = find(s, p->thread);
	/* Inside calls only what the host takes: the rest is the call's own business, told with it. */
	uint32_t which = p->depth ? PARTS_NOT_OWN : PARTS_ALL;

	if (!th || th->ends.n == 0)
		return true;
	for (uint32_t m = p->parts->mask & which; m; m &= m - 1) {
		unsigned part = (unsigned)__builtin_ctz(m);

		th->open.part_ns[part] += p->parts->ns[part];
	}
	return true;
}
