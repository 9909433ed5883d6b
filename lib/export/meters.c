/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns events and records into exported metrics. Families that always exist have fixed numbers;
 * those that samples add follow them.
 */
#include "lib/export/meters.h"

#include "lib/base/hash.h"
#include "lib/model/body.h"
#include "lib/model/finding_json.h"
#include "lib/event/chain.h"
#include "lib/event/tier.h"
#include "lib/event/direction.h"
#include "lib/world/who.h"

/* The default of the recorder's --hung. */
#define HUNG_NS INT64_C(5000000000)

enum {
	CALLS,
	CALL_TIME,
	SLOW_CALLS,
	ERRORS,
	HOST_TIME,
	COPIED,
	COLLECTIVE,
	LOST_EVENTS,
	PAUSED_TIME,
	CHAINS,
	LOST_TIME,
	OPEN_CALLS,
	DROPPED
};

static const struct {
	const char *dotted, *unit, *help;
	enum meter_type type;
} fixed[] = {
	[CALLS] = { "gpu.cuda.operation.count", "{call}", "Calls of libraries that have returned",
		    METER_COUNTER },
	[CALL_TIME] = { "gpu.cuda.operation.duration", "s", "How long calls of libraries took",
			METER_HISTOGRAM },
	[SLOW_CALLS] = { "ingero.anomaly.count", "{event}",
			 "Calls that took more than three times the median of their operation",
			 METER_COUNTER },
	[ERRORS] = { "gpu.cuda.operation.errors", "{call}", "Calls that returned an error",
		     METER_COUNTER },
	[HOST_TIME] = { "ingero.host.event.duration", "s",
			"How long the kernel kept threads: off the CPU, in block I/O, in faults",
			METER_HISTOGRAM },
	[COPIED] = { "gpu.memcpy.bytes", "By", "Copied by calls that succeeded", METER_COUNTER },
	[COLLECTIVE] = { "gpu.nccl.collective.bytes", "By",
			 "Handed to collectives by this machine's ranks", METER_COUNTER },
	[LOST_EVENTS] = { "ingero.events.lost", "{event}", "Events that are not in the recording",
			  METER_COUNTER },
	[PAUSED_TIME] = { "ingero.paused.time", "s",
			  "Calls of a tier were not recorded: counters of its operations stood "
			  "still",
			  METER_COUNTER },
	[CHAINS] = { "ingero.chains", "{chain}", "Causes found", METER_GAUGE },
	[LOST_TIME] = { "ingero.lost.time", "s", "Time lost to causes that were found",
			METER_GAUGE },
	[OPEN_CALLS] = { "ingero.calls.hung", "{call}", "Calls that have not returned for long",
			 METER_GAUGE },
	[DROPPED] = { "ingero.series.dropped", "{series}",
		      "Values that were left out: there are more series than are kept",
		      METER_COUNTER },
};

bool meters_begin(struct meters *m, const struct export_ctx *em)
{
	*m = (struct meters){ .em = em, .begin_ns = INT64_MAX, .newest_ns = INT64_MIN };
	for (unsigned i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (meter_family(&m->table, fixed[i].dotted, fixed[i].unit, fixed[i].help,
				 fixed[i].type) < 0)
			return false;
	return true;
}

void meters_free(struct meters *m)
{
	meter_table_free(&m->table);
	copied_free(&m->copied);
	slow_calls_free(&m->slow);
	vec_free(&m->told);
	map_free(&m->chains);
	map_free(&m->open);
	map_free(&m->memory);
}

static uint32_t intern_text(struct meters *m, const char *t)
{
	return world_string(m->em->w, bytes_of(t ? t : "?"));
}

static void add_duration(struct meter_point *p, uint64_t ns)
{
	unsigned at = 0;

	while (at < METERS_BOUNDS && ns > meters_bounds_ns[at])
		at++;
	p->buckets[at]++;
	p->count++;
	p->sum_ns += ns;
}

/* Adds value to a point and returns the point; NULL: no room for it. */
static struct meter_point *add_to_point(struct meters *m, unsigned family, const struct event *ev,
					uint32_t node, const struct meter_label *labels,
					double value)
{
	struct meter_point *p = meter_point(&m->table, family, node, labels);

	if (p) {
		p->value += value;
		p->time_ns = ev->end_ns;
	}
	return p;
}

static uint64_t open_key(uint32_t thread, int64_t start_ns)
{
	return hash_u64((uint64_t)start_ns ^ hash_u64(thread));
}

/* One series for each machine, as the older agent has it. */
static bool count_slow(struct meters *m, const struct event *ev, uint32_t node)
{
	static const struct meter_label none[METER_LABELS];
	bool slow;

	if (!slow_calls_add(&m->slow, node, ev->op, ev->end_ns, ev->dur_ns, &slow))
		return false;
	add_to_point(m, SLOW_CALLS, ev, node, none, slow);
	return true;
}

static void count_call(struct meters *m, const struct event *ev, const struct op_def *op,
		       const struct who *who, const struct meter_label *labels)
{
	struct meter_label more[METER_LABELS] = { labels[0], labels[1] };
	uint32_t node = who->ctx ? who->ctx->node : 0;
	const char *error = event_error_name(op->source, ev->ret);
	struct meter_point *p = add_to_point(m, CALL_TIME, ev, node, labels, 0);
	uint64_t bytes = 0, way;
	bool copy = !ev->ret && op->flags & OP_COPY && event_get(ev, op, COL_BYTES, &bytes) &&
		    event_get(ev, op, COL_DIRECTION, &way);
	uint64_t uncounted =
		copied_call(&m->copied, who->ctx ? who->ctx->thread : 0, ev, copy ? bytes : 0);

	if (p)
		add_duration(p, ev->dur_ns);
	add_to_point(m, CALLS, ev, node, labels, 1);
	m->nomem |= !count_slow(m, ev, node);
	if (who->ctx && m->open.n)
		map_del(&m->open, open_key(who->ctx->thread, event_start(ev)));
	if (event_failed(ev->op, ev->ret)) {
		more[2] =
			(struct meter_label){ "error", intern_text(m, error ? error : "unknown") };
		add_to_point(m, ERRORS, ev, node, more, 1);
		return;
	}
	if (copy) {
		struct meter_label direction[METER_LABELS] = {
			{ "direction", intern_text(m, direction_code(way)) }
		};

		add_to_point(m, COPIED, ev, node, direction, (double)uncounted);
	} else if (!ev->ret && !ev->depth && op->source == SOURCE_NCCL &&
		   event_get(ev, op, COL_BYTES, &bytes)) {
		struct meter_label type[METER_LABELS] = { { "op_type", intern_text(m, op->name) } };

		add_to_point(m, COLLECTIVE, ev, node, type, (double)bytes);
	}
}

static void count_event(struct meters *m, const struct event *ev)
{
	const struct op_def *op = world_op(m->em->w, ev->op);
	struct who who = who_of(m->em->w, ev->ctx, ev->end_ns);
	struct meter_label labels[METER_LABELS] = { { 0 } };
	struct meter_point *p;

	if (event_start(ev) < m->begin_ns)
		m->begin_ns = event_start(ev);
	if (ev->end_ns > m->newest_ns)
		m->newest_ns = ev->end_ns;
	if (!op)
		return;
	labels[0] = (struct meter_label){ "source", intern_text(m, op->source_name) };
	labels[1] = (struct meter_label){ "operation", intern_text(m, op->name) };
	if (op->flags & OP_CALL) {
		count_call(m, ev, op, &who, labels);
	} else if (op->track != TRACK_INSTANT) {
		p = add_to_point(m, HOST_TIME, ev, who.ctx ? who.ctx->node : 0, labels, 0);
		if (p)
			add_duration(p, ev->dur_ns);
	}
}

/* The machine of that name. */
static uint32_t finding_node(const struct meters *m, struct bytes name)
{
	uint32_t id = world_count(m->em->w, WORLD_NODE);

	while (id && !bytes_equal(world_text(m->em->w, world_get_node(m->em->w, id)->name), name))
		id--;
	return id;
}

/* Stores a chain; a newer record of the same chain replaces it. */
static bool store_chain(struct meters *m, struct bytes id, struct bytes kind, uint32_t severity,
			uint32_t node, int64_t last_ns, uint64_t lost_ns)
{
	struct meter_chain c = { .id = hash_bytes(id.p, id.n, 0),
				 .lost_ns = lost_ns,
				 .kind = world_string(m->em->w, kind),
				 .severity = severity,
				 .node = node };
	uint64_t at;

	if (last_ns > m->newest_ns)
		m->newest_ns = last_ns;
	if (map_get(&m->chains, c.id, &at)) {
		m->told.v[at - 1] = c;
		return true;
	}
	return vec_push(&m->told, c) && map_put(&m->chains, c.id, m->told.n);
}

static bool on_chain(struct meters *m, const struct rec_CHAIN *r)
{
	struct finding f = { 0 };
	uint32_t node = 0;
	bool good = true;

	if (world_count(m->em->w, WORLD_NODE) > 1) {
		good = finding_read_json(&f, r->body, BODY_SIZE_MAX, NULL) != ERR_NOMEM;
		node = finding_node(m, f.node);
		finding_free(&f);
	}
	return good && store_chain(m, r->id, r->kind, r->severity, node, r->last_ns, r->lost_ns);
}

/* Counts as hung until it returns. */
static bool add_open_call(struct meters *m, const struct rec_OPEN *r)
{
	const struct world_thread *t = world_get_thread(m->em->w, r->thread);
	const struct world_process *p = t ? world_get_process(m->em->w, t->process) : NULL;

	return m->open.n >= METERS_POINTS ||
	       map_put(&m->open, open_key(r->thread, r->start_ns),
		       (uint64_t)(p ? p->node : 0) << 16 | (r->op & UINT16_MAX));
}

static bool on_record(struct meters *m, const struct record *r)
{
	struct meter_label labels[METER_LABELS] = { { 0 } };
	struct meter_point *p;

	switch (r->kind) {
	case RECORD_SESSION:
		if (r->u.SESSION.start_ns < m->begin_ns)
			m->begin_ns = r->u.SESSION.start_ns;
		return true;
	case RECORD_NODE:
		return !REC_HAS(r, NODE, memory_bytes) ||
		       map_put(&m->memory, r->u.NODE.node, r->u.NODE.memory_bytes);
	case RECORD_SAMPLE:
		if (r->u.SAMPLE.time_ns > m->newest_ns)
			m->newest_ns = r->u.SAMPLE.time_ns;
		return meters_sample(m, &r->u.SAMPLE, r);
	case RECORD_CHAIN:
		return on_chain(m, &r->u.CHAIN);
	case RECORD_OPEN:
		/* At the end there is a record for each open call, however short. */
		if (r->u.OPEN.at_end && r->u.OPEN.time_ns - r->u.OPEN.start_ns < HUNG_NS)
			return true;
		return add_open_call(m, &r->u.OPEN);
	case RECORD_PAUSED:
		/* The beginning of a pause has a record of its own. */
		if (!REC_HAS(r, PAUSED, until_ns) || r->u.PAUSED.until_ns < r->u.PAUSED.since_ns)
			return true;
		labels[0] = (struct meter_label){ "tier",
						  intern_text(m, op_tier_name(r->u.PAUSED.tier)) };
		p = meter_point(&m->table, PAUSED_TIME, meters_node(m, r->u.PAUSED.node), labels);
		if (p) {
			p->value += (double)((uint64_t)r->u.PAUSED.until_ns -
					     (uint64_t)r->u.PAUSED.since_ns) /
				    1e9;
			p->time_ns = r->u.PAUSED.until_ns;
		}
		return true;
	case RECORD_LOSS:
		labels[0] =
			(struct meter_label){ "reason",
					      intern_text(m, loss_reason_text(r->u.LOSS.reason)) };
		p = meter_point(&m->table, LOST_EVENTS, meters_node(m, r->u.LOSS.node), labels);
		if (p) {
			p->value += (double)r->u.LOSS.count;
			p->time_ns = REC_HAS(r, LOSS, until_ns) ? r->u.LOSS.until_ns : m->newest_ns;
		}
		return true;
	default:
		return true;
	}
}

int meters_item(struct meters *m, const struct stream_item *it, struct err *e)
{
	bool kept = true;

	for (size_t i = 0; it->kind == STREAM_EVENTS && i < it->n; i++)
		count_event(m, &it->events[i]);
	if (it->kind == STREAM_RECORD)
		kept = on_record(m, it->record);
	return kept && !m->nomem && !world_failed(m->em->w) ? 0 : err_nomem(e);
}

/* Resets gauges that are sums over the current state. */
static void zero_gauge(struct meters *m, unsigned family)
{
	for (size_t i = 0; i < m->table.families.v[family].points.n; i++) {
		m->table.families.v[family].points.v[i].value = 0;
		m->table.families.v[family].points.v[i].time_ns = m->newest_ns;
	}
}

static void add_to_gauge(struct meters *m, unsigned family, uint32_t node,
			 const struct meter_label *labels, double value)
{
	struct meter_point *p = meter_point(&m->table, family, meters_node(m, node), labels);

	if (p) {
		p->value += value;
		p->time_ns = m->newest_ns;
	}
}

bool meters_chains(struct meters *m, const struct chain_list *list)
{
	m->told.n = 0;
	map_free(&m->chains);
	for (size_t i = 0; i < list->v.n; i++) {
		const struct finding *c = &list->v.v[i];

		if (!store_chain(m, c->id, c->kind, c->severity, finding_node(m, c->node),
				 c->last_ns, c->lost_ns))
			return false;
	}
	return true;
}

bool meters_settle(struct meters *m)
{
	uint64_t key, call;
	size_t at = 0;

	zero_gauge(m, CHAINS);
	zero_gauge(m, LOST_TIME);
	zero_gauge(m, OPEN_CALLS);
	for (size_t i = 0; i < m->told.n; i++) {
		const struct meter_chain *c = &m->told.v[i];
		struct meter_label labels[METER_LABELS] = {
			{ "kind", c->kind },
			{ "severity", intern_text(m, finding_severity_name(c->severity)) }
		};

		add_to_gauge(m, CHAINS, c->node, labels, 1);
		add_to_gauge(m, LOST_TIME, c->node, labels, (double)c->lost_ns / 1e9);
	}
	while (map_each(&m->open, &at, &key, &call)) {
		const struct op_def *def = world_op(m->em->w, (uint16_t)call);
		struct meter_label labels[METER_LABELS] = {
			{ "source", intern_text(m, def ? def->source_name : NULL) },
			{ "operation", intern_text(m, def ? def->name : NULL) }
		};

		add_to_gauge(m, OPEN_CALLS, (uint32_t)(call >> 16), labels, 1);
	}
	if (m->table.dropped) {
		zero_gauge(m, DROPPED);
		add_to_gauge(m, DROPPED, 0, (struct meter_label[METER_LABELS]){ { 0 } },
			     (double)m->table.dropped);
	}
	return !world_failed(m->em->w);
}
