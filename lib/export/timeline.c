/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lays out events as nested slices on tracks. A track stores by depth where its slices end, and
 * where slices begin that nothing encloses yet: enough to see whether an event fits beside them or
 * around them.
 */
#include "lib/export/timeline.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>


/* Kinds of lanes that are no op. */
#define LANE_ACROSS   (UINT64_C(1) << 32)
#define LANE_CPU      (UINT64_C(2) << 32) /* | cpu */
#define LANE_FINDINGS (UINT64_C(3) << 32)

#define LANE_LOST   (UINT64_C(4) << 32)
#define LANE_PAUSED (UINT64_C(5) << 32) /* | tier */
#define LANE_STEPS  (UINT64_C(6) << 32) /* | loop */

void timeline_init(struct timeline *tl, const struct timeline_sink *sink, void *ctx,
		   const struct world *w, const struct late_names *told)
{
	*tl = (struct timeline){ .sink = sink, .ctx = ctx };
	tl->tracks.w = w;
	tl->tracks.told = told;
	tl->tracks.told_new = sink->track;
	tl->tracks.ctx = ctx;
}

bool timeline_show_steps(struct timeline *tl)
{
	return step_slices_init(&tl->steps, tl->tracks.w);
}

static unsigned depth_of(const struct event *ev)
{
	return ev->depth < TRACKS_DEPTHS ? ev->depth : TRACKS_DEPTHS - 1;
}

static bool is_instant(const struct op_def *op)
{
	return op && op->track == TRACK_INSTANT;
}

static uint32_t process_of(const struct timeline *tl, const struct track *t)
{
	if (t->kind == LINE_THREAD)
		return world_thread_process_id(tl->tracks.w, t->subject);
	return t->kind == LINE_PROCESS ? t->subject : 0;
}

/* What it is called by, if not its op. */
static uint32_t name_of(const struct timeline *tl, const struct event *ev, const struct op_def *op)
{
	uint64_t v;

	uint16_t column = ev->op == OP_SCHED_OCCUPIED  ? COL_OCCUPANT
			  : ev->op == OP_SCHED_OUTSIDE ? COL_RELEASER
						       : COL_NAME;

	if (!op || !event_get(ev, op, column, &v))
		return 0;
	if (column == COL_NAME)
		return late_names_word(tl->tracks.told, v);
	return world_thread_name(tl->tracks.w, (uint32_t)v, ev->end_ns);
}

/* Begins a slice, or puts an instant. */
static bool put_slice(struct timeline *tl, const struct track *t, const struct track *owner,
		      const struct event *ev, const struct op_def *op)
{
	struct timeline_slice s = { .start_ns = timeline_start(ev),
				    .end_ns = timeline_end(ev),
				    .event = ev,
				    .op = op,
				    .process = process_of(tl, owner),
				    .stack = ev->stack };
	struct arrows_of arrows;

	if (op && (op->source == SOURCE_SCHED || op->source == SOURCE_MARK))
		s.name = name_of(tl, ev, op);
	if (op && arrows_wanted(ev, op)) {
		if (!arrows_event(&tl->arrows, s.process, ev, op, &arrows))
			return false;
		s.arrows = &arrows;
	}
	if (is_instant(op)) {
		s.start_ns = s.end_ns;
		return tl->sink->instant(tl->ctx, t, &s);
	}
	return tl->sink->begin(tl->ctx, t, &s);
}

/* Puts an event on a lane; where there are too many lanes, as an instant on the line itself. */
static bool put_on_lane(struct timeline *tl, const struct track *parent, uint64_t what,
			const char *name, const struct event *ev, const struct op_def *op)
{
	int64_t start = timeline_start(ev), end = timeline_end(ev);
	struct timeline_slice s = { .start_ns = end,
				    .end_ns = end,
				    .event = ev,
				    .op = op,
				    .process = process_of(tl, parent),
				    .stack = ev->stack };
	bool full;
	struct track *t = tracks_lane(&tl->tracks, parent, what, name, is_instant(op) ? end : start,
				      end, &full);

	if (!t)
		return full && tl->sink->instant(tl->ctx, parent, &s);
	return put_slice(tl, t, parent, ev, op) &&
	       (is_instant(op) || tl->sink->end(tl->ctx, t, end));
}

/* Whether an event fits on the line: behind everything on it, or around everything deeper. */
static bool fits_on_track(const struct track_taken *t, const struct event *ev, int64_t start)
{
	unsigned depth = depth_of(ev);

	if (start >= t->cursor_ns)
		return true;
	if (timeline_end(ev) < t->cursor_ns)
		return false;
	for (unsigned d = 0; d <= depth; d++)
		if (start < t->last_ns[d])
			return false;
	for (unsigned d = depth + 1; d < TRACKS_DEPTHS; d++)
		if (start >= t->first_ns[d])
			return false;
	return true;
}

static void mark_taken(struct track_taken *t, const struct event *ev, const struct op_def *op,
		       int64_t start)
{
	unsigned depth = depth_of(ev);
	int64_t end = timeline_end(ev);

	if (end > t->cursor_ns)
		t->cursor_ns = end;
	if (is_instant(op))
		return;
	/* What was deeper is inside it, or its outer calls were lost: then a later call still has
	 * to enclose it. */
	for (unsigned d = depth + 1; d < TRACKS_DEPTHS; d++) {
		start = t->first_ns[d] < start ? t->first_ns[d] : start;
		t->first_ns[d] = INT64_MAX;
	}
	if (depth && start < t->first_ns[depth])
		t->first_ns[depth] = start;
	if (end > t->last_ns[depth])
		t->last_ns[depth] = end;
}

/* Containers first: by start, the longer one before, then the less deep; those equal in all as they
 * came. */
static bool is_before(const struct event *a, const struct event *b)
{
	int64_t s = timeline_start(a), u = timeline_start(b);

	if (s != u)
		return s < u;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns;
	return a->depth < b->depth;
}

static void sort_by_start(const struct event *held, size_t n, uint16_t *at)
{
	for (size_t i = 0; i < n; i++) {
		size_t k = i;

		for (; k > 0 && is_before(&held[i], &held[at[k - 1]]); k--)
			at[k] = at[k - 1];
		at[k] = (uint16_t)i;
	}
}

/* Puts all events held for a line on it. */
static bool put_held_events(struct timeline *tl, struct track *t)
{
	const struct event *held = t->held.v;
	struct track_taken was = t->taken; /* before the open slice began */
	int64_t open[TIMELINE_HELD + 1];
	uint16_t at[TIMELINE_HELD + 1];
	size_t n = t->held.n, nopen = 0;
	bool ok = true;

	sort_by_start(held, n, at);
	for (size_t i = 0; ok && i < n; i++) {
		const struct event *ev = &held[at[i]];
		const struct op_def *op = world_op(tl->tracks.w, ev->op);
		int64_t end = timeline_end(ev), start = is_instant(op) ? end : timeline_start(ev);

		while (ok && nopen && open[nopen - 1] <= start)
			ok = tl->sink->end(tl->ctx, t, open[--nopen]);
		if (!ok)
			break;
		if (!nopen)
			was = t->taken;
		/* Nothing is around the open slice; inside it there may be slices put before. */
		if ((nopen && end > open[nopen - 1]) || !fits_on_track(&was, ev, start)) {
			ok = put_on_lane(tl, t, LANE_ACROSS, "across", ev, op);
			continue;
		}
		if (!nopen)
			mark_taken(&t->taken, ev, op, start);
		ok = put_slice(tl, t, t, ev, op);
		if (!is_instant(op))
			open[nopen++] = end;
	}
	while (ok && nopen)
		ok = tl->sink->end(tl->ctx, t, open[--nopen]);
	t->held.n = 0;
	return ok;
}

/* Puts an event on a thread's line. An outermost call completes the events held. */
static bool put_on_thread(struct timeline *tl, struct track *t, const struct event *ev,
			  const struct op_def *op)
{
	bool outermost = op->flags & OP_CALL && ev->depth == 0;

	if (outermost && t->held.n == 0 && timeline_start(ev) >= t->taken.cursor_ns) {
		mark_taken(&t->taken, ev, op, timeline_start(ev));
		return put_slice(tl, t, t, ev, op) && tl->sink->end(tl->ctx, t, timeline_end(ev));
	}
	if (!vec_push(&t->held, *ev))
		return false;
	if (is_instant(op)) /* whatever it says */
		t->held.v[t->held.n - 1].dur_ns = 0;
	return (!outermost && t->held.n < TIMELINE_HELD) || put_held_events(tl, t);
}

static bool put_on_cpu(struct timeline *tl, const struct event *ev, const struct op_def *op)
{
	const struct world_ctx *c = world_get_ctx(tl->tracks.w, ev->ctx);
	struct track *node = tracks_of_node(&tl->tracks, c ? c->node : 0);
	uint64_t cpu = 0;
	char name[32];

	if (c && c->node)
		tl->tracks.node = c->node;
	event_get(ev, op, COL_CPU, &cpu);
	snprintf(name, sizeof(name), "CPU %" PRIu64, cpu);
	return node && put_on_lane(tl, node, LANE_CPU ^ cpu, name, ev, op);
}

static const char *lane_name(const struct op_def *op)
{
	switch (op ? op->id : 0) {
	case 0:
		return "unknown";
	case OP_IO_BLOCK:
		return "block I/O";
	case OP_IO_FILE:
		return "waits for files";
	case OP_NET_SOCKET:
		return "waits for the network";
	case OP_MARK_RANGE:
		return "marked ranges";
	case OP_SCHED_OUTSIDE:
		return "waits of threads outside";
	default:
		return op->name;
	}
}

static bool put_event(struct timeline *tl, const struct event *ev)
{
	const struct op_def *op = world_op(tl->tracks.w, ev->op);
	struct track *t;

	if (op && op->track == TRACK_CPU)
		return put_on_cpu(tl, ev, op);
	t = tracks_of_ctx(&tl->tracks, ev->ctx);
	if (!t)
		return false;
	if (op && op->track != TRACK_ASYNC && t->kind == LINE_THREAD)
		return put_on_thread(tl, t, ev, op);
	if (is_instant(op))
		return put_slice(tl, t, t, ev, op);
	return put_on_lane(tl, t, ev->op, lane_name(op), ev, op);
}

/* Who has which rank: told, or by the communicator a process joins first. */
static bool rank_of(struct timeline *tl, const struct event *ev)
{
	const struct op_def *op = world_op(tl->tracks.w, ev->op);
	struct track *t;
	uint64_t rank;

	if (!op || !event_get(ev, op, COL_RANK, &rank) || op_column(op, COL_COMM_ID) < 0)
		return true;
	t = tracks_of_ctx(&tl->tracks, ev->ctx);
	return t &&
	       (!process_of(tl, t) || tracks_rank(&tl->tracks, process_of(tl, t), (uint32_t)rank));
}

/* Puts a slice or an instant on a lane of a machine. */
static bool put_interval(struct timeline *tl, struct track *node, uint64_t what, const char *name,
			 const struct timeline_slice *s)
{
	struct track *t;
	bool full;

	if (!node)
		return false;
	t = tracks_lane(&tl->tracks, node, what, name, s->start_ns, s->end_ns, &full);
	if (!t)
		return full;
	if (s->start_ns == s->end_ns)
		return tl->sink->instant(tl->ctx, t, s);
	return tl->sink->begin(tl->ctx, t, s) && tl->sink->end(tl->ctx, t, s->end_ns);
}

/* Shows where events are missing. */
static bool put_loss(struct timeline *tl, const struct rec_LOSS *r, const struct record *rec)
{
	int64_t since = REC_HAS(rec, LOSS, since_ns) ? r->since_ns : r->until_ns;
	struct timeline_slice s = { .start_ns = since > 0 ? since : 0 };
	uint32_t node = REC_HAS(rec, LOSS, node) ? r->node : tl->tracks.node;
	char text[96];

	s.end_ns = r->until_ns > s.start_ns ? r->until_ns : s.start_ns;
	snprintf(text, sizeof(text), "lost %" PRIu64 " events: %s", r->count,
		 loss_reason_text(r->reason));
	s.lost = text;
	return put_interval(tl, tracks_of_node(&tl->tracks, node ? node : 1), LANE_LOST,
			    "lost events", &s);
}

static int on_record(struct timeline *tl, const struct record *r, struct err *e)
{
	struct track *t;
	bool ok = true;

	switch (r->kind) {
	case RECORD_SAMPLE:
		if (!isfinite(r->u.SAMPLE.value))
			return 0;
		t = tracks_of_sample(&tl->tracks, &r->u.SAMPLE, r);
		ok = t &&
		     tl->sink->value(tl->ctx, t, r->u.SAMPLE.time_ns > 0 ? r->u.SAMPLE.time_ns : 0,
				     r->u.SAMPLE.value);
		break;
	case RECORD_PLACE:
		if (REC_HAS(r, PLACE, rank) && REC_HAS(r, PLACE, process))
			ok = tracks_rank(&tl->tracks, r->u.PLACE.process, r->u.PLACE.rank);
		break;
	case RECORD_NAME:
		ok = tracks_named(&tl->tracks, r->u.NAME.thread);
		break;
	case RECORD_CLOCK:
		ok = !record_tells_time(r) || tl->sink->clock(tl->ctx, &r->u.CLOCK, r);
		break;
	case RECORD_OPEN:
		if (world_get_thread(tl->tracks.w, r->u.OPEN.thread))
			ok = open_calls_add(&tl->open, &r->u.OPEN);
		break;
	case RECORD_PAUSED:
		ok = paused_record(&tl->paused, r);
		break;
	case RECORD_LOSS:
		ok = put_loss(tl, &r->u.LOSS, r);
		break;
	case RECORD_CHAIN:
		return chain_list_add(&tl->chains, r, e);
	default:
		break;
	}
	return ok ? 0 : err_nomem(e);
}

/* A step stands on a lane of its loop, below the process. name: of the loop. */
static bool put_step(struct timeline *tl, const struct loop_step *step, const char *name)
{
	uint32_t of = world_thread_process_id(tl->tracks.w, step->thread);
	struct track *process = tracks_of_process(&tl->tracks, of), *t;
	struct timeline_slice s = { .start_ns = step->begin_ns > 0 ? step->begin_ns : 0,
				    .end_ns = step->end_ns > 0 ? step->end_ns : 0 };
	char text[40];
	bool full;

	if (!process)
		return false;
	snprintf(text, sizeof(text), "%sstep %" PRIu64, step->certain ? "" : "~", step->number);
	s.step = text;
	t = tracks_lane(&tl->tracks, process, LANE_STEPS | step->loop, name, s.start_ns, s.end_ns,
			&full);
	return t && tl->sink->begin(tl->ctx, t, &s) && tl->sink->end(tl->ctx, t, s.end_ns);
}

/* Loops of two threads may be the same line: all but those of a process's first thread say whose
 * they are. */
static void print_steps(struct timeline *tl, const struct loop_step *step, struct buf *out)
{
	const struct world_thread *th = world_get_thread(tl->tracks.w, step->thread);
	const struct world_process *p = th ? world_get_process(tl->tracks.w, th->process) : NULL;
	struct bytes name =
		world_text(tl->tracks.w, world_thread_name(tl->tracks.w, step->thread, INT64_MAX));

	step_slices_print_loop(&tl->steps, step->loop, out);
	if (!p || p->tgid == th->tid)
		return;
	buf_puts(out, ", ");
	buf_add(out, name.p, name.n);
	buf_printf(out, "%stid %" PRIu32, name.n ? " " : "", th->tid);
}

static bool put_steps(struct timeline *tl)
{
	struct buf name = { 0 };
	int64_t named = -1;
	bool ok = true;

	for (size_t i = 0; ok && i < tl->steps.v.n; i++) {
		const struct loop_step *step = &tl->steps.v.v[i];

		if (!step_slices_is_valid(&tl->steps, step))
			continue;
		if (named != step->loop) {
			buf_reset(&name);
			print_steps(tl, step, &name);
			named = step->loop;
		}
		ok = !name.failed && put_step(tl, step, buf_text(&name));
	}
	buf_free(&name);
	tl->steps.v.n = 0;
	return ok;
}

int timeline_item(struct timeline *tl, const struct stream_item *item, struct err *e)
{
	int rc = step_slices_item(&tl->steps, item, e);
	bool ok = true;

	if (rc)
		return rc;
	if (tl->steps.v.n >= STEP_SLICES_HELD && !put_steps(tl))
		return err_nomem(e);
	if (item->kind == STREAM_RECORD)
		return on_record(tl, item->record, e);
	for (size_t i = 0; ok && item->kind == STREAM_EVENTS && i < item->n; i++) {
		const struct event *ev = &item->events[i];

		tl->newest_ns = ev->end_ns > tl->newest_ns ? ev->end_ns : tl->newest_ns;
		ok = put_event(tl, ev) && (ev->op >> 8 != SOURCE_NCCL || rank_of(tl, ev));
	}
	return ok ? 0 : err_nomem(e);
}

static int by_start(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	return (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

/* The machine a chain is about: by its name in the evidence, else the first. */
static struct track *node_of(struct timeline *tl, const struct finding *c)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i <= world_count(tl->tracks.w, WORLD_NODE) && !found; i++)
		if (bytes_equal(world_text(tl->tracks.w, world_get_node(tl->tracks.w, i)->name),
				c->node))
			found = i;
	return tracks_of_node(&tl->tracks, found ? found : 1);
}

static bool put_finding(struct timeline *tl, const struct finding *c)
{
	int64_t from = c->first_ns > 0 ? c->first_ns : 0,
		to = c->last_ns > from ? c->last_ns : from;
	struct timeline_slice s = { .start_ns = from, .end_ns = to, .chain = c };

	return put_interval(tl, node_of(tl, c), LANE_FINDINGS, "findings", &s);
}

/* Whether something no deeper ended later on the line: then the open call has returned. */
static bool has_later_end(const struct track *t, unsigned depth, int64_t ns)
{
	for (unsigned d = 0; d <= depth; d++)
		if (t->taken.last_ns[d] > ns)
			return true;
	return false;
}

/* Puts calls of one depth that had not returned, nor did so in another file of the recording. The
 * line needs the outermost first; the records may have any order. */
static bool put_open_calls(struct timeline *tl, unsigned depth)
{
	bool ok = true;

	for (size_t i = 0; ok && i < tl->open.v.n; i++) {
		const struct rec_OPEN *r = &tl->open.v.v[i];
		struct timeline_slice s = { .start_ns = r->start_ns > 0 ? r->start_ns : 0,
					    .end_ns = INT64_MAX,
					    .op = world_op(tl->tracks.w, (uint16_t)r->op),
					    .stack = r->stack };
		struct track *t;
		uint64_t id;

		if (r->depth != depth || !open_calls_named(&tl->open, r) ||
		    !map_get(&tl->tracks.by_subject, (uint64_t)LINE_THREAD << 32 | r->thread, &id))
			continue;
		t = tracks_get(&tl->tracks, (uint32_t)id);
		ok = has_later_end(t, depth, r->time_ns) || tl->sink->open(tl->ctx, t, &s);
	}
	return ok;
}

/* Puts the pauses of a tier on a lane of the machine; an open one ends with the recording. */
static bool put_pauses(struct timeline *tl, const struct paused_list *l)
{
	struct buf text = { 0 };
	bool ok = true;

	buf_printf(&text, "%s not probed", op_tier_text(l->tier));
	for (size_t i = 0; ok && i < l->v.n; i++) {
		const struct paused_row *row = &l->v.v[i];
		struct timeline_slice s = { .start_ns = row->since_ns > 0 ? row->since_ns : 0,
					    .end_ns = row->until_ns < tl->newest_ns ? row->until_ns
										    : tl->newest_ns,
					    .lost = buf_text(&text) };

		s.end_ns = s.end_ns > s.start_ns ? s.end_ns : s.start_ns;
		ok = !text.failed &&
		     put_interval(tl, tracks_of_node(&tl->tracks, l->node ? l->node : 1),
				  LANE_PAUSED | l->tier, "not probed", &s);
	}
	buf_free(&text);
	return ok;
}

int timeline_finish(struct timeline *tl, struct err *e)
{
	int rc = step_slices_finish(&tl->steps, e);
	bool ok = true;

	if (rc)
		return rc;
	for (size_t i = 0; ok && i < tl->tracks.v.n; i++)
		ok = put_held_events(tl, tl->tracks.v.v[i]);
	for (unsigned d = 0; ok && d < TRACKS_DEPTHS; d++)
		ok = put_open_calls(tl, d);
	if (tl->chains.v.n)
		qsort(tl->chains.v.v, tl->chains.v.n, sizeof(*tl->chains.v.v), by_start);
	for (size_t i = 0; ok && i < tl->chains.v.n; i++)
		ok = put_finding(tl, &tl->chains.v.v[i]);
	for (size_t i = 0; ok && i < tl->paused.lists.n; i++)
		ok = put_pauses(tl, &tl->paused.lists.v[i]);
	ok = ok && put_steps(tl) && tracks_order(&tl->tracks, tl->sink->order);
	return ok ? 0 : err_nomem(e);
}

void timeline_free(struct timeline *tl)
{
	tracks_free(&tl->tracks);
	arrows_free(&tl->arrows);
	chain_list_free(&tl->chains);
	open_calls_free(&tl->open);
	paused_free(&tl->paused);
	step_slices_free(&tl->steps);
}
