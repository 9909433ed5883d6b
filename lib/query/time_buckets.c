/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A span begins at a multiple of its length, so that two neighbours become one without moving
 * anything. Durations are counted by 16 buckets per doubling: a quantile is off by at most 1/32 of
 * its value.
 */
#include "lib/query/sections_internal.h"

#include <stdlib.h>
#include <string.h>

#define SPAN_NS	  10000000ll /* of short recordings */
#define SUB	  16	     /* buckets per doubling */
#define BUCKETS	  (SUB * 61)
#define TIME_MOST (INT64_MAX / 4) /* ends of spans can then be computed */

/* The durations that ended in a span. */
struct answer_layout {
	uint64_t n, max_ns;
	uint32_t counts[BUCKETS];
};

struct grid {
	int64_t span_ns,
		first; /* span i covers [(first + i) * span_ns, (first + i + 1) * span_ns) */
	unsigned n;
};

struct op_course {
	const struct op_def *op;
	struct grid grid;
	struct answer_layout *v[VIEW_COURSE]; /* NULL: none ended there */
};

struct query_time_buckets {
	struct op_course *ops[TIME_BUCKETS_OPS];
	unsigned nops;
	struct op_course *last; /* of the newest event: the next is often the same */
	struct grid grid;	/* of the states */
	uint64_t state_ns[VIEW_COURSE][PART_COUNT];
};

struct query_time_buckets *query_time_buckets_new(void)
{
	struct query_time_buckets *c = calloc(1, sizeof(*c));

	if (c)
		c->grid.span_ns = SPAN_NS;
	return c;
}

void query_time_buckets_free(struct query_time_buckets *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->nops; i++) {
		for (unsigned k = 0; k < VIEW_COURSE; k++)
			free(c->ops[i]->v[k]);
		free(c->ops[i]);
	}
	free(c);
}

static int64_t span_of(const struct grid *g, int64_t ns)
{
	int64_t q;

	if (ns > TIME_MOST || ns < -TIME_MOST) /* no clock says so */
		ns = ns < 0 ? -TIME_MOST : TIME_MOST;
	q = ns / g->span_ns;
	return q - (ns % g->span_ns < 0);
}

/* Where the time lies; *move: how far what is there has to go up before. TOO_MANY: spans have to
 * double first. */
#define TOO_MANY UINT32_MAX
static unsigned place_time(struct grid *g, int64_t ns, unsigned *move)
{
	int64_t at = span_of(g, ns), low, high;

	*move = 0;
	if (!g->n) {
		g->first = at;
		g->n = 1;
		return 0;
	}
	low = at < g->first ? at : g->first;
	high = at >= g->first + g->n ? at + 1 : g->first + g->n;
	if (high - low > VIEW_COURSE)
		return TOO_MANY;
	*move = (unsigned)(g->first - low);
	g->first = low;
	g->n = (unsigned)(high - low);
	return (unsigned)(at - low);
}

/* Doubles the spans; where span i goes. */
static unsigned index_when_halved(const struct grid *before, unsigned i)
{
	return (unsigned)(((before->first + i) >> 1) - (before->first >> 1));
}
static void double_spans(struct grid *g)
{
	unsigned n = g->n ? index_when_halved(g, g->n - 1) + 1 : 0;

	g->first >>= 1;
	g->span_ns *= 2;
	g->n = n;
}

static unsigned bucket_of(uint64_t ns)
{
	unsigned shift = 59 - (unsigned)__builtin_clzll(ns | SUB);

	return shift * SUB + (unsigned)(ns >> shift);
}

/* The middle of a bucket. */
static uint64_t bucket_value(unsigned b)
{
	unsigned shift = b < 2 * SUB ? 0 : b / SUB - 1;
	uint64_t low = (uint64_t)(b - shift * SUB) << shift;

	return low + ((UINT64_C(1) << shift) >> 1);
}

static void shape_merge(struct answer_layout **into, struct answer_layout *from)
{
	if (!*into || !from) {
		*into = *into ? *into : from;
		return;
	}
	(*into)->n += from->n;
	if (from->max_ns > (*into)->max_ns)
		(*into)->max_ns = from->max_ns;
	for (unsigned i = 0; i < BUCKETS; i++) {
		uint32_t sum;

		(*into)->counts[i] =
			__builtin_add_overflow((*into)->counts[i], from->counts[i], &sum)
				? UINT32_MAX
				: sum;
	}
	free(from);
}

static void widen_op(struct op_course *o)
{
	struct answer_layout *v[VIEW_COURSE] = { NULL };

	for (unsigned i = 0; i < o->grid.n; i++)
		shape_merge(&v[index_when_halved(&o->grid, i)], o->v[i]);
	memcpy(o->v, v, sizeof(v));
	double_spans(&o->grid);
}

static struct op_course *course_of(struct query_time_buckets *c, const struct op_def *op,
				   bool *nomem)
{
	struct op_course *o;

	if (c->last && c->last->op == op)
		return c->last;
	for (unsigned i = 0; i < c->nops; i++)
		if (c->ops[i]->op == op)
			return c->last = c->ops[i];
	if (c->nops == TIME_BUCKETS_OPS)
		return NULL;
	o = calloc(1, sizeof(*o));
	*nomem = !o;
	if (!o)
		return NULL;
	o->op = op;
	o->grid.span_ns = SPAN_NS;
	c->ops[c->nops++] = o;
	return c->last = o;
}

bool query_time_buckets_event(struct query_time_buckets *c, const struct event *ev,
			      const struct op_def *op)
{
	bool nomem = false;
	struct op_course *o;
	struct answer_layout *s;
	unsigned at, move;

	if (op->track == TRACK_INSTANT)
		return true;
	o = course_of(c, op, &nomem);
	if (!o)
		return !nomem;
	while ((at = place_time(&o->grid, ev->end_ns, &move)) == TOO_MANY)
		widen_op(o);
	if (move) {
		memmove(o->v + move, o->v, (VIEW_COURSE - move) * sizeof(*o->v));
		memset(o->v, 0, move * sizeof(*o->v));
	}
	if (!o->v[at])
		o->v[at] = calloc(1, sizeof(*s));
	s = o->v[at];
	if (!s)
		return false;
	s->n++;
	if (ev->dur_ns > s->max_ns)
		s->max_ns = ev->dur_ns;
	if (s->counts[bucket_of(ev->dur_ns)] < UINT32_MAX)
		s->counts[bucket_of(ev->dur_ns)]++;
	return true;
}

static void widen_states(struct query_time_buckets *c)
{
	uint64_t v[VIEW_COURSE][PART_COUNT] = { 0 };

	for (unsigned i = 0; i < c->grid.n; i++)
		for (unsigned p = 0; p < PART_COUNT; p++)
			v[index_when_halved(&c->grid, i)][p] += c->state_ns[i][p];
	memcpy(c->state_ns, v, sizeof(v));
	double_spans(&c->grid);
}

static unsigned state_span(struct query_time_buckets *c, int64_t ns)
{
	unsigned at, move;

	while ((at = place_time(&c->grid, ns, &move)) == TOO_MANY)
		widen_states(c);
	if (move) {
		memmove(c->state_ns + move, c->state_ns,
			(VIEW_COURSE - move) * sizeof(*c->state_ns));
		memset(c->state_ns, 0, move * sizeof(*c->state_ns));
	}
	return at;
}

bool query_time_buckets_piece(struct query_time_buckets *c, const struct line_piece *p)
{
	int64_t ns = p->end_ns - p->start_ns;
	unsigned from, to;

	if (p->depth || p->open || !p->parts || ns <= 0 || p->start_ns < -TIME_MOST ||
	    p->end_ns > TIME_MOST)
		return true;
	state_span(c, p->end_ns - 1);
	from = state_span(c, p->start_ns);
	to = state_span(c, p->end_ns - 1); /* the first may have moved or doubled */
	for (uint32_t left = p->parts->mask; left; left &= left - 1) {
		unsigned part = (unsigned)__builtin_ctz(left);
		uint64_t whole = p->parts->ns[part], done_ns = 0;

		if (part == PART_UNKNOWN) /* without the overlap, which is counted already */
			whole -= p->overlap_ns < whole ? p->overlap_ns : whole;

		for (unsigned i = from; i < to; i++) {
			int64_t begin = (c->grid.first + i) * c->grid.span_ns;
			int64_t end = begin + c->grid.span_ns;
			double share = (double)(end - (begin > p->start_ns ? begin : p->start_ns)) /
				       (double)ns;
			uint64_t here = (uint64_t)((double)whole * share);

			here = here < whole - done_ns ? here : whole - done_ns;
			c->state_ns[i][part] += here;
			done_ns += here;
		}
		c->state_ns[to][part] += whole - done_ns;
	}
	return true;
}

static uint64_t shape_quantile(const struct answer_layout *s, unsigned percent)
{
	uint64_t rank = s->n / 100 * percent + (s->n % 100 * percent + 99) / 100, seen = 0;

	for (unsigned b = 0; b < BUCKETS; b++) {
		seen += s->counts[b];
		if (seen >= rank && seen) {
			uint64_t v = bucket_value(b);

			return v < s->max_ns ? v : s->max_ns;
		}
	}
	return s->max_ns;
}

bool query_time_buckets_rows(const struct query_time_buckets *c, struct view *v)
{
	v->courses.n = 0;
	for (unsigned i = 0; i < c->nops; i++) {
		const struct op_course *o = c->ops[i];
		struct view_course row = { .op = o->op,
					   .span_ns = o->grid.span_ns,
					   .from_ns = o->grid.first * o->grid.span_ns,
					   .n = o->grid.n };

		for (unsigned k = 0; k < o->grid.n; k++) {
			const struct answer_layout *s = o->v[k];

			if (s)
				row.v[k] = (struct view_course_point){ s->n, shape_quantile(s, 50),
								       shape_quantile(s, 99),
								       s->max_ns };
		}
		if (!vec_push(&v->courses, row))
			return false;
	}
	v->states = (struct view_states){ .span_ns = c->grid.span_ns,
					  .from_ns = c->grid.first * c->grid.span_ns,
					  .n = c->grid.n };
	memcpy(v->states.part_ns, c->state_ns, sizeof(c->state_ns));
	return true;
}
