/* SPDX-License-Identifier: Apache-2.0 */
/* Counts events per operation and adds up self and lost time of their spans, for ingero-stat. */
#include "lib/query/ops.h"

#include <stdlib.h>
#include <string.h>

#include "lib/query/group_by.h"
#include "lib/query/exact.h"
#include "lib/query/ops_internal.h"
#include "lib/query/ops_process.h"
#include "lib/query/sections.h"
#include "lib/account/ongoing_waits.h"
#include "lib/event/open_call.h"
#include "lib/attrib/line.h"
#include "lib/filter/pick.h"
#include "lib/world/stack_ends.h"

#define ERRORS_MAX 1024 /* operations and the codes they returned */

struct query_ops_run {
	struct line_sink sink;	   /* first: the sink is the run */
	struct ops_summary answer; /* rows and processes are filled in when asked */
	struct ops_counters counters;
	struct ops_processes processes;
	struct map metrics;	/* metric << 32 | node: its place in the answer's */
	struct map error_nodes; /* error << 32 | node: its place in the answer's */
	struct world *w;
	struct filter *sel;
	struct line *line;
	struct exact *exact; /* NULL: not requested; by and view, too */
	struct query_by *by;
	struct query_view *view;
	struct query_kernels *kernels;
	struct stack_ends stack_ends;
	struct stack_ends_sum stacks;
	struct cause_asleep asleep;
	struct open_calls open;
	struct coverage covered;
	VEC(struct event) going_on; /* of those, what was counted */
	uint64_t item_lost, record_lost;
	bool begun, nomem;
	int64_t first_ns, last_ns;
};

static struct ops_counter *counter_of(struct query_ops_run *r, const struct op_def *op)
{
	struct ops_counter *c = ops_counters_find(&r->counters, op);

	r->nomem |= !c;
	return c;
}

static struct ops_process *process_of_ctx(struct query_ops_run *r, uint32_t ctx)
{
	return ops_processes_find(&r->processes, r->w, ctx, &r->nomem);
}

/* node: world id, 0 not known. */
static void count_error_node(struct query_ops_run *r, uint32_t error, uint32_t node)
{
	uint64_t key = (uint64_t)error << 32 | node, at;

	if (map_get(&r->error_nodes, key, &at))
		r->answer.error_nodes.v[at].count++;
	else if (node &&
		 (!vec_push(&r->answer.error_nodes, (struct ops_error_node){ error, node, 1 }) ||
		  !map_put(&r->error_nodes, key, r->answer.error_nodes.n - 1)))
		r->nomem = true;
}

static void count_error(struct query_ops_run *r, const struct op_def *op, int32_t ret,
			uint32_t node)
{
	size_t i = 0;

	while (i < r->answer.errors.n &&
	       (r->answer.errors.v[i].op != op || r->answer.errors.v[i].ret != ret))
		i++;
	if (i == ERRORS_MAX)
		return;
	if (i == r->answer.errors.n &&
	    !vec_push(&r->answer.errors, (struct ops_error){ op, ret, 0 })) {
		r->nomem = true;
		return;
	}
	r->answer.errors.v[i].count++;
	count_error_node(r, (uint32_t)i, node);
}

static uint32_t gpu_of(const struct query_ops_run *r, uint32_t ctx)
{
	const struct world_ctx *c = world_get_ctx(r->w, ctx);

	return c ? c->gpu : 0;
}

static uint32_t node_of(const struct query_ops_run *r, uint32_t ctx)
{
	const struct world_ctx *c = world_get_ctx(r->w, ctx);

	return c ? c->node : 0;
}

static void count_event(struct query_ops_run *r, const struct event *ev, const struct op_def *op,
			bool late)
{
	uint64_t self_ns;
	struct ops_process *p;
	struct ops_counter *row;

	r->answer.selected++;
	row = counter_of(r, op);
	if (!row)
		return;
	if (!ops_counter_add(row, r->exact, ev->dur_ns) ||
	    !stack_ends_add(&r->stack_ends, ev->stack, ev->ctx))
		r->nomem = true;
	self_ns = late || op->track != TRACK_THREAD || !(op->flags & OP_CALL) ? ev->dur_ns : 0;
	row->row.self_ns += self_ns;
	p = process_of_ctx(r, ev->ctx);
	if (r->by && !query_by_event(r->by, ev, op, p ? p->process : 0, self_ns))
		r->nomem = true;
	if (!query_kernels_event(r->kernels, ev, op, p ? p->process : 0))
		r->nomem = true;
	if (op->flags & OP_CALL)
		ops_counter_add_gpu(row, gpu_of(r, ev->ctx), ev);
	if (!coverage_count_call(&r->covered, &row->covered, p ? p->process : 0, ev->op,
				 event_failed(ev->op, ev->ret), ev->end_ns, ev->dur_ns) ||
	    (p &&
	     !ops_process_count(&r->processes, &r->covered, p, ev, event_failed(ev->op, ev->ret))))
		r->nomem = true;
	if (p) {
		p->events++;
		p->calls += (op->flags & OP_CALL) != 0;
	}
	if (event_failed(ev->op, ev->ret) && op->flags & OP_CALL) {
		row->row.errors++;
		if (p)
			p->errors++;
		count_error(r, op, ev->ret, node_of(r, ev->ctx));
	}
}

/* Own and lost time of a piece of op, now known. */
static void add_time(struct query_ops_run *r, const struct line_piece *piece, uint64_t self_ns,
		     uint64_t lost_ns)
{
	struct ops_counter *row = counter_of(r, piece->op);
	const struct ops_process *p;

	if (row) {
		row->row.self_ns += self_ns;
		row->row.lost_ns += lost_ns;
	}
	if (!r->by)
		return;
	p = process_of_ctx(r, piece->ev->ctx);
	if (!query_by_add_time(r->by, piece->ev, piece->op, p ? p->process : 0, self_ns, lost_ns))
		r->nomem = true;
}

static void count_call(struct query_ops_run *r, const struct line_piece *piece)
{
	uint64_t ns = (uint64_t)(piece->end_ns - piece->start_ns);
	struct ops_process *p;

	add_time(r, piece, ns - piece->calls_ns, parts_sum(piece->parts, PARTS_HOST));
	p = piece->depth == 0 ? process_of_ctx(r, piece->ev->ctx) : NULL;
	if (p) {
		p->outer_calls++;
		p->in_calls_ns += ns;
	}
}

static void pass_to_view(struct query_ops_run *r, enum query_view_piece what,
			 const struct line_piece *piece)
{
	if (r->view && !query_view_piece(r->view, what, piece))
		r->nomem = true;
}

static void on_call(struct line_sink *s, const struct line_piece *piece)
{
	struct query_ops_run *r = (struct query_ops_run *)s;

	if (piece->open || !piece->ev)
		return;
	pass_to_view(r, QUERY_VIEW_CALL, piece);
	if (filter_event(r->sel, r->w, piece->ev))
		count_call(r, piece);
}

static void on_offcpu(struct line_sink *s, const struct line_piece *piece)
{
	struct query_ops_run *r = (struct query_ops_run *)s;
	struct ops_process *p;
	uint64_t lost;

	pass_to_view(r, QUERY_VIEW_OFFCPU, piece);
	if (!piece->ev || !filter_event(r->sel, r->w, piece->ev))
		return;
	lost = parts_sum(piece->parts, PARTS_HOST);
	add_time(r, piece, 0, lost);
	p = process_of_ctx(r, piece->ev->ctx);
	if (p)
		p->lost_ns += lost;
}

static void on_outside(struct line_sink *s, const struct line_piece *piece)
{
	pass_to_view((struct query_ops_run *)s, QUERY_VIEW_OUTSIDE, piece);
}

struct query_ops_run *query_ops_new(struct world *w, struct filter *sel)
{
	struct query_ops_run *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->sink = (struct line_sink){ on_call, on_outside, on_offcpu };
	r->w = w;
	r->sel = sel;
	r->line = line_new(w, &r->sink);
	r->kernels = query_kernels_new(w);
	if (!r->line || !r->kernels) {
		query_ops_free(r);
		return NULL;
	}
	query_kernels_set_coverage(r->kernels, &r->covered);
	return r;
}

void query_ops_free(struct query_ops_run *r)
{
	if (!r)
		return;
	ops_counters_free(&r->counters);
	ops_processes_free(&r->processes);
	vec_free(&r->answer.rows);
	vec_free(&r->answer.errors);
	vec_free(&r->answer.error_nodes);
	map_free(&r->error_nodes);
	vec_free(&r->answer.metrics);
	map_free(&r->metrics);
	vec_free(&r->answer.processes);
	vec_free(&r->answer.layers);
	uncovered_free(&r->answer.uncovered);
	vec_free(&r->answer.paused);
	vec_free(&r->answer.folded);
	coverage_free(&r->covered);
	vec_free(&r->answer.machines);
	query_findings_free(&r->answer);
	vec_free(&r->answer.kernels);
	query_kernels_free(r->kernels);
	stack_ends_free(&r->stack_ends);
	stack_ends_sum_free(&r->stacks);
	cause_asleep_free(&r->asleep);
	open_calls_free(&r->open);
	vec_free(&r->going_on);
	line_free(r->line);
	free(r);
}

void query_ops_set_exact(struct query_ops_run *r, struct exact *x)
{
	r->exact = x;
}

void query_ops_set_group_by(struct query_ops_run *r, struct query_by *by)
{
	r->by = by;
	query_by_set_coverage(by, &r->covered);
}

void query_ops_set_sections(struct query_ops_run *r, struct query_view *view)
{
	r->view = view;
}

struct exact *query_ops_get_exact(const struct query_ops_run *r)
{
	return r->exact;
}

bool query_ops_start_search(struct query_ops_run *r)
{
	for (size_t i = 0; i < r->counters.v.n; i++) {
		const struct ops_counter *c = &r->counters.v.v[i];

		if (!exact_start_search(r->exact, c->row.op->id, &c->durations))
			return false;
	}
	return true;
}

static void grow_range(struct query_ops_run *r, int64_t from_ns, int64_t to_ns)
{
	if (!r->begun || from_ns < r->first_ns)
		r->first_ns = from_ns;
	if (!r->begun || to_ns > r->last_ns)
		r->last_ns = to_ns;
	r->begun = true;
}

static void add_event(struct query_ops_run *r, const struct event *ev, bool late)
{
	const struct op_def *op = world_op(r->w, ev->op);
	bool asked = filter_event(r->sel, r->w, ev);
	const struct ops_process *p;

	if (!op)
		return;
	if (!coverage_add_event(&r->covered, r->w, ev))
		r->nomem = true;
	if (asked)
		count_event(r, ev, op, late);
	if (!r->view)
		return;
	p = asked ? process_of_ctx(r, ev->ctx) : NULL;
	if (!query_view_event(r->view, ev, op, p ? p->process : 0, asked, late))
		r->nomem = true;
}

/* A thread of which nothing was recorded is in no context: its process is what it was last. */
static uint32_t ctx_of(struct query_ops_run *r, uint32_t thread)
{
	const struct world_thread *th = world_get_thread(r->w, thread);
	const struct world_process *p = th ? world_get_process(r->w, th->process) : NULL;
	struct world_ctx ctx = { .node = p ? p->node : 0, .thread = thread };

	ctx.image = p ? world_count(r->w, WORLD_IMAGE) : 0;
	while (ctx.image && world_get_image(r->w, ctx.image)->process != th->process)
		ctx.image--;
	return world_ctx(r->w, &ctx);
}

static int still_asleep(void *run, uint32_t thread, struct event *ev, struct err *e)
{
	struct query_ops_run *r = run;

	if (!ev->ctx)
		ev->ctx = ctx_of(r, thread);
	r->answer.events++;
	grow_range(r, r->begun ? r->first_ns : event_start(ev), ev->end_ns);
	add_event(r, ev, false);
	return r->nomem || !ev->ctx || !vec_push(&r->going_on, *ev) ? err_nomem(e) : 0;
}

int query_ops_end(struct query_ops_run *r, struct err *e)
{
	int rc = r->answer.brief ? 0
				 : cause_asleep_tell(&r->asleep, r->w, r->line, still_asleep, r, e);

	if (!rc && (r->nomem || (r->view && !query_view_advance(r->view, INT64_MAX)) ||
		    (r->by && !query_by_end(r->by))))
		rc = err_nomem(e);
	return rc;
}

bool query_ops_has_ongoing(const struct query_ops_run *r)
{
	return cause_asleep_any(&r->asleep, r->line);
}

struct stream_item query_ops_ongoing_item(const struct query_ops_run *r)
{
	return (struct stream_item){ .kind = STREAM_EVENTS,
				     .events = r->going_on.v,
				     .n = r->going_on.n };
}

static void on_exit_event(struct query_ops_run *r, const struct event *ev)
{
	const struct world_ctx *c = world_get_ctx(r->w, ev->ctx);

	cause_asleep_gone(&r->asleep, c ? c->thread : 0);
}

static int add_events(struct query_ops_run *r, const struct stream_item *item, struct err *e)
{
	int rc = 0;

	r->item_lost += item->lost;
	if (item->skipped) {
		r->answer.events += item->skipped;
		grow_range(r, r->begun ? r->first_ns : item->skipped_from_ns, item->skipped_to_ns);
	}
	for (size_t i = 0; i < item->n && !rc; i++) {
		const struct event *ev = &item->events[i];

		r->answer.events++;
		r->answer.late += item->late;
		/* A call that began before the recording did is in it; the time before is not. */
		grow_range(r, r->begun ? r->first_ns : event_start(ev), ev->end_ns);
		add_event(r, ev, item->late);
		if (ev->op == OP_PROC_EXIT)
			on_exit_event(r, ev);
		rc = line_event(r->line, ev, item->late, e);
	}
	if (r->view && !item->late && !query_view_advance(r->view, item->floor_ns))
		r->nomem = true;
	return !rc && r->nomem ? err_nomem(e) : rc;
}

bool query_ops_add_counts(struct query_ops_run *r, const struct op_def *op,
			  const struct sketch *durations)
{
	struct ops_counter *row = counter_of(r, op);

	if (!row || !sketch_merge(&row->durations, durations))
		return false;
	row->row.count += durations->count;
	r->answer.selected += durations->count;
	r->answer.brief = true;
	return true;
}

bool query_ops_add_failure(struct query_ops_run *r, const struct op_def *op, int32_t ret)
{
	struct ops_counter *row = counter_of(r, op);

	if (!row)
		return false;
	row->row.errors++;
	count_error(r, op, ret, 0);
	return !r->nomem;
}

void query_ops_add_block(struct query_ops_run *r, const int64_t times[2], uint64_t n, bool late,
			 uint64_t lost)
{
	r->answer.brief = true;
	r->item_lost += lost;
	r->answer.events += n;
	r->answer.late += late ? n : 0;
	if (times)
		grow_range(r, r->begun ? r->first_ns : times[0], times[1]);
}

static void add_loss(struct query_ops_run *r, const struct record *rec)
{
	const struct rec_LOSS *l = &rec->u.LOSS;

	r->record_lost += l->count;
	r->answer.loss_by_reason[l->reason < OPS_LOSS_REASONS ? l->reason : 0] += l->count;
	line_lost(r->line, REC_HAS(rec, LOSS, since_ns) ? l->since_ns : INT64_MIN,
		  REC_HAS(rec, LOSS, until_ns) ? l->until_ns : r->last_ns, l->count);
}

/* Whatever the selected time: a thread that slept before it may wake up in it. */
static void track_sleepers(struct query_ops_run *r, const struct record *rec)
{
	const struct rec_CLOCK *k = &rec->u.CLOCK;

	if (rec->kind == RECORD_ASLEEP && !cause_asleep_record(&r->asleep, r->w, rec, 0))
		r->nomem = true;
	if (rec->kind == RECORD_CLOCK && REC_HAS(rec, CLOCK, source) &&
	    bytes_equal(k->source, bytes_of("end")))
		cause_asleep_ended(&r->asleep, r->w, REC_HAS(rec, CLOCK, node) ? k->node : 0,
				   k->mono_ns);
}

static void add_record(struct query_ops_run *r, const struct record *rec)
{
	track_sleepers(r, rec);
	/* The figures of the machine are those of what is counted. */
	if (!filter_record_time(r->sel, rec) ||
	    (rec->kind == RECORD_SAMPLE && !filter_sample(r->sel, r->w, &rec->u.SAMPLE)))
		return;
	switch (rec->kind) {
	case RECORD_SESSION:
		if (REC_HAS(rec, SESSION, start_ns))
			grow_range(r, rec->u.SESSION.start_ns, rec->u.SESSION.start_ns);
		break;
	case RECORD_CLOCK:
		grow_range(r, rec->u.CLOCK.mono_ns, rec->u.CLOCK.mono_ns);
		break;
	case RECORD_LOSS:
		add_loss(r, rec);
		break;
	case RECORD_OPEN:
		r->nomem |= !open_calls_add(&r->open, &rec->u.OPEN);
		break;
	default:
		break;
	}
	if (!coverage_add_record(&r->covered, r->w, rec) ||
	    !ops_facts_add_record(&r->answer, &r->metrics, r->w, rec) ||
	    !query_kernels_record(r->kernels, rec) || !query_findings_record(&r->answer, rec) ||
	    (r->by && !query_by_record(r->by, rec)) ||
	    (r->view && !query_view_record(r->view, rec)))
		r->nomem = true;
}

int query_ops_item(struct query_ops_run *r, const struct stream_item *item, struct err *e)
{
	int rc = r->by ? query_by_item(r->by, item, e) : 0;

	if (rc)
		return rc;
	switch (item->kind) {
	case STREAM_SEGMENT:
		r->answer.complete = false;
		break;
	case STREAM_LAST:
		r->answer.complete = true;
		break;
	case STREAM_EVENTS:
		return add_events(r, item, e);
	case STREAM_RECORD:
		add_record(r, item->record);
		return r->nomem || world_failed(r->w) ? err_nomem(e) : 0;
	}
	return 0;
}

/* Calls that are open at the end of the recording, not of one of its files only. */
static uint64_t still_open(const struct query_ops_run *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->open.v.n; i++) {
		const struct rec_OPEN *call = &r->open.v.v[i];

		n += open_calls_named(&r->open, call) &&
		     !line_went_on(r->line, call->thread, call->time_ns);
	}
	return n;
}

static bool fill_rows(struct query_ops_run *r)
{
	struct ops_summary *a = &r->answer;

	a->rows.n = a->processes.n = 0;
	a->exact = r->exact != NULL;
	for (size_t i = 0; i < r->counters.v.n; i++) {
		struct ops_row row = ops_counter_row(&r->counters.v.v[i], r->exact);

		row.all = ops_estimate_row(&r->covered, r->w, &row, &r->counters.v.v[i].covered,
					   a->brief);
		if (row.count)
			a->exact &= row.exact;
		if (row.count && !vec_push(&a->rows, row))
			return false;
	}
	for (size_t i = 0; i < r->processes.v.n; i++) {
		struct ops_process p = r->processes.v.v[i];

		p.all = ops_estimate_process(&r->covered, r->w, &r->processes, i);
		if (!vec_push(&a->processes, p))
			return false;
	}
	ops_rows_sort(a);
	query_findings_sort(a);
	return ops_facts_sort(a, &r->metrics);
}

/* The time that is looked at. */
static void fill_time(struct query_ops_run *r)
{
	struct ops_summary *a = &r->answer;

	a->start_ns = r->first_ns;
	a->end_ns = r->last_ns;
	if (r->sel->resolved && r->sel->since_ns > a->start_ns)
		a->start_ns = r->sel->since_ns < a->end_ns ? r->sel->since_ns : a->end_ns;
	if (r->sel->resolved && r->sel->until_ns < a->end_ns)
		a->end_ns = r->sel->until_ns > a->start_ns ? r->sel->until_ns : a->start_ns;
	r->covered.from_ns = a->start_ns;
	r->covered.to_ns = a->end_ns;
}

const struct ops_summary *query_ops_answer(struct query_ops_run *r)
{
	struct ops_summary *a = &r->answer;

	fill_time(r);
	if (!fill_rows(r) || !ops_estimates_add_paused(a, &r->covered) ||
	    !query_kernels_rows(r->kernels, &a->kernels) ||
	    !stack_ends_count(&r->stack_ends, r->w, &r->stacks))
		return NULL;
	a->by = r->by ? query_by_rows(r->by) : NULL;
	if (r->by && !a->by)
		return NULL;
	a->view = r->view ? query_view_rows(r->view, line_culprits(r->line)) : NULL;
	if (r->view && !a->view)
		return NULL;
	a->stacks = a->brief ? NULL : &r->stacks;
	a->lost = r->record_lost > r->item_lost ? r->record_lost : r->item_lost;
	a->open = still_open(r);
	a->nodes = world_count(r->w, WORLD_NODE);
	return a;
}
