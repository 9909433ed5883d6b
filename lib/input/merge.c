/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of a machine is made when the first thing of it comes. Ids of segments come from the
 * inputs' own and from what was selected, so that no two different outputs share one and equal ones
 * are equal.
 */
#include "lib/input/merge.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/ige/worker_pool.h"
#include "lib/ige/merge_columns.h"
#include "lib/input/about.h"
#include "lib/input/pseudonym.h"
#include "lib/input/anonymize.h"
#include "lib/input/slice.h"

struct outlet {
	uint32_t node; /* 0: of everything */
	struct ige_writer *writer;
};

struct merge {
	struct world *w;
	struct input *in;
	const struct merge_options *opt;
	struct merge_target *target;
	struct merge_result *result;
	VEC(struct outlet) outlets;
	struct ige_worker_pool *team;	/* NULL: nobody helps the writers */
	struct archive_writer *archive; /* instead of them */
	struct archive_options database;
	struct buf recordings;	  /* for it */
	VEC(struct event) chosen; /* for it */
	VEC(uint32_t) named;	  /* by world ctx: the same with a node; 0 not looked at */
	uint64_t salt;
	unsigned inputs;
	bool apart; /* losses of each input go to its machine's file, at the end */
	int64_t latest_ns, floor_ns;
	int64_t unnamed_ns; /* when the first call begins whose OPEN record is of before the part */
};

static bool names_machine(const uint8_t node_uuid[16], uint64_t boot)
{
	static const uint8_t none[16];

	return boot || memcmp(node_uuid, none, sizeof(none)) != 0;
}

/* The machine that a segment header names, in the world of what is written; 0: it names none, or
 * none of those there. */
static uint32_t machine_of(const struct merge *m, const uint8_t node_uuid[16], uint64_t boot)
{
	uint8_t uuid[16];
	uint32_t id;

	if (!names_machine(node_uuid, boot))
		return 0;
	memcpy(uuid, node_uuid, sizeof(uuid));
	if (m->opt->anonymize)
		input_anonymize_identity(m->opt->anonymize, uuid, &boot);
	for (id = world_count(m->w, WORLD_NODE); id; id--) {
		const struct world_node *node = world_get_node(m->w, id);

		if (node->boot == boot && !memcmp(node->uuid, uuid, sizeof(uuid)))
			break;
	}
	return id;
}

/* All of it is of one machine, which it names: what is joined or imported may be of several. */
static bool is_of_one(const struct clock_head *h)
{
	return h->known && h->segment.clock_id &&
	       names_machine(h->segment.node_uuid, h->segment.boot);
}

int merge_name_nodes(struct world *w, const struct merge_options *opt, struct err *e)
{
	struct world_node node = { .boot = 0 };

	if (!opt->force_node)
		return 0;
	node.name = world_string(w, bytes_of(opt->force_node));
	return world_node(w, &node) ? 0 : err_nomem(e);
}

static uint64_t salt_of(const struct merge *m)
{
	const struct filter *sel = m->opt->select;
	uint64_t salt = m->opt->archive + 2 * m->opt->recover;
	struct input_told t;

	for (unsigned i = 0; input_told(m->in, i, &t); i++)
		salt = hash_bytes(t.head->bytes, sizeof(t.head->bytes), salt);
	if (m->opt->anonymize)
		salt = pseudonym_u64(m->opt->anonymize, salt);
	if (!sel)
		return salt;
	for (size_t i = 0; i < sel->pids.n; i++)
		salt = hash_u64(salt ^ sel->pids.v[i]);
	for (size_t i = 0; i < sel->patterns.n; i++)
		salt = hash_bytes(sel->patterns.v[i], strlen(sel->patterns.v[i]), salt);
	if (sel->resolved)
		salt = hash_u64(hash_u64(salt ^ (uint64_t)sel->since_ns) ^ (uint64_t)sel->until_ns);
	return salt;
}

static int open_outlet(struct merge *m, uint32_t node, struct outlet **out, struct err *e)
{
	const struct clock_common *clock = input_clock(m->in);
	const struct world_node *machine = world_get_node(m->w, node);
	struct ige_writer_options opt = { .archive = m->opt->archive,
					  .boot = machine ? machine->boot : clock->boot,
					  .real_minus_mono_ns = clock->real_minus_mono_ns,
					  .clock_id = clock->clock_id,
					  .index = true,
					  .salt = m->salt,
					  .team = m->team };
	struct outlet o = { .node = node };
	struct ige_sink *sink;
	int rc = m->target->sink(m->target, node, &sink, e);

	memcpy(opt.node_uuid, machine ? machine->uuid : clock->node_uuid, sizeof(opt.node_uuid));
	if (!machine && m->opt->anonymize)
		input_anonymize_identity(m->opt->anonymize, opt.node_uuid, &opt.boot);
	if (!rc)
		rc = ige_writer_new(&o.writer, m->w, sink, &opt, e);
	if (!rc && !vec_push(&m->outlets, o)) {
		ige_writer_free(o.writer);
		rc = err_nomem(e);
	}
	if (!rc)
		*out = &m->outlets.v[m->outlets.n - 1];
	return rc;
}

static int outlet_of(struct merge *m, uint32_t node, struct outlet **out, struct err *e)
{
	if (!m->target->by_machine)
		node = 0;
	for (size_t i = 0; i < m->outlets.n; i++)
		if (m->outlets.v[i].node == node) {
			*out = &m->outlets.v[i];
			return 0;
		}
	return open_outlet(m, node, out, e);
}

/* ---- events ---- */

static uint32_t nameless_node(const struct merge *m)
{
	struct world_node node = { .boot = 0 };

	return world_node(m->w, &node);
}

/* The context that an event is written with: --force-node names the machine of one without. */
static uint32_t named_ctx(struct merge *m, uint32_t id)
{
	const struct world_ctx *ctx;
	struct world_ctx with;

	if (id < m->named.n && m->named.v[id])
		return m->named.v[id];
	ctx = world_get_ctx(m->w, id);
	with = ctx ? *ctx : (struct world_ctx){ 0 };
	if (!with.node)
		with.node = nameless_node(m);
	if (!vec_reach(&m->named, id))
		return id;
	return m->named.v[id] = world_ctx(m->w, &with);
}

static int write_event(struct merge *m, const struct event *ev, struct outlet **last, struct err *e)
{
	const struct world_ctx *ctx;
	struct event named;
	uint32_t node = 0;
	int rc = 0;

	if (m->opt->force_node) {
		named = *ev;
		named.ctx = named_ctx(m, ev->ctx);
		ev = &named;
	}
	if (m->target->by_machine) {
		ctx = world_get_ctx(m->w, ev->ctx);
		node = ctx ? ctx->node : 0;
	}
	if (!*last || (*last)->node != node)
		rc = outlet_of(m, node, last, e);
	m->result->events++;
	return rc ? rc : ige_writer_event((*last)->writer, ev, e);
}

static int open_archive(struct merge *m, int fd, struct err *e)
{
	m->database = *m->opt->database;
	/* A part is none of them, and what was made anonymous says nothing of whose it was. */
	if (!m->opt->select && !m->opt->anonymize) {
		input_recordings(m->in, &m->recordings);
		m->database.recordings = buf_text(&m->recordings);
		if (m->recordings.failed)
			return err_nomem(e);
	}
	return archive_writer_new(&m->archive, m->w, fd, &m->database, e);
}

/* The archive, once there is something to be in it. */
static int archive_item(struct merge *m, const struct stream_item *item, struct err *e)
{
	int fd, rc = 0;

	if (!m->archive) {
		rc = m->target->file(m->target, &fd, e);
		if (!rc)
			rc = open_archive(m, fd, e);
	}
	return rc ? rc : archive_writer_item(m->archive, item, e);
}

static int archive_events(struct merge *m, const struct stream_item *item, struct err *e)
{
	struct stream_item chosen = *item;

	m->chosen.n = 0;
	for (size_t i = 0; i < item->n; i++) {
		struct event ev = item->events[i];

		if (m->opt->select && !filter_event(m->opt->select, m->w, &ev))
			continue;
		if (m->opt->force_node)
			ev.ctx = named_ctx(m, ev.ctx);
		if (!vec_push(&m->chosen, ev))
			return err_nomem(e);
	}
	chosen.events = m->chosen.v;
	chosen.n = m->chosen.n;
	if (m->opt->select && (!chosen.n || item->skipped))
		chosen.lost = 0;
	m->result->events += chosen.n;
	return archive_item(m, &chosen, e);
}

/* All of a joined batch goes where the one before went, as it is. 0: not so. */
static int whole_batch(struct merge *m, const struct stream_item *item, struct err *e)
{
	struct ige_writer *wr = m->outlets.n == 1 ? m->outlets.v[0].writer : NULL;
	int64_t last_ns, floor_ns = item->floor_ns == INT64_MIN ? m->floor_ns : item->floor_ns;
	int rc;

	if (!wr || !item->n || item->late || (item->lost && !item->weave) ||
	    m->target->by_machine || m->opt->select || m->opt->force_node)
		return 0;
	rc = item->weave
		     ? ige_writer_weave(wr, item->weave, item->n, item->watermark_ns, floor_ns, e)
		     : ige_writer_ordered(wr, item->events, item->n, item->watermark_ns, floor_ns,
					  e);
	if (rc <= 0)
		return rc;
	ige_writer_lost(wr, item->lost);
	if (item->floor_ns != INT64_MIN)
		m->floor_ns = item->floor_ns;
	last_ns = item->weave ? item->weave->ends[item->n - 1] : item->events[item->n - 1].end_ns;
	if (last_ns > m->latest_ns)
		m->latest_ns = last_ns;
	m->result->events += item->n;
	return 1;
}

static int write_events(struct merge *m, const struct stream_item *item, struct err *e)
{
	struct outlet *last = m->target->by_machine || !m->outlets.n ? NULL : m->outlets.v;
	uint64_t before = m->result->events;
	struct event row;
	int rc = whole_batch(m, item, e);

	if (rc)
		return rc < 0 ? rc : 0;
	for (size_t i = 0; i < item->n && !rc; i++) {
		const struct event *ev = item->weave ? &row : &item->events[i];

		if (item->weave)
			ige_merge_columns_event(item->weave, i, &row);
		if (ev->end_ns > m->latest_ns)
			m->latest_ns = ev->end_ns;
		if (!m->opt->select || filter_event(m->opt->select, m->w, ev))
			rc = write_event(m, ev, &last, e);
	}
	/* Losses are written with a batch's events; an unselected batch's are dropped. */
	if (!rc && item->lost && !item->skipped && !m->apart &&
	    (m->result->events > before || !m->opt->select)) {
		if (!last)
			rc = outlet_of(m, 0, &last, e);
		if (!rc)
			ige_writer_lost(last->writer, item->lost);
	}
	if (item->floor_ns != INT64_MIN)
		m->floor_ns = item->floor_ns < m->unnamed_ns ? item->floor_ns : m->unnamed_ns;
	if (item->watermark_ns == INT64_MIN || item->late)
		return rc;
	for (size_t i = 0; i < m->outlets.n && !rc; i++)
		rc = ige_writer_flush(m->outlets.v[i].writer, item->watermark_ns, m->floor_ns,
				      false, e);
	return rc;
}

/* ---- records ---- */

/* A call that it names may return within the part all the same, where nothing but time decided. */
static void not_named(struct merge *m, const struct record *r)
{
	if (r->kind == RECORD_OPEN && m->opt->select->resolved &&
	    r->u.OPEN.time_ns < m->opt->select->since_ns && r->u.OPEN.start_ns < m->unnamed_ns)
		m->unnamed_ns = r->u.OPEN.start_ns;
}

static int write_record(struct merge *m, const struct record *r, struct err *e)
{
	uint32_t node = m->target->by_machine ? about_node(m->w, r) : 0;
	const struct clock_common *clock = input_clock(m->in);
	struct outlet *out = NULL;
	int rc = 0;

	/* Where nothing was written yet what names no machine is of the only one. */
	if (m->target->by_machine && !node && !m->outlets.n)
		node = machine_of(m, clock->node_uuid, clock->boot);
	/* The analysis of a part, or of one of several, is not that of what is written here. */
	if (r->kind == RECORD_ANALYSIS && (m->inputs > 1 || m->target->by_machine))
		return 0;
	if (m->opt->select && !slice_record(m->opt->select, m->w, r)) {
		not_named(m, r);
		return 0;
	}
	m->result->records++;
	if (m->opt->database)
		return archive_item(m,
				    &(struct stream_item){ .kind = STREAM_RECORD,
							   .record = r,
							   .watermark_ns = INT64_MIN,
							   .floor_ns = INT64_MIN },
				    e);
	if (!m->target->by_machine || node) {
		rc = outlet_of(m, node, &out, e);
		return rc ? rc : ige_writer_record(out->writer, r, e);
	}
	for (size_t i = 0; i < m->outlets.n && !rc; i++)
		if (!about_chain_elsewhere(m->w, r, m->outlets.v[i].node))
			rc = ige_writer_record(m->outlets.v[i].writer, r, e);
	return rc;
}

/* Writes a LOSS record for each unreadable part of an input: its times and its machine. */
static int write_holes(struct merge *m, struct err *e)
{
	const bool several = input_clock(m->in)->machines > 1 || m->target->by_machine;
	struct input_told t;
	int rc = 0;

	for (unsigned i = 0; input_told(m->in, i, &t) && !rc; i++)
		for (size_t k = 0; k < t.tally->holes.n && !rc; k++) {
			const struct input_hole *hole = &t.tally->holes.v[k];
			struct record r = { .kind = RECORD_LOSS };
			const struct ige_segment *s = &t.head->segment;
			uint32_t node = several && is_of_one(t.head)
						? machine_of(m, s->node_uuid, s->boot)
						: 0;

			if (node)
				REC_SET(&r, LOSS, node, node);
			REC_SET(&r, LOSS, reason, LOSS_DAMAGED);
			if (hole->since_ns != INT64_MIN)
				REC_SET(&r, LOSS, since_ns, hole->since_ns);
			if (hole->events)
				REC_SET(&r, LOSS, count, hole->events);
			if (hole->until_ns != INT64_MAX)
				REC_SET(&r, LOSS, until_ns, hole->until_ns);
			rc = write_record(m, &r, e);
		}
	return rc;
}

/* Counts each input's losses in its machine's file. */
static int write_lost(struct merge *m, struct err *e)
{
	struct outlet *out;
	struct input_told t;
	int rc = 0;

	for (unsigned i = 0; m->apart && input_told(m->in, i, &t) && !rc; i++) {
		const struct ige_segment *s = &t.head->segment;

		if (!t.tally->lost)
			continue;
		rc = outlet_of(m, machine_of(m, s->node_uuid, s->boot), &out, e);
		if (!rc)
			ige_writer_lost(out->writer, t.tally->lost);
	}
	return rc;
}

/* Writes a CLOCK record for each machine whose clock was corrected: the time on the common clock
 * (mono) and on the machine's own (real), at the end. */
static int write_fits(struct merge *m, struct err *e)
{
	struct input_told t;
	uint32_t said = UINT32_MAX, node;
	int rc = 0;

	for (unsigned i = 0; input_told(m->in, i, &t) && !rc; i++) {
		const struct ige_segment *s = &t.head->segment;
		struct record r = { .kind = RECORD_CLOCK };

		if (!t.head->known || !t.head->fit.by_ns || t.head->machine == said ||
		    m->latest_ns == INT64_MIN)
			continue;
		said = t.head->machine;
		node = machine_of(m, s->node_uuid, s->boot);
		if (!node)
			continue;
		REC_SET(&r, CLOCK, node, node);
		REC_SET(&r, CLOCK, mono_ns, m->latest_ns);
		REC_SET(&r, CLOCK, real_ns, m->latest_ns - t.head->fit.by_ns);
		REC_SET(&r, CLOCK, uncertainty_ns, t.head->fit.error_ns);
		REC_SET(&r, CLOCK, source, bytes_of("merge"));
		rc = write_record(m, &r, e);
	}
	return rc;
}

/* ---- all of it ---- */

static int finish_outputs(struct merge *m, struct err *e)
{
	struct ige_report report = input_report(m->in);
	bool ended = !report.unterminated || (report.growing && m->opt->growing_ends);
	bool whole = ended && !report.damaged_blocks && !report.skipped_bytes;
	struct outlet *only;
	int rc = 0;

	if (m->opt->recover)
		rc = write_holes(m, e);
	if (!rc)
		rc = write_lost(m, e);
	if (!rc && m->inputs > 1)
		rc = write_fits(m, e);
	/* Nothing selected is a recording too, but no bytes at all are none. */
	if (m->opt->database) {
		struct stream_item none = { .kind = STREAM_EVENTS,
					    .watermark_ns = INT64_MIN,
					    .floor_ns = INT64_MIN };
		struct archive_written written = { 0 };

		if (rc || report.empty)
			return rc;
		rc = archive_item(m, &none, e);
		/* What did not end cleanly does not pretend to. */
		none.kind = STREAM_LAST;
		if (!rc && (whole || m->opt->recover))
			rc = archive_item(m, &none, e);
		if (!rc)
			rc = archive_writer_finish(m->archive, &written, e);
		if (!rc)
			m->result->bytes = written.bytes;
		return rc;
	}
	if (!rc && !m->target->by_machine && !report.empty)
		rc = outlet_of(m, 0, &only, e);
	for (size_t i = 0; i < m->outlets.n && !rc; i++) {
		struct ige_writer *wr = m->outlets.v[i].writer;

		/* What did not end cleanly does not pretend to. */
		rc = whole || m->opt->recover
			     ? ige_writer_finish(wr, e)
			     : ige_writer_flush(wr, m->latest_ns, m->floor_ns, true, e);
	}
	return rc;
}

int merge_run(struct world *w, struct input *in, const struct merge_options *opt,
	      struct merge_target *target, struct merge_result *result, struct err *e)
{
	struct merge m = { .w = w,
			   .in = in,
			   .opt = opt,
			   .target = target,
			   .result = result,
			   .latest_ns = INT64_MIN,
			   .floor_ns = INT64_MIN,
			   .unnamed_ns = INT64_MAX };
	struct event_stream *stream = input_stream(in);
	struct input_anonymize *mask = NULL;
	struct input_told told;
	struct stream_item item;
	bool helps;
	int rc;

	*result = (struct merge_result){ 0 };
	/* Blocks that wait take memory, which each of many machines would need, and whoever reads a
	 * pipe of ours at the pace of one that we read would wait for them. */
	helps = opt->archive || (!opt->database && !target->by_machine && input_files(in));
	m.team = helps ? ige_worker_pool_new() : NULL;
	if (helps && !m.team)
		return err_nomem(e);
	if (opt->anonymize) {
		mask = input_anonymize_new(stream, w, opt->masked, opt->anonymize);
		if (!mask) {
			ige_worker_pool_free(m.team);
			return err_nomem(e);
		}
		stream = input_anonymize_stream(mask);
		m.w = opt->masked;
	}
	m.apart = target->by_machine && !opt->select;
	for (; input_told(in, m.inputs, &told); m.inputs++)
		m.apart &= is_of_one(told.head);
	m.salt = salt_of(&m);
	if (!opt->anonymize && !opt->select && !opt->force_node && !opt->archive &&
	    !opt->database && !target->by_machine)
		input_weave(in);
	while ((rc = stream->next(stream, &item, e)) > 0) {
		rc = item.kind == STREAM_EVENTS	  ? (opt->database ? archive_events(&m, &item, e)
								   : write_events(&m, &item, e))
		     : item.kind == STREAM_RECORD ? write_record(&m, item.record, e)
		     : item.kind == STREAM_SEGMENT && opt->database ? archive_item(&m, &item, e)
								    : 0;
		if (!rc && target->interrupted && target->interrupted(target))
			rc = err_set(e, ERR_INTERRUPTED, "interrupted");
		if (rc)
			break;
	}
	if (!rc)
		rc = finish_outputs(&m, e);
	for (size_t i = 0; rc && i < m.outlets.n; i++) {
		/* What waits to be written came before what failed. */
		int before = ige_writer_settle(m.outlets.v[i].writer, e);

		rc = before ? before : rc;
	}
	if (mask)
		result->left_out = input_anonymize_left_out(mask);
	input_anonymize_free(mask);
	for (size_t i = 0; i < m.outlets.n; i++)
		ige_writer_free(m.outlets.v[i].writer);
	ige_worker_pool_free(m.team);
	archive_writer_free(m.archive);
	buf_free(&m.recordings);
	vec_free(&m.chosen);
	vec_free(&m.outlets);
	vec_free(&m.named);
	return rc;
}
