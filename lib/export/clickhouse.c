/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes events and records as rows of JSON for ClickHouse. Keys without a value are left out: the
 * column's default means unknown.
 */
#include "lib/export/clickhouse_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/export/event_args.h"
#include "lib/event/direction.h"
#include "lib/event/record.h"
#include "lib/world/frame_parts.h"
#include "lib/world/who.h"

static void *open_rows(const struct export_ctx *em)
{
	struct clickhouse *c = calloc(1, sizeof(*c));

	if (c)
		c->em = *em;
	return c;
}

static void append_text(struct jsonw *j, const struct world *w, const char *key, uint32_t string)
{
	if (string)
		jsonw_key_bytes(j, key, world_text(w, string));
}

static void append_column(struct jsonw *j, const struct event *ev, const struct op_def *op,
			  uint16_t col, const char *key)
{
	uint64_t v;

	if (event_get(ev, op, col, &v))
		jsonw_key_u64(j, key, v);
}

/* The other thread of an event, from this column. */
static void append_other_thread(struct jsonw *j, const struct clickhouse *c, const struct event *ev,
				const struct op_def *op, uint16_t col)
{
	const struct world *w = c->em.w;
	struct buf out = { 0 };
	uint64_t v;

	if (!event_get(ev, op, col, &v) || v > UINT32_MAX || !world_get_thread(w, (uint32_t)v))
		return;
	who_print_thread(&out, w, (uint32_t)v, ev->end_ns);
	jsonw_key_bytes(j, "other", buf_bytes(&out));
	j->out->failed |= out.failed;
	buf_free(&out);
}

static void append_site(struct jsonw *j, struct clickhouse *c, uint32_t stack)
{
	uint32_t frame = site_frames_get(&c->sites, c->em.w, stack);
	struct buf name = { 0 };
	struct place p;

	if (!frame)
		return;
	p = place_of(c->em.w, frame);
	place_name(&name, &p);
	jsonw_key_bytes(j, "function", buf_bytes(&name));
	if (p.file.n || p.module.n)
		jsonw_key_bytes(j, "file", p.file.n ? p.file : p.module);
	if (p.line)
		jsonw_key_u64(j, "line", p.line);
	j->out->failed |= name.failed;
	buf_free(&name);
}

static void append_columns(struct jsonw *j, struct clickhouse *c, const struct event *ev,
			   const struct op_def *op, uint32_t process)
{
	const struct world *w = c->em.w;
	char hex[24];
	uint64_t v;
	bool known;

	append_column(j, ev, op, COL_BYTES, "bytes");
	append_column(j, ev, op, COL_WAIT_NS, "wait_ns");
	append_column(j, ev, op, COL_SEQUENCE, "sequence");
	if (event_get(ev, op, COL_DIRECTION, &v) && direction_code(v))
		jsonw_key_str(j, "direction", direction_code(v));
	if (op->source == SOURCE_NCCL) {
		j->out->failed |= !comm_ids_event(&c->comms, process, ev, op, &v, &known);
		if (known) {
			snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)v);
			jsonw_key_str(j, "comm_id", hex);
		}
	}
	append_other_thread(j, c, ev, op, ev->op == OP_SCHED_OFFCPU ? COL_WAKER : COL_OCCUPANT);
	append_text(j, w, "detail", event_args_detail(c->em.told, ev, op, process));
}

static void append_event(struct clickhouse *c, const struct event *ev)
{
	const struct world *w = c->em.w;
	const struct op_def *op = world_op(w, ev->op);
	struct who who = who_of(w, ev->ctx, ev->end_ns);
	const char *error = op ? event_error_name(op->source, ev->ret) : NULL;
	struct process_place_row at;
	struct jsonw j;
	uint64_t rank;

	if (!op)
		return;
	at = *process_place_of(&c->placed, who.process_id);
	if (at.rank < 0 && event_get(ev, op, COL_RANK, &rank))
		at.rank = (int32_t)rank;
	clickhouse_begin(&j, c, "event",
			 who.node ? world_text(w, who.node->name) : (struct bytes){ 0 }, &at);
	jsonw_key_i64(&j, "time_ns", clickhouse_time(c, event_start(ev)));
	jsonw_key_u64(&j, "duration_ns", ev->dur_ns);
	jsonw_key_str(&j, "source", op->source_name);
	jsonw_key_str(&j, "op", op->name);
	if (who.process)
		jsonw_key_u64(&j, "pid", who.process->tgid);
	if (who.thread)
		jsonw_key_u64(&j, "tid", who.thread->tid);
	append_text(&j, w, "process", who.process_name);
	append_text(&j, w, "thread", who.thread_name);
	append_text(&j, w, "cgroup", who.cgroup ? who.cgroup->path : 0);
	jsonw_key_i64(&j, "gpu", who.gpu ? (int64_t)who.gpu->index : -1);
	if (ev->ret)
		jsonw_key_i64(&j, "return_code", ev->ret);
	if (error)
		jsonw_key_str(&j, "error", error);
	append_columns(&j, c, ev, op, who.process_id);
	if (c->em.opt.stacks)
		append_site(&j, c, ev->stack);
	clickhouse_end(&j);
}

/* What names no machine is of the only one. */
static struct bytes node_name(const struct world *w, uint32_t node)
{
	return world_node_name(w, node ? node : world_count(w, WORLD_NODE) == 1);
}

static void append_sample(const struct clickhouse *c, const struct rec_SAMPLE *r)
{
	const struct world *w = c->em.w;
	const struct metric_def *m = metric_builtin((uint16_t)r->metric);
	const struct world_process *p = r->process ? world_get_process(w, r->process) : NULL;
	const struct world_cgroup *g = r->cgroup ? world_get_cgroup(w, r->cgroup) : NULL;
	const struct world_gpu *gpu = r->gpu ? world_get_gpu(w, r->gpu) : NULL;
	struct jsonw j;

	if (!m)
		return;
	clickhouse_begin(&j, c, "sample",
			 node_name(w, p		     ? p->node
				      : g && g->node ? g->node
						     : r->node),
			 process_place_of(&c->placed, r->process));
	jsonw_key_i64(&j, "time_ns", clickhouse_time(c, r->time_ns));
	jsonw_key_str(&j, "metric", m->name);
	jsonw_key_str(&j, "unit", m->unit);
	jsonw_key_double(&j, "value", r->value);
	jsonw_key_i64(&j, "gpu", gpu ? (int64_t)gpu->index : -1);
	if (p)
		jsonw_key_u64(&j, "pid", p->tgid);
	append_text(&j, w, "cgroup", g ? g->path : 0);
	if (r->device)
		jsonw_key_u64(&j, "device", r->device);
	clickhouse_end(&j);
}

static void append_loss(const struct clickhouse *c, const struct record *rec)
{
	const struct rec_LOSS *r = &rec->u.LOSS;
	bool until = REC_HAS(rec, LOSS, until_ns);
	struct jsonw j;

	clickhouse_begin(&j, c, "loss", node_name(c->em.w, r->node),
			 process_place_of(&c->placed, 0));
	if (until || REC_HAS(rec, LOSS, since_ns))
		jsonw_key_i64(&j, "time_ns",
			      clickhouse_time(c, REC_HAS(rec, LOSS, since_ns) ? r->since_ns
									      : r->until_ns));
	if (until)
		jsonw_key_i64(&j, "until_ns", clickhouse_time(c, r->until_ns));
	jsonw_key_u64(&j, "count", r->count);
	jsonw_key_str(&j, "reason", loss_reason_text(r->reason));
	clickhouse_end(&j);
}

static int on_item(void *state, const struct stream_item *it, struct err *e)
{
	struct clickhouse *c = state;

	for (size_t i = 0; it->kind == STREAM_EVENTS && i < it->n; i++)
		append_event(c, &it->events[i]);
	if (it->kind == STREAM_RECORD) {
		const struct record *r = it->record;

		if (!process_place_record(&c->placed, c->em.w, r))
			return err_nomem(e);
		if (r->kind == RECORD_SAMPLE)
			append_sample(c, &r->u.SAMPLE);
		else if (r->kind == RECORD_LOSS)
			append_loss(c, r);
		else if (r->kind == RECORD_CHAIN)
			clickhouse_cause(c, &r->u.CHAIN);
		else if (r->kind == RECORD_ANALYSIS)
			clickhouse_analysis(c, &r->u.ANALYSIS);
	}
	return c->em.out->failed ? err_nomem(e) : 0;
}

static int on_finish(void *state, struct err *e)
{
	struct clickhouse *c = state;

	return c->em.out->failed ? err_nomem(e) : 0;
}

static void free_state(void *state)
{
	struct clickhouse *c = state;

	process_place_free(&c->placed);
	map_free(&c->sites.by);
	map_free(&c->comms.of);
	free(c);
}

const struct export_format export_clickhouse = {
	.name = "clickhouse",
	.endings = ".clickhouse",
	.help = "rows for ClickHouse, all its tables in one stream",
	.findings = true,
	.flows = true,
	.open = open_rows,
	.item = on_item,
	.finish = on_finish,
	.free = free_state,
};
