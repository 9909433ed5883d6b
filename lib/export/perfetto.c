/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Perfetto's trace format while the stream is read: the tracks of the timeline, their slices
 * and values. The format has no complete slices: each slice is a begin and an end event.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/deflate.h"
#include "lib/base/hash.h"
#include "lib/base/proto.h"
#include "lib/export/format.h"
#include "lib/export/event_args.h"
#include "lib/export/perfetto_form.h"
#include "lib/export/perfetto_packets.h"
#include "lib/export/timeline.h"
#include "lib/model/body.h"
#include "lib/world/call_site.h"
#include "lib/world/frame_parts.h"

#define EVENT_MAX 1024 /* bytes of a track event: all of its fields at their longest fit */

struct perfetto {
	struct export_ctx em;
	struct timeline tl;
	struct packets packets;
	struct buf plain; /* packets that are not compressed yet */
	struct buf text, entry;
	bool has_node, has_clock;
	uint32_t clock_node;
	struct rec_CLOCK clock; /* the last that was written */
};

static uint32_t name_number(struct perfetto *x, struct packet_sequence *q,
			    const struct timeline_slice *s)
{
	uint64_t key =
		s->name ? packets_key(OF_NAME, s->name) : packets_key(OF_OP, s->op ? s->op->id : 0);
	uint32_t number = packets_number(&x->packets, q, key, &q->names);

	if (number)
		return number;
	buf_reset(&x->text);
	if (s->name)
		event_args_clean(&x->text, world_text(x->em.w, s->name));
	else
		buf_puts(&x->text, s->op ? s->op->name : "unknown");
	packets_entry(&x->packets, INTERNED_NAME, q->names, buf_bytes(&x->text));
	return q->names;
}

static uint32_t string_number(struct perfetto *x, struct packet_sequence *q,
			      const struct event_arg *note)
{
	uint64_t key = note->kind == NOTE_STRING
			       ? packets_key(OF_STRING, note->number)
			       : packets_key(OF_TEXT, hash_u64(note->number) ^ hash_u64(note->id));
	uint32_t number = packets_number(&x->packets, q, key, &q->strings);

	if (number)
		return number;
	buf_reset(&x->text);
	event_arg_text(&x->text, x->em.w, note);
	packets_entry(&x->packets, INTERNED_STRING, q->strings, buf_bytes(&x->text));
	return q->strings;
}

static void site_entry(struct perfetto *x, uint32_t frame, uint32_t number)
{
	struct place p = place_of(x->em.w, frame);
	struct bytes file = p.file.n ? p.file : p.module;

	buf_reset(&x->entry);
	proto_u64(&x->entry, ENTRY_ID, number);
	buf_reset(&x->text);
	event_args_clean(&x->text, file);
	if (file.n)
		proto_bytes(&x->entry, SITE_FILE, buf_bytes(&x->text));
	buf_reset(&x->text);
	place_name(&x->text, &p);
	if (x->text.n > EVENT_ARGS_TEXT_MAX)
		x->text.n = EVENT_ARGS_TEXT_MAX;
	proto_bytes(&x->entry, SITE_FUNCTION, buf_bytes(&x->text));
	if (p.line && p.line <= UINT32_MAX)
		proto_u64(&x->entry, SITE_LINE, p.line);
	proto_bytes(&x->packets.interned, INTERNED_SITE, buf_bytes(&x->entry));
}

/* Where in the program; 0: not known. Many stacks share a site. */
static uint32_t site_number(struct perfetto *x, struct packet_sequence *q, uint32_t stack)
{
	uint64_t number;
	uint32_t frame;

	if (map_get(&q->texts, packets_key(OF_STACK, stack), &number))
		return (uint32_t)number;
	frame = call_site_frame(x->em.w, stack);
	if (!frame)
		return 0;
	number = packets_number(&x->packets, q, packets_key(OF_FRAME, frame), &q->sites);
	if (!number) {
		number = q->sites;
		site_entry(x, frame, q->sites);
	}
	x->packets.nomem |= !map_put(&q->texts, packets_key(OF_STACK, stack), number);
	return (uint32_t)number;
}

static char *put_note(struct perfetto *x, struct packet_sequence *q, char *p,
		      const struct event_arg *note)
{
	char body[3 * PROTO_FIELD_MAX], *b = body;

	if (!(q->keys[note->id / 64] >> note->id % 64 & 1)) {
		q->keys[note->id / 64] |= UINT64_C(1) << note->id % 64;
		packets_entry(&x->packets, INTERNED_KEY, note->id, bytes_of(note->key));
	}
	b = proto_at_u64(b, NOTE_F_KEY, note->id);
	if (note->kind == NOTE_REAL)
		b = proto_at_double(b, NOTE_F_DOUBLE, note->real);
	else if (note->kind != NOTE_NUMBER)
		b = proto_at_u64(b, NOTE_F_STRING, string_number(x, q, note));
	else
		b = proto_at_u64(b, note->id == NOTE_RETURN ? NOTE_F_INT : NOTE_F_UINT,
				 note->number);
	*p++ = EVENT_NOTE << 3 | PROTO_BYTES;
	*p++ = (char)(b - body);
	memcpy(p, body, (size_t)(b - body));
	return p + (b - body);
}

static char *put_arrows(char *p, const struct arrows_of *a)
{
	if (a->begins)
		p = proto_at_u64(p, EVENT_ARROW_SHORT, a->begins);
	for (unsigned i = 0; i < a->nends; i++)
		p = proto_at_u64(p, EVENT_ARROW_END_SHORT, a->ends[i]);
	/* Of the two forms only one is read of an event. */
	if (a->collective && a->begins)
		p = proto_at_u64(p, EVENT_ARROW_SHORT, a->collective);
	else if (a->collective)
		p = proto_at_fixed64(p, EVENT_ARROW, a->collective);
	return p;
}

/* Short ones: EVENT_MAX has room for them. */
static char *put_text(char *p, unsigned field, const char *text)
{
	size_t n = strlen(text);

	p = proto_at_varint(p, field << 3 | PROTO_BYTES);
	p = proto_at_varint(p, n);
	memcpy(p, text, n);
	return p + n;
}

static bool put_slice(struct perfetto *x, const struct track *t, const struct timeline_slice *s,
		      unsigned type)
{
	struct packet_sequence *q = packets_sequence(&x->packets, t->id, s->start_ns);
	char body[EVENT_MAX], *p = body;
	struct event_arg notes[EVENT_ARGS_MAX];
	unsigned n, source = s->op ? s->op->source : 0;
	uint32_t site;

	if (!q)
		return false;
	p = proto_at_u64(p, EVENT_TYPE, type);
	if (s->lost || s->step) {
		p = put_text(p, EVENT_NAME_TEXT, s->lost ? s->lost : s->step);
		p = put_text(p, EVENT_CATEGORY_TEXT, s->lost ? "loss" : "step");
	} else {
		p = proto_at_u64(p, EVENT_NAME, name_number(x, q, s));
	}
	if (s->op && source < 64) {
		if (!(q->categories >> source & 1))
			packets_entry(&x->packets, INTERNED_CATEGORY, source + 1,
				      bytes_of(s->op->source_name));
		q->categories |= UINT64_C(1) << source;
		p = proto_at_u64(p, EVENT_CATEGORY, source + 1);
	}
	site = s->stack && x->em.opt.stacks ? site_number(x, q, s->stack) : 0;
	if (site)
		p = proto_at_u64(p, EVENT_SITE, site);
	if (s->arrows)
		p = put_arrows(p, s->arrows);
	n = s->event ? event_args_of(notes, x->em.w, x->em.told, s->event, s->op, s->process) : 0;
	for (unsigned i = 0; i < n; i++)
		p = put_note(x, q, p, &notes[i]);
	packets_event(&x->packets, q, t->id, s->start_ns,
		      (struct bytes){ body, (size_t)(p - body) });
	return !x->packets.nomem;
}

static void chain_note(struct perfetto *x, struct buf *body, const char *key, unsigned field,
		       struct bytes text, uint64_t number)
{
	buf_reset(&x->entry);
	proto_bytes(&x->entry, NOTE_F_KEY_TEXT, bytes_of(key));
	if (field == NOTE_F_UINT) {
		proto_u64(&x->entry, field, number);
	} else if (field == NOTE_F_TEXT) {
		buf_reset(&x->text);
		event_args_clean(&x->text, text);
		proto_bytes(&x->entry, field, buf_bytes(&x->text));
	} else {
		proto_bytes(&x->entry, field, text);
	}
	proto_bytes(body, EVENT_NOTE, buf_bytes(&x->entry));
}

static bool put_chain(struct perfetto *x, const struct track *t, const struct timeline_slice *s,
		      unsigned type)
{
	struct packet_sequence *q = packets_sequence(&x->packets, t->id, s->start_ns);
	const char *severity = finding_severity_name(s->chain->severity);
	struct json evidence;
	struct buf body = { 0 };

	if (!q)
		return false;
	proto_u64(&body, EVENT_TYPE, type);
	proto_bytes(&body, EVENT_CATEGORY_TEXT, bytes_of("causal_chain"));
	buf_reset(&x->text);
	buf_printf(&x->text, "%s: ", severity);
	event_args_clean(&x->text, s->chain->summary);
	proto_bytes(&body, EVENT_NAME_TEXT, buf_bytes(&x->text));
	proto_bytes(&body, EVENT_COLOUR, bytes_of(severity));
	chain_note(x, &body, "severity", NOTE_F_TEXT, bytes_of(severity), 0);
	chain_note(x, &body, "kind", NOTE_F_TEXT, s->chain->kind, 0);
	chain_note(x, &body, "id", NOTE_F_TEXT, s->chain->id, 0);
	chain_note(x, &body, "count", NOTE_F_UINT, (struct bytes){ 0 }, s->chain->count);
	chain_note(x, &body, "lost_ns", NOTE_F_UINT, (struct bytes){ 0 }, s->chain->lost_ns);
	if (body_read(s->chain->json, &evidence, BODY_SIZE_MAX, NULL)) {
		buf_reset(&x->text);
		json_dump(&x->text, evidence, 0);
		chain_note(x, &body, "evidence", NOTE_F_JSON, buf_bytes(&x->text), 0);
	}
	json_free(evidence);
	x->em.out->failed |= body.failed;
	packets_event(&x->packets, q, t->id, s->start_ns, buf_bytes(&body));
	buf_free(&body);
	return true;
}

static bool sink_begin(void *ctx, const struct track *t, const struct timeline_slice *s)
{
	return s->chain ? put_chain(ctx, t, s, TYPE_BEGIN) : put_slice(ctx, t, s, TYPE_BEGIN);
}

static bool sink_instant(void *ctx, const struct track *t, const struct timeline_slice *s)
{
	return s->chain ? put_chain(ctx, t, s, TYPE_INSTANT) : put_slice(ctx, t, s, TYPE_INSTANT);
}

static bool sink_end(void *ctx, const struct track *t, int64_t ns)
{
	static const char body[] = { EVENT_TYPE << 3 | PROTO_VARINT, TYPE_END };
	struct perfetto *x = ctx;
	struct packet_sequence *q = &x->packets.sequences.v[t->id];

	packets_event(&x->packets, q, t->id, ns, (struct bytes){ body, sizeof(body) });
	return true;
}

static bool sink_value(void *ctx, const struct track *t, int64_t ns, double value)
{
	struct perfetto *x = ctx;
	struct packet_sequence *q = packets_sequence(&x->packets, 0, ns);
	char body[3 * PROTO_FIELD_MAX], *p = body;

	if (!q)
		return false;
	p = proto_at_u64(p, EVENT_TYPE, TYPE_VALUE);
	p = proto_at_u64(p, EVENT_TRACK, t->id);
	p = proto_at_double(p, EVENT_VALUE, value);
	packets_event(&x->packets, q, 0, ns, (struct bytes){ body, (size_t)(p - body) });
	return true;
}

/* Readings of one machine, those that only grow: UTC for everything. */
static bool sink_clock(void *ctx, const struct rec_CLOCK *r, const struct record *rec)
{
	struct perfetto *x = ctx;
	uint32_t node = REC_HAS(rec, CLOCK, node) ? r->node : 0;

	if (!x->has_node)
		x->clock_node = node;
	x->has_node = true;
	if (node != x->clock_node || r->mono_ns < 0 || r->boot_ns < 0 || r->real_ns < 0 ||
	    (x->has_clock && (r->mono_ns <= x->clock.mono_ns || r->boot_ns <= x->clock.boot_ns ||
			      r->real_ns <= x->clock.real_ns)))
		return true;
	x->has_clock = true;
	x->clock = *r;
	buf_reset(&x->text);
	packets_clock(&x->packets, &x->text, CLOCK_OF_MONO, r->mono_ns, false);
	packets_clock(&x->packets, &x->text, CLOCK_OF_BOOT, r->boot_ns, false);
	packets_clock(&x->packets, &x->text, CLOCK_OF_REAL, r->real_ns, false);
	proto_u64(&x->text, SNAPSHOT_PRIMARY, CLOCK_OF_MONO);
	packets_put(&x->packets, "", 0, PACKET_CLOCK_SNAPSHOT, buf_bytes(&x->text));
	return true;
}

static void put_unit(struct buf *out, const char *unit)
{
	if (!strcmp(unit, "ns") || !strcmp(unit, "B") || !*unit)
		proto_u64(out, COUNTER_UNIT,
			  *unit == 'n' ? UNIT_NS
			  : *unit      ? UNIT_BYTES
				       : UNIT_COUNT);
	else
		proto_bytes(out, COUNTER_UNIT_NAME, bytes_of(unit));
}

static bool sink_track(void *ctx, const struct track *t, struct bytes name)
{
	struct perfetto *x = ctx;
	struct buf body = { 0 }, inner = { 0 };
	bool ok;

	proto_u64(&body, TRACK_UUID, t->id);
	switch (t->kind) {
	case LINE_PROCESS:
		proto_u64(&inner, PROCESS_PID, t->pid);
		proto_bytes(&inner, PROCESS_NAME, name);
		proto_bytes(&body, TRACK_PROCESS, buf_bytes(&inner));
		break;
	case LINE_THREAD:
		proto_u64(&body, TRACK_PARENT, t->parent);
		proto_u64(&inner, THREAD_PID, t->pid);
		proto_u64(&inner, THREAD_TID, t->tid);
		proto_bytes(&inner, THREAD_NAME, name);
		proto_bytes(&body, TRACK_THREAD_OF, buf_bytes(&inner));
		break;
	case LINE_VALUES:
		put_unit(&inner, t->unit);
		proto_bytes(&body, TRACK_COUNTER, buf_bytes(&inner));
		/* fall through */
	default:
		if (t->parent)
			proto_u64(&body, TRACK_PARENT, t->parent);
		proto_bytes(&body, TRACK_NAME, name);
	}
	packets_put(&x->packets, "", 0, PACKET_DESCRIPTOR, buf_bytes(&body));
	ok = !body.failed && !inner.failed;
	buf_free(&body);
	buf_free(&inner);
	return ok;
}

/* Once only: a reader adds the index to what it knows of the process. */
static bool sink_order(void *ctx, const struct track *t, uint32_t position, struct bytes name)
{
	struct perfetto *x = ctx;
	struct buf body = { 0 }, inner = { 0 };
	bool ok;

	proto_u64(&body, TRACK_UUID, t->id);
	if (t->kind == LINE_PROCESS) {
		proto_u64(&inner, PROCESS_PID, t->pid);
		proto_u64(&inner, PROCESS_SORT_INDEX, position);
		proto_bytes(&inner, PROCESS_NAME, name);
		proto_bytes(&body, TRACK_PROCESS, buf_bytes(&inner));
	} else {
		proto_bytes(&body, TRACK_NAME, name);
	}
	proto_u64(&body, TRACK_ORDER_RANK, position);
	packets_put(&x->packets, "", 0, PACKET_DESCRIPTOR, buf_bytes(&body));
	ok = !body.failed && !inner.failed;
	buf_free(&body);
	buf_free(&inner);
	return ok;
}

static const struct timeline_sink sink = { sink_track, sink_begin, sink_end,   sink_instant,
					   sink_begin, sink_value, sink_clock, sink_order };

static void free_trace(void *state)
{
	struct perfetto *x = state;

	packets_free(&x->packets);
	buf_free(&x->plain);
	timeline_free(&x->tl);
	buf_free(&x->text);
	buf_free(&x->entry);
	free(x);
}

static void *open_trace(const struct export_ctx *em)
{
	struct perfetto *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->em = *em;
	x->packets.out = &x->plain;
	timeline_init(&x->tl, &sink, x, em->w, em->told);
	if (!em->opt.chosen && !timeline_show_steps(&x->tl)) {
		free_trace(x);
		return NULL;
	}
	return x;
}

static int check_nomem(const struct perfetto *x, int rc, struct err *e)
{
	bool failed = packets_failed(&x->packets) || x->text.failed || x->entry.failed;

	return rc ? rc : failed ? err_nomem(e) : 0;
}

#define PACKED_BYTES \
	(256u << 10) /* of packets that are compressed at once; the reader makes as much of them */
#define PACKED_LEVEL 1 /* of zlib: higher ones make a tenth less of it in twice the time */

/* What there is by now, as one packet. */
static int put_packed(struct perfetto *x, struct err *e)
{
	struct buf packed = { 0 }, packet = { 0 };
	int rc = x->plain.n ? deflate_bytes(&packed, x->plain.p, x->plain.n, PACKED_LEVEL, e) : 0;

	if (packed.n && !rc) {
		proto_bytes(&packet, PACKET_COMPRESSED, buf_bytes(&packed));
		proto_bytes(x->em.out, TRACE_PACKET, buf_bytes(&packet));
		buf_reset(&x->plain);
		rc = packet.failed || x->em.out->failed ? err_nomem(e) : 0;
	}
	buf_free(&packet);
	buf_free(&packed);
	return rc;
}

static int on_item(void *state, const struct stream_item *it, struct err *e)
{
	struct perfetto *x = state;
	int rc = check_nomem(x, timeline_item(&x->tl, it, e), e);

	return rc || x->plain.n < PACKED_BYTES ? rc : put_packed(x, e);
}

static int on_idle(void *state, struct err *e)
{
	return put_packed(state, e);
}

static int on_finish(void *state, struct err *e)
{
	struct perfetto *x = state;
	int rc = check_nomem(x, timeline_finish(&x->tl, e), e);

	return rc ? rc : put_packed(x, e);
}

const struct export_format export_perfetto = {
	.name = "perfetto",
	.endings = ".pftrace .perfetto-trace",
	.help = "a timeline for Perfetto (ui.perfetto.dev)",
	.binary = true,
	.findings = true,
	.open = open_trace,
	.item = on_item,
	.idle = on_idle,
	.finish = on_finish,
	.free = free_trace,
};
