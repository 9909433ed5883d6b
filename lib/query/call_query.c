/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds one call in a stream, by its thread and end or as the longest of an op, with what happened
 * inside it. Spans inside a call come before the call itself, so that a ring per thread holds the
 * last ones.
 */
#include "lib/query/call_query.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/account/names.h"
#include "lib/event/open_call.h"
#include "lib/event/paused.h"
#include "lib/attrib/line.h"
#include "lib/filter/filter.h"

struct recent {
	const struct op_def *op; /* NULL: off the CPU */
	unsigned depth;
	int64_t start_ns, end_ns;
	int32_t ret;
	uint32_t part, culprit;
};

struct ring {
	struct recent v[CALL_RECENT];
	uint64_t n; /* ever */
};

struct query_call {
	struct line_sink sink;
	const struct world *w;
	struct line *line;
	const char *op; /* NULL: by thread and end */
	uint32_t tid;
	int64_t end_ns;
	VEC(struct ring *) rings; /* by world thread id */
	int64_t newest_ns;	  /* of the events so far */
	struct arena texts;
	struct open_calls open;
	struct paused paused;
	/* the call so far */
	bool have, nomem;
	enum found_as { AS_EVENT, AS_INTERVAL, AS_CALL } as;
	unsigned depth;
	struct call_detail found;
	struct parts parts;
	uint32_t ctx, stack;
	VEC(struct recent) inside;
};

#define of_sink(s) ((struct query_call *)(s)) /* the first member */

static struct ring *ring_of(struct query_call *a, uint32_t thread)
{
	if (!vec_reach(&a->rings, thread))
		return NULL;
	if (!a->rings.v[thread])
		a->rings.v[thread] = calloc(1, sizeof(struct ring));
	return a->rings.v[thread];
}

static void add_to_ring(struct query_call *a, const struct line_piece *p, bool call)
{
	struct ring *r = ring_of(a, p->thread);
	struct recent *n;
	uint64_t most = 0;

	if (!r) {
		a->nomem = true;
		return;
	}
	n = &r->v[r->n++ % CALL_RECENT];
	*n = (struct recent){ .op = call ? p->op : NULL,
			      .depth = p->depth,
			      .start_ns = p->start_ns,
			      .end_ns = p->end_ns,
			      .ret = call ? p->ev->ret : 0 };
	for (uint32_t m = call ? 0 : p->parts->mask; m; m &= m - 1) {
		unsigned part = (unsigned)__builtin_ctz(m);

		if (p->parts->ns[part] > most) {
			most = p->parts->ns[part];
			n->part = part;
		}
	}
	most = 0;
	for (uint32_t i = 0; !call && i < p->parts->nculprits; i++) {
		if (p->parts->c[i].ns > most) {
			most = p->parts->c[i].ns;
			n->culprit = p->parts->c[i].culprit;
		}
	}
}

static bool is_wanted(const struct query_call *a, const struct line_piece *p, enum found_as as)
{
	const struct world_thread *th;

	if (a->op)
		return as == AS_CALL && filter_name_matches(a->op, p->op) &&
		       (!a->have ||
			p->ev->dur_ns > (uint64_t)(a->found.end_ns - a->found.start_ns));
	th = p->end_ns == a->end_ns ? world_get_thread(a->w, p->thread) : NULL;
	if (!th || th->tid != a->tid)
		return false;
	/* Of calls that end together the outermost: those that are open come in any order. What
	 * ends with a call is in it. */
	return !a->have || (as == a->as ? p->depth <= a->depth : as > a->as);
}

static void copy_found(struct query_call *a, const struct line_piece *p, enum found_as as)
{
	const struct world_thread *th = world_get_thread(a->w, p->thread);
	const struct ring *r = p->thread < a->rings.n ? a->rings.v[p->thread] : NULL;
	uint64_t first = r && r->n > CALL_RECENT ? r->n - CALL_RECENT : 0;

	a->have = true;
	a->as = as;
	a->depth = p->depth;
	a->inside.n = 0;
	a->parts = *p->parts;
	a->ctx = p->ev->ctx;
	a->stack = p->ev->stack;
	a->found.op = p->op;
	a->found.tid = th ? th->tid : 0;
	a->found.start_ns = p->start_ns;
	a->found.end_ns = p->end_ns;
	a->found.ret = p->ev->ret;
	a->found.open = p->open;
	a->found.sound = p->sound;
	a->found.calls_ns = p->calls_ns;
	/* When even the oldest one kept is inside, older ones may have been too. */
	a->found.inner_left_out = 0;
	if (first && r->v[first % CALL_RECENT].start_ns >= p->start_ns)
		a->found.inner_left_out = first;
	for (uint64_t i = first; r && i < r->n; i++) {
		const struct recent *n = &r->v[i % CALL_RECENT];

		if (n->start_ns >= p->start_ns && n->end_ns <= p->end_ns && n->depth > p->depth &&
		    !vec_push(&a->inside, *n))
			a->nomem = true;
	}
}

static void on_call(struct line_sink *s, const struct line_piece *p)
{
	struct query_call *a = of_sink(s);

	if (is_wanted(a, p, AS_CALL))
		copy_found(a, p, AS_CALL);
	if (p->depth > 0)
		add_to_ring(a, p, true);
}

static void on_gap(struct line_sink *s, const struct line_piece *p)
{
	(void)s;
	(void)p;
}

static void on_offcpu(struct line_sink *s, const struct line_piece *p)
{
	struct query_call *a = of_sink(s);

	if (p->ev && is_wanted(a, p, AS_INTERVAL))
		copy_found(a, p, AS_INTERVAL);
	if (p->depth > 0)
		add_to_ring(a, p, false);
}

/* What is neither a call nor an interval off the CPU, as a wait for a socket or a reclaim, has no
 * states. */
static void on_event(struct query_call *a, const struct event *ev)
{
	const struct world_ctx *ctx =
		!a->op && ev->end_ns == a->end_ns ? world_get_ctx(a->w, ev->ctx) : NULL;
	struct parts parts = { 0 };
	struct line_piece p = { .ev = ev,
				.op = world_op(a->w, ev->op),
				.thread = ctx ? ctx->thread : 0,
				.start_ns = event_start(ev),
				.end_ns = ev->end_ns,
				.parts = &parts,
				.sound = true };

	if (!ctx || !p.op || a->have || !is_wanted(a, &p, AS_EVENT))
		return;
	parts_add(&parts, PART_UNKNOWN, 0, ev->dur_ns);
	copy_found(a, &p, AS_EVENT);
}

static bool parse_id(struct query_call *a, const char *id)
{
	char *end;

	if (!isdigit((unsigned char)*id))
		return false;
	a->tid = (uint32_t)strtoul(id, &end, 10);
	if (*end != '@' || (!isdigit((unsigned char)end[1]) && end[1] != '-'))
		return false;
	a->end_ns = strtoll(end + 1, &end, 10);
	return *end == 0;
}

int query_call_new(struct query_call **out, const struct world *w, const char *id, struct err *e)
{
	struct query_call *a = calloc(1, sizeof(*a));
	struct filter check = { 0 };
	int rc = 0;

	*out = NULL;
	if (!a)
		return err_nomem(e);
	a->w = w;
	a->newest_ns = INT64_MIN;
	a->sink = (struct line_sink){ on_call, on_gap, on_offcpu };
	if (!parse_id(a, id)) {
		a->op = id;
		rc = filter_name(&check, id, e);
		filter_free(&check);
	}
	a->line = rc ? NULL : line_new(w, &a->sink);
	if (!rc && !a->line)
		rc = err_nomem(e);
	if (rc)
		query_call_free(a);
	else
		*out = a;
	return rc;
}

/* Reports losses of events to the line, which then does not charge the time in which events are
 * missing to the call's own code. */
static void add_loss(struct query_call *a, const struct stream_item *item)
{
	const struct record *r = item->kind == STREAM_RECORD ? item->record : NULL;

	if (item->kind == STREAM_EVENTS && item->lost)
		line_lost(a->line, a->newest_ns,
			  item->n ? item->events[0].end_ns : item->watermark_ns, item->lost);
	if (r && r->kind == RECORD_LOSS)
		line_lost(a->line, REC_HAS(r, LOSS, since_ns) ? r->u.LOSS.since_ns : INT64_MIN,
			  REC_HAS(r, LOSS, until_ns) ? r->u.LOSS.until_ns : a->newest_ns,
			  r->u.LOSS.count);
}

int query_call_item(struct query_call *a, const struct stream_item *item, struct err *e)
{
	int rc = 0;

	add_loss(a, item);
	for (size_t i = 0; item->kind == STREAM_EVENTS && i < item->n && rc == 0; i++) {
		rc = line_event(a->line, &item->events[i], item->late, e);
		on_event(a, &item->events[i]);
	}
	if (item->kind == STREAM_EVENTS && item->n && !item->late)
		a->newest_ns = item->events[item->n - 1].end_ns;
	if (item->kind == STREAM_RECORD && item->record->kind == RECORD_OPEN &&
	    !open_calls_add(&a->open, &item->record->u.OPEN))
		a->nomem = true;
	if (item->kind == STREAM_RECORD && !paused_record(&a->paused, item->record))
		a->nomem = true;
	return rc ? rc : a->nomem ? err_nomem(e) : 0;
}

static struct bytes copy_text(struct query_call *a, struct buf *text)
{
	struct bytes b = { arena_copy(&a->texts, text->p ? text->p : "", text->n), text->n };

	if (!b.p)
		a->nomem = true;
	buf_reset(text);
	return b;
}

static struct bytes culprit_text(struct query_call *a, uint32_t culprit)
{
	const struct line_culprit *c = culprit_get(line_culprits(a->line), culprit);
	struct tally none = { 0 };
	struct buf text = { 0 };
	struct bytes b = { 0 };

	if (c) {
		name_culprit_full(&text, a->w, &none, c);
		b = copy_text(a, &text);
	}
	buf_free(&text);
	return b;
}

static int by_start(const void *a, const void *b)
{
	const struct call_inner *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static bool add_inner_calls(struct query_call *a)
{
	struct call_detail *d = &a->found;
	unsigned own = 0;

	for (size_t i = 0; i < a->inside.n; i++)
		own = i == 0 || a->inside.v[i].depth < own ? a->inside.v[i].depth : own;
	for (size_t i = 0; i < a->inside.n; i++) {
		const struct recent *n = &a->inside.v[i];
		struct call_inner k = { .op = n->op,
					.part = (enum part)n->part,
					.depth = n->depth - own + 1,
					.start_ns = n->start_ns,
					.dur_ns = (uint64_t)(n->end_ns - n->start_ns),
					.ret = n->ret,
					.who = culprit_text(a, n->culprit) };

		if (!vec_push(&d->inner, k))
			return false;
	}
	if (d->inner.n)
		qsort(d->inner.v, d->inner.n, sizeof(*d->inner.v), by_start);
	return true;
}

static bool add_stack(struct query_call *a)
{
	unsigned n = 0;
	const uint32_t *frames = a->stack ? world_get_stack(a->w, a->stack, &n) : NULL;
	struct buf text = { 0 };
	bool well = true;

	for (unsigned i = 0; frames && i < n && well; i++) {
		name_frame(&text, a->w, frames[i]);
		well = vec_push(&a->found.stack, copy_text(a, &text));
	}
	buf_free(&text);
	return well;
}

/* Inner calls first. */
static int open_order(const void *a, const void *b)
{
	const struct rec_OPEN *const *x = a, *const *y = b;

	return (*x)->depth > (*y)->depth ? -1 : (*x)->depth < (*y)->depth;
}

static int still_open(struct query_call *a, struct err *e)
{
	VEC(const struct rec_OPEN *) all = { 0 };
	int rc = 0;

	for (size_t i = 0; i < a->open.v.n && rc == 0; i++) {
		const struct rec_OPEN *o = &a->open.v.v[i];

		if (open_calls_named(&a->open, o) &&
		    !line_went_on(a->line, o->thread, o->time_ns) && !vec_push(&all, o))
			rc = err_nomem(e);
	}
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), open_order);
	for (size_t i = 0; i < all.n && rc >= 0; i++)
		rc = line_open(a->line, all.v[i]->thread, (uint16_t)all.v[i]->op,
			       all.v[i]->start_ns, all.v[i]->depth, all.v[i]->stack,
			       all.v[i]->time_ns, e);
	vec_free(&all);
	return rc;
}

/* What else is known of the call that was found. */
static int complete_found(struct query_call *a, struct err *e)
{
	const struct world_ctx *ctx = world_get_ctx(a->w, a->ctx);
	const struct world_image *im = ctx ? world_get_image(a->w, ctx->image) : NULL;
	const struct world_process *p = im ? world_get_process(a->w, im->process) : NULL;
	const struct world_node *node = ctx ? world_get_node(a->w, ctx->node) : NULL;
	struct call_detail *d = &a->found;

	d->process =
		im ? world_text(a->w, world_process_name(a->w, im->process, ctx->image, INT64_MAX))
		   : (struct bytes){ 0 };
	d->node = node ? world_text(a->w, node->name) : (struct bytes){ 0 };
	d->pid = p ? p->tgid : 0;
	d->paused = paused_tiers(&a->paused, ctx ? ctx->node : 0, d->start_ns, d->end_ns);
	d->of_recorded = a->op && paused_first(&a->paused, ctx ? ctx->node : 0,
					       1u << op_tier((uint16_t)d->op->id)) != INT64_MAX;
	d->error = d->ret ? event_error_name(d->op->source, d->ret) : NULL;
	for (unsigned i = 0; i < PART_COUNT; i++)
		d->part_ns[i] = parts_get(&a->parts, (enum part)i);
	for (uint32_t i = 0; i < a->parts.nculprits; i++) {
		const struct part_culprit *c = &a->parts.c[i];
		struct call_taker t = { (enum part)c->part, c->ns, culprit_text(a, c->culprit) };

		if (!vec_push(&d->takers, t))
			return err_nomem(e);
	}
	return add_inner_calls(a) && add_stack(a) && !a->nomem ? 0 : err_nomem(e);
}

int query_call_end(struct query_call *a, const struct call_detail **found, struct err *e)
{
	int rc = still_open(a, e);

	if (rc >= 0 && a->have)
		rc = complete_found(a, e);
	*found = rc >= 0 && a->have ? &a->found : NULL;
	return rc;
}

void query_call_free(struct query_call *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->rings.n; i++)
		free(a->rings.v[i]);
	vec_free(&a->rings);
	vec_free(&a->inside);
	vec_free(&a->found.takers);
	vec_free(&a->found.inner);
	vec_free(&a->found.stack);
	arena_free(&a->texts);
	open_calls_free(&a->open);
	paused_free(&a->paused);
	line_free(a->line);
	free(a);
}
