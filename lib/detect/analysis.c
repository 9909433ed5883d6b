/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The analysis of a stream: events go to attribution, whose spans go to the ledger and the
 * detectors (dispatch.c); each second of event time is evaluated (settle.c). Records carry losses,
 * samples, open calls and the limits of the recording.
 */
#include "lib/detect/analysis.h"

#include <stdlib.h>

#include "lib/base/bisect.h"
#include "lib/base/compiler.h"
#include "lib/account/analysis_state.h"
#include "lib/detect/detect_internal.h"

struct cause *cause_new(struct world *w, const struct cause_options *opt, struct cause_sink *sink)
{
	struct cause *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->w = w;
	c->sink = sink;
	if (opt)
		c->opt = *opt;
	if (c->opt.min_share <= 0)
		c->opt.min_share = 0.01;
	if (c->opt.min_lost_ns == 0)
		c->opt.min_lost_ns = 10000000;
	if (c->opt.min_count == 0)
		c->opt.min_count = 5;
	analysis_listener_init(c);
	c->line = line_new(w, &c->line_sink);
	c->live = live_new(w, detectors_memory, c);
	c->graphs = graphs_new(w, detectors_graph, c);
	c->tracks = path_tracks_new(w);
	if (!c->line || !c->live || !c->graphs || !c->tracks || !detectors_start(&c->detectors)) {
		cause_free(c);
		return NULL;
	}
	c->tally.culprits = line_culprits(c->line);
	return c;
}

void cause_free(struct cause *c)
{
	if (!c)
		return;
	map_free(&c->told_ids);
	classes_free(&c->classes);
	launched_names_free(&c->kernels);
	tally_free(&c->tally);
	lost_time_free(&c->lost_time);
	vec_free(&c->leaving.v);
	cause_asleep_free(&c->asleep);
	cause_disks_free(&c->disks);
	disk_others_free(&c->disk_others);
	cause_files_free(&c->files);
	cause_peers_free(&c->peers);
	cause_cgroups_free(&c->cgroups);
	cause_nodes_free(&c->nodes);
	priorities_free(&c->priorities);
	where_free(&c->standing);
	detectors_free(&c->detectors);
	live_free(c->live);
	graphs_free(c->graphs);
	path_tracks_free(c->tracks);
	gains_free(&c->gains);
	collectives_free(&c->collectives);
	clocks_free(&c->clocks);
	open_calls_free(&c->open);
	uncovered_free(&c->uncovered);
	paused_free(&c->paused);
	line_free(c->line);
	free(c);
}

static void set_start(struct cause *c, int64_t ns)
{
	if (c->has_start)
		return;
	c->has_start = true;
	c->start_ns = c->end_ns = ns;
}

/* Events are missing between these times; how many is the larger of what blocks and records say. */
static void forward_lost_events(struct cause *c, int64_t since_ns, int64_t until_ns)
{
	uint64_t all = c->lost_by_block > c->lost_by_record ? c->lost_by_block : c->lost_by_record;

	line_lost(c->line, since_ns, until_ns, all - c->lost_told);
	c->lost_told = all;
}

/* A recorder sees calls and waits from their beginning on, so that none began before it did. */
#define BEFORE_NS 1000000000

/* An event that lasted longer than there was time says nothing: it is as good as lost. */
ALWAYS_INLINE bool is_impossible(const struct cause *c, const struct event *ev)
{
	return ev->dur_ns > (uint64_t)ev->end_ns - (uint64_t)c->earliest_ns &&
	       ev->end_ns >= c->earliest_ns && c->has_session;
}

COLD_CALL static void drop_impossible(struct cause *c, const struct event *ev)
{
	c->lost_by_block++;
	c->lost_by_record++;
	forward_lost_events(c, c->has_pane ? c->previous_end_ns : INT64_MIN, ev->end_ns);
}

/* Seconds of event time that are over before this event are looked at, and its own begins. */
static int begin_pane(struct cause *c, int64_t ns, struct err *e)
{
	int64_t pane = ns / TALLY_PANE_NS;
	int rc = 0;

	if (c->has_pane) {
		rc = cause_settle(c, c->pane, e);
		if (rc == 0)
			rc = cause_ended_settle(c, e);
	}
	c->has_pane = true;
	c->pane = pane;
	/* Of times before 0 the second numbered 0 ends where that numbered -1 begins. */
	c->pane_end_ns = pane < 0 ? pane * TALLY_PANE_NS + 1 : (pane + 1) * TALLY_PANE_NS;
	return rc < 0 ? rc : 0;
}

/* Whatever needs an event besides attribution: detectors, disks, files, peers, exits. */
static int observe_event(struct cause *c, const struct event *ev, bool late, struct err *e)
{
	if (!late && ev->op == OP_PROC_EXIT) {
		const struct world_ctx *ctx = world_get_ctx(c->w, ev->ctx);

		cause_asleep_gone(&c->asleep, ctx ? ctx->thread : 0);
		cause_killed_event(&c->killed, c->w, ev);
	}
	if (!late &&
	    (!detectors_event(c, ev) || (ev->op == OP_PROC_EXIT && !cause_ended_event(c, ev))))
		return err_nomem(e);
	if ((ev->op == OP_IO_BLOCK && !cause_disks_event(&c->disks, c->w, ev)) ||
	    ((ev->op == OP_IO_FILE || ev->op == OP_MEM_FAULT) &&
	     !cause_files_event(&c->files, c->w, ev)) ||
	    (ev->op == OP_NET_SOCKET && !cause_peers_event(&c->peers, c->w, ev)))
		return err_nomem(e);
	return 0;
}

/* One event that came too late for its place. */
static int late_event(struct cause *c, const struct event *ev, struct err *e)
{
	int rc = observe_event(c, ev, true, e);

	return rc < 0 ? rc : line_event(c->line, ev, true, e);
}

ALWAYS_INLINE int handle_event(struct cause *c, const struct event *ev, struct err *e)
{
	int rc;

	if (!c->has_pane || ev->end_ns >= c->pane_end_ns) {
		set_start(c, event_start(ev));
		rc = begin_pane(c, ev->end_ns, e);
		if (rc < 0)
			return rc;
	}
	c->previous_end_ns = ev->end_ns;
	if (!detectors_want_no_event(&c->detectors, ev->op)) {
		rc = observe_event(c, ev, false, e);
		if (rc < 0)
			return rc;
	}
	if (ev->end_ns > c->end_ns)
		c->end_ns = ev->end_ns;
	return line_event(c->line, ev, false, e);
}

/* As many of these events as are looked at ahead. */
static size_t batch_of(struct cause *c, const struct event *ev, const struct event *end,
		       struct classes_batch *b)
{
	size_t n = end - ev < CLASSES_AHEAD ? (size_t)(end - ev) : CLASSES_AHEAD;

	classes_ahead(&c->classes, ev, n, b);
	return n;
}

static int analyze_events(struct cause *c, const struct stream_item *item, struct err *e)
{
	const struct event *ev = item->events, *end = ev + item->n;
	struct classes_batch batch[2], *b = &batch[0];
	size_t n = batch_of(c, ev, end, b);
	int rc;

	if (item->lost) {
		c->lost_by_block += item->lost;
		forward_lost_events(c, c->has_pane ? c->previous_end_ns : INT64_MIN,
				    item->n ? ev->end_ns : item->watermark_ns);
	}
	while (n) {
		struct classes_batch *after = &batch[b == batch];
		size_t more = batch_of(c, ev + n, end, after);

		const struct class_ahead *of = b->of;

		classes_next(&c->classes, b);
		for (const struct event *until = ev + n; ev != until; ev++) {
			c->ahead = *of;
			of += ev->depth == 0;
			if (is_impossible(c, ev)) {
				drop_impossible(c, ev);
				continue;
			}
			rc = item->late ? late_event(c, ev, e) : handle_event(c, ev, e);
			if (rc < 0)
				return rc;
		}
		b = after;
		n = more;
	}
	return c->nomem ? err_nomem(e) : 0;
}

/* The first reading of a machine's clock says which of its processes are younger than the
 * recording. If no machine is named there is only one; its first reading precedes its events or is
 * missing. */
static bool add_boot_time(struct cause *c, const struct rec_CLOCK *k, bool has_boot, uint32_t node)
{
	if (!has_boot || k->boot_ns <= 0 || (!node && c->has_pane))
		return true;
	return culprits_begin(c->tally.culprits, node, (uint64_t)k->boot_ns);
}

/* Calls of the thread's process so far, for programs that follow a recording. */
static uint64_t calls_of(const struct cause *c, uint32_t thread)
{
	const struct world_thread *t = world_get_thread(c->w, thread);

	return t && t->process < c->tally.processes.n ? c->tally.processes.v[t->process].calls : 0;
}

static int handle_record(struct cause *c, const struct record *r, struct err *e)
{
	uint32_t node;
	bool ok = detectors_record(c, r);

	switch (r->kind) {
	case RECORD_SESSION:
		set_start(c, r->u.SESSION.start_ns);
		if (!c->has_session || r->u.SESSION.start_ns < c->session_ns)
			c->session_ns = r->u.SESSION.start_ns;
		c->earliest_ns = c->session_ns - BEFORE_NS;
		c->has_session = true;
		c->sampled |=
			REC_HAS(r, SESSION, cpu_samples_hz) && r->u.SESSION.cpu_samples_hz > 0;
		if (REC_HAS(r, SESSION, pid))
			ok &= culprits_recorded_by(c->tally.culprits, r->u.SESSION.node,
						   r->u.SESSION.pid, r->u.SESSION.pid_start_ns);
		break;
	case RECORD_CLOCK:
		node = REC_HAS(r, CLOCK, node) ? r->u.CLOCK.node : 0;
		ok &= add_boot_time(c, &r->u.CLOCK, REC_HAS(r, CLOCK, boot_ns), node) &&
		      cause_nodes_record(&c->nodes, c->w, r);
		if (c->has_start && r->u.CLOCK.mono_ns > c->end_ns)
			c->end_ns = r->u.CLOCK.mono_ns;
		if (REC_HAS(r, CLOCK, source) && bytes_equal(r->u.CLOCK.source, bytes_of("end")))
			cause_asleep_ended(&c->asleep, c->w, node, r->u.CLOCK.mono_ns);
		break;
	case RECORD_NAME:
		world_rename(c->w, r->u.NAME.thread, r->u.NAME.time_ns,
			     world_string(c->w, r->u.NAME.comm));
		ok &= !world_failed(c->w);
		break;
	case RECORD_KERNEL:
		if (!launched_name(&c->kernels, r))
			cause_gives_up(c);
		break;
	case RECORD_FILE:
		ok &= cause_files_record(&c->files, r);
		break;
	case RECORD_SOCKET:
	case RECORD_PEER:
		ok &= cause_peers_record(&c->peers, r);
		break;
	case RECORD_PRIORITY:
		ok &= priorities_record(&c->priorities, c->w, r);
		break;
	case RECORD_LOSS:
		c->lost_by_record += r->u.LOSS.count;
		forward_lost_events(c, REC_HAS(r, LOSS, since_ns) ? r->u.LOSS.since_ns : INT64_MIN,
				    REC_HAS(r, LOSS, until_ns) ? r->u.LOSS.until_ns : c->end_ns);
		break;
	case RECORD_UNCOVERED:
	case RECORD_COVERAGE:
		ok &= uncovered_record(&c->uncovered, r);
		break;
	case RECORD_PAUSED:
		ok &= paused_record(&c->paused, r);
		break;
	case RECORD_COST:
		c->traps_known |= REC_HAS(r, COST, calls_ns);
		c->traps_ns += r->u.COST.calls_ns;
		c->host_programs_ns += r->u.COST.host_ns;
		break;
	case RECORD_SAMPLED:
		if (r->u.SAMPLED.op <= UINT16_MAX && world_op(c->w, (uint16_t)r->u.SAMPLED.op) &&
		    world_op(c->w, (uint16_t)r->u.SAMPLED.op)->flags & OP_CALL)
			c->left_out += r->u.SAMPLED.left_out;
		break;
	case RECORD_OPEN:
		if (!r->u.OPEN.at_end)
			break;
		if (c->has_start && r->u.OPEN.time_ns > c->end_ns)
			c->end_ns = r->u.OPEN.time_ns;
		ok &= open_calls_add(&c->open, &r->u.OPEN);
		break;
	case RECORD_ASLEEP:
		ok &= cause_asleep_record(&c->asleep, c->w, r, calls_of(c, r->u.ASLEEP.thread));
		break;
	case RECORD_NODE:
	case RECORD_SAMPLE:
		gpu_memory_record(&c->gpu_memory, r);
		ok &= cause_cgroups_record(&c->cgroups, r) &&
		      cause_nodes_record(&c->nodes, c->w, r) &&
		      disk_others_record(&c->disk_others, r);
		break;
	default:
		break;
	}
	return ok ? 0 : err_nomem(e);
}

/* How many of the events, from the first on, end in the same second as that. */
static size_t same_pane(const struct stream_item *item)
{
	int64_t pane = item->events[0].end_ns / TALLY_PANE_NS;
	size_t low = 1, high = item->n;

	if (item->late || item->events[high - 1].end_ns / TALLY_PANE_NS == pane)
		return high;
	bisect(i, low, high, item->events[i].end_ns / TALLY_PANE_NS == pane);
	return low;
}

/* Second by second, so that reports of a second use the tracks up to its end however the stream is
 * cut into items. The ledger gets the events before the tracks do. */
static int analyze_item(struct cause *c, struct stream_item item, struct err *e)
{
	size_t left = item.n;
	int rc;

	do {
		item.n = left ? same_pane(&item) : 0;
		rc = analyze_events(c, &item, e);
		if (rc == 0)
			rc = path_tracks_item(c->tracks, &item, e);
		left -= item.n;
		item.events += item.n;
		item.n = left;
		item.lost = 0;
	} while (left && rc == 0);
	return rc;
}

int cause_item(struct cause *c, const struct stream_item *item, struct err *e)
{
	int rc;

	if (item->kind == STREAM_EVENTS)
		return analyze_item(c, *item, e);
	rc = path_tracks_item(c->tracks, item, e);
	if (rc)
		return rc;
	if (item->kind == STREAM_RECORD)
		return handle_record(c, item->record, e);
	if (item->kind == STREAM_SEGMENT)
		classes_renamed(&c->classes);
	return 0;
}

struct cause_open {
	const struct rec_OPEN *call;
	uint32_t tgid, tid;
};

/* Inner calls first; threads by what they are called, not by ids that depend on the file. */
static int open_order(const void *a, const void *b)
{
	const struct cause_open *x = a, *y = b;

	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->call->depth > y->call->depth ? -1 : x->call->depth < y->call->depth;
}

/* Calls that had not returned when the recording ended, nor do in another file that goes on with
 * it. */
static int still_open(struct cause *c, struct err *e)
{
	VEC(struct cause_open) all = { 0 };
	int rc = 0;

	for (size_t i = 0; i < c->open.v.n && rc == 0; i++) {
		const struct rec_OPEN *call = &c->open.v.v[i];
		const struct world_thread *th = world_get_thread(c->w, call->thread);
		struct cause_open o = { call, th ? world_process_pid(c->w, th->process) : 0,
					th ? th->tid : 0 };

		if (open_calls_named(&c->open, call) &&
		    !line_went_on(c->line, call->thread, call->time_ns) && !vec_push(&all, o))
			rc = err_nomem(e);
	}
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), open_order);
	for (size_t i = 0; i < all.n && rc >= 0; i++) {
		const struct rec_OPEN *o = all.v[i].call;
		/* Other machines' recordings may go on for long. */
		int64_t end_ns = o->time_ns < c->end_ns ? o->time_ns : c->end_ns;

		c->ahead = (struct class_ahead){ .cell = hist_place(
							 (uint64_t)(end_ns - o->start_ns)) };
		rc = line_open(c->line, o->thread, (uint16_t)o->op, o->start_ns, o->depth, o->stack,
			       end_ns, e);
	}
	vec_free(&all);
	return rc;
}

/* A wait that goes on in a recording that has not ended. */
static int still_asleep(void *cause, uint32_t thread, struct event *ev, struct err *e)
{
	struct cause *c = cause;

	if (is_impossible(c, ev))
		return 1;
	set_start(c, event_start(ev));
	if (ev->end_ns > c->end_ns)
		c->end_ns = ev->end_ns;
	return observe_event(c, ev, false, e);
}

int cause_finish(struct cause *c, struct err *e)
{
	struct record r = { .kind = RECORD_ANALYSIS };
	struct buf body = { 0 };
	int rc = cause_asleep_tell(&c->asleep, c->w, c->line, still_asleep, c, e);

	if (rc < 0)
		return rc;
	rc = still_open(c, e);
	if (rc < 0)
		return rc;
	if (c->nomem)
		return err_nomem(e);
	if (!detectors_end(c))
		return err_nomem(e);
	rc = path_tracks_finish(c->tracks, e);
	if (rc == 0)
		rc = cause_settle(c, INT64_MAX, e);
	if (rc < 0)
		return rc;
	cause_analysis_body(c, &body);
	if (body.failed) {
		rc = err_nomem(e);
		goto out;
	}
	REC_SET(&r, ANALYSIS, time_ns, c->end_ns);
	REC_SET(&r, ANALYSIS, tool, bytes_of("ingero.analysis/1"));
	REC_SET(&r, ANALYSIS, chains, c->chains);
	REC_SET(&r, ANALYSIS, body, buf_bytes(&body));
	rc = c->sink->record(c->sink, &r, e);
out:
	buf_free(&body);
	return rc;
}
