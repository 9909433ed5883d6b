/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perfetto's own trace format, as it comes: packets of track events, by hand. Each line of the timeline is a packet sequence of
 * its own, so that its line need not be named in each packet, times are differences to the packet before, and names and
 * texts stand once and are numbers from then on. There are no whole slices in this format: each is a beginning and an end.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/proto.h"
#include "lib/emit/format.h"
#include "lib/emit/notes.h"
#include "lib/emit/perfetto_form.h"
#include "lib/emit/timeline.h"
#include "lib/world/place.h"

#define EVENT_MAX 1024 /* bytes of a track event: all of its fields at their longest fit */
#define TEXTS_MAX \
	65536 /* of a sequence, which then forgets them and begins anew: ours and the reader's memory */

/* What is remembered of a sequence's texts; with the id of the text as key. */
enum text_of { OF_OP = 1, OF_NAME, OF_STRING, OF_TEXT, OF_STACK, OF_FRAME };

struct sequence {
	bool begun;
	int64_t last_ns;
	struct map texts;		/* what and id -> its number in the sequence */
	uint32_t names, strings, sites; /* numbers given */
	uint64_t categories, keys[NOTES_ID_MAX / 64];
};

struct perfetto {
	struct emit em;
	struct timeline tl;
	VEC(struct sequence) sequences; /* by the id of the line; 0: of values */
	struct buf interned;		/* of the packet that is being made */
	struct buf text, entry;
	bool has_node, has_clock, nomem;
	uint32_t clock_node;
	struct rec_CLOCK clock; /* the last that was written */
};

/* A packet with what is ready; head: its fields in front. */
static void packet(struct perfetto *x, const char *head, size_t nhead, unsigned field,
		   struct bytes body)
{
	char front[3 * PROTO_FIELD_MAX], behind[2 * PROTO_FIELD_MAX], *p, *q = front, *out;
	size_t n = nhead;

	if (x->interned.n) {
		n += x->interned.n + (size_t)(proto_at_varint(behind, x->interned.n) - behind) + 1;
	}
	p = proto_at_varint(behind, field << 3 | PROTO_BYTES);
	p = proto_at_varint(p, body.n);
	n += (size_t)(p - behind) + body.n;
	*q++ = TRACE_PACKET << 3 | PROTO_BYTES;
	q = proto_at_varint(q, n);
	out = buf_reserve(x->em.out, n + (size_t)(q - front));
	if (!out)
		return;
	memcpy(out, front, (size_t)(q - front));
	n = (size_t)(q - front);
	memcpy(out + n, head, nhead);
	n += nhead;
	if (x->interned.n) {
		out[n++] = PACKET_INTERNED << 3 | PROTO_BYTES;
		n = (size_t)(proto_at_varint(out + n, x->interned.n) - out);
		memcpy(out + n, x->interned.p, x->interned.n);
		n += x->interned.n;
		buf_reset(&x->interned);
	}
	memcpy(out + n, behind, (size_t)(p - behind));
	n += (size_t)(p - behind);
	memcpy(out + n, body.p, body.n);
	buf_added(x->em.out, n + body.n);
}

static void clock_reading(struct buf *snapshot, struct buf *entry, unsigned id, int64_t ns,
			  bool incremental)
{
	buf_reset(entry);
	proto_u64(entry, CLOCK_ID, id);
	proto_u64(entry, CLOCK_VALUE, (uint64_t)ns);
	if (incremental)
		proto_u64(entry, CLOCK_INCREMENTAL, 1);
	proto_bytes(snapshot, SNAPSHOT_CLOCK, buf_bytes(entry));
}

/* From here on its times are differences, from ns on, and its events stand on its line. */
static void sequence_begin(struct perfetto *x, struct sequence *q, uint32_t id, int64_t ns)
{
	struct buf head = { 0 }, defaults = { 0 };

	buf_reset(&x->text);
	clock_reading(&x->text, &x->entry, CLOCK_OF_MONO, ns, false);
	clock_reading(&x->text, &x->entry, CLOCK_OF_SEQUENCE, ns, true);
	proto_u64(&x->text, SNAPSHOT_PRIMARY, CLOCK_OF_MONO);
	buf_reset(&x->entry);
	proto_u64(&x->entry, EVENT_TRACK, id);
	proto_bytes(&defaults, DEFAULTS_TRACK_EVENT, buf_bytes(&x->entry));
	proto_u64(&defaults, DEFAULTS_CLOCK, CLOCK_OF_SEQUENCE);
	proto_u64(&head, PACKET_SEQUENCE, (uint64_t)id + 1);
	proto_u64(&head, PACKET_FLAGS, FLAG_STATE_CLEARED);
	proto_bytes(&head, PACKET_DEFAULTS, buf_bytes(&defaults));
	packet(x, head.p, head.n, PACKET_CLOCK_SNAPSHOT, buf_bytes(&x->text));
	x->em.out->failed |= head.failed || defaults.failed;
	buf_free(&head);
	buf_free(&defaults);
	map_clear(&q->texts);
	q->names = q->strings = q->sites = 0;
	q->categories = 0;
	memset(q->keys, 0, sizeof(q->keys));
	q->last_ns = ns;
	q->begun = true;
}

/* The sequence that a packet of this time will be of; what it refers to may be made known from then on. */
static struct sequence *sequence_of(struct perfetto *x, uint32_t id, int64_t ns)
{
	struct sequence *q;

	while (x->sequences.n <= id)
		if (!vec_push(&x->sequences, (struct sequence){ 0 }))
			return NULL;
	q = &x->sequences.v[id];
	if (!q->begun || q->texts.n >= TEXTS_MAX)
		sequence_begin(x, q, id, q->begun && q->last_ns > ns ? q->last_ns : ns);
	return q;
}

static void event_packet(struct perfetto *x, struct sequence *q, uint32_t id, int64_t ns,
			 struct bytes body)
{
	char head[3 * PROTO_FIELD_MAX], *p = head;

	if (ns >= q->last_ns) {
		p = proto_at_u64(p, PACKET_TIMESTAMP, (uint64_t)(ns - q->last_ns));
		q->last_ns = ns;
	} else {
		p = proto_at_u64(p, PACKET_TIMESTAMP, (uint64_t)ns);
		p = proto_at_u64(p, PACKET_CLOCK, CLOCK_OF_MONO);
	}
	p = proto_at_u64(p, PACKET_SEQUENCE, (uint64_t)id + 1);
	packet(x, head, (size_t)(p - head), PACKET_TRACK_EVENT, body);
}

static void entry(struct perfetto *x, unsigned kind, uint32_t number, struct bytes text)
{
	buf_reset(&x->entry);
	proto_u64(&x->entry, ENTRY_ID, number);
	proto_bytes(&x->entry, ENTRY_TEXT, text);
	proto_bytes(&x->interned, kind, buf_bytes(&x->entry));
}

static uint64_t text_key(enum text_of of, uint64_t id)
{
	return of == OF_TEXT ? id : (uint64_t)of << 40 | id;
}

/* The number of a text that was told; 0: it gets *next, which the caller tells. */
static uint32_t number_of(struct perfetto *x, struct sequence *q, uint64_t key, uint32_t *next)
{
	uint64_t number;

	if (map_get(&q->texts, key, &number))
		return (uint32_t)number;
	x->nomem |= !map_put(&q->texts, key, ++*next);
	return 0;
}

static uint32_t name_number(struct perfetto *x, struct sequence *q, const struct timeline_slice *s)
{
	uint64_t key =
		s->name ? text_key(OF_NAME, s->name) : text_key(OF_OP, s->op ? s->op->id : 0);
	uint32_t number = number_of(x, q, key, &q->names);

	if (number)
		return number;
	buf_reset(&x->text);
	if (s->name)
		notes_clean(&x->text, world_text(x->em.w, s->name));
	else
		buf_puts(&x->text, s->op ? s->op->name : "unknown");
	entry(x, INTERNED_NAME, q->names, buf_bytes(&x->text));
	return q->names;
}

static uint32_t string_number(struct perfetto *x, struct sequence *q, const struct note *note)
{
	uint64_t key = note->kind == NOTE_STRING
			       ? text_key(OF_STRING, note->number)
			       : text_key(OF_TEXT, hash_u64(note->number) ^ hash_u64(note->id));
	uint32_t number = number_of(x, q, key, &q->strings);

	if (number)
		return number;
	buf_reset(&x->text);
	note_text(&x->text, x->em.w, note);
	entry(x, INTERNED_STRING, q->strings, buf_bytes(&x->text));
	return q->strings;
}

static void site_entry(struct perfetto *x, uint32_t frame, uint32_t number)
{
	struct place p = place_of(x->em.w, frame);
	struct bytes file = p.file.n ? p.file : p.module;

	buf_reset(&x->entry);
	proto_u64(&x->entry, ENTRY_ID, number);
	buf_reset(&x->text);
	notes_clean(&x->text, file);
	if (file.n)
		proto_bytes(&x->entry, SITE_FILE, buf_bytes(&x->text));
	buf_reset(&x->text);
	place_name(&x->text, &p);
	if (x->text.n > NOTES_TEXT_MAX)
		x->text.n = NOTES_TEXT_MAX;
	proto_bytes(&x->entry, SITE_FUNCTION, buf_bytes(&x->text));
	if (p.line && p.line <= UINT32_MAX)
		proto_u64(&x->entry, SITE_LINE, p.line);
	proto_bytes(&x->interned, INTERNED_SITE, buf_bytes(&x->entry));
}

/* Where in the program; 0: not known. Many stacks share a site. */
static uint32_t site_number(struct perfetto *x, struct sequence *q, uint32_t stack)
{
	uint64_t number;
	uint32_t frame;

	if (map_get(&q->texts, text_key(OF_STACK, stack), &number))
		return (uint32_t)number;
	frame = notes_site(x->em.w, stack);
	if (!frame)
		return 0;
	number = number_of(x, q, text_key(OF_FRAME, frame), &q->sites);
	if (!number) {
		number = q->sites;
		site_entry(x, frame, q->sites);
	}
	x->nomem |= !map_put(&q->texts, text_key(OF_STACK, stack), number);
	return (uint32_t)number;
}

static char *put_note(struct perfetto *x, struct sequence *q, char *p, const struct note *note)
{
	char body[3 * PROTO_FIELD_MAX], *b = body;

	if (!(q->keys[note->id / 64] >> note->id % 64 & 1)) {
		q->keys[note->id / 64] |= UINT64_C(1) << note->id % 64;
		entry(x, INTERNED_KEY, note->id, bytes_of(note->key));
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

static bool told_slice(struct perfetto *x, const struct track *t, const struct timeline_slice *s,
		       unsigned type)
{
	struct sequence *q = sequence_of(x, t->id, s->start_ns);
	char body[EVENT_MAX], *p = body;
	struct note notes[NOTES_MAX];
	unsigned n, source = s->op ? s->op->source : 0;
	uint32_t site;

	if (!q)
		return false;
	p = proto_at_u64(p, EVENT_TYPE, type);
	if (s->lost) {
		p = put_text(p, EVENT_NAME_TEXT, s->lost);
		p = put_text(p, EVENT_CATEGORY_TEXT, "loss");
	} else {
		p = proto_at_u64(p, EVENT_NAME, name_number(x, q, s));
	}
	if (s->op && source < 64) {
		if (!(q->categories >> source & 1))
			entry(x, INTERNED_CATEGORY, source + 1, bytes_of(s->op->source_name));
		q->categories |= UINT64_C(1) << source;
		p = proto_at_u64(p, EVENT_CATEGORY, source + 1);
	}
	site = s->stack && x->em.opt.stacks ? site_number(x, q, s->stack) : 0;
	if (site)
		p = proto_at_u64(p, EVENT_SITE, site);
	if (s->arrows)
		p = put_arrows(p, s->arrows);
	n = s->event ? notes_of(notes, x->em.w, x->em.told, s->event, s->op, s->process) : 0;
	for (unsigned i = 0; i < n; i++)
		p = put_note(x, q, p, &notes[i]);
	event_packet(x, q, t->id, s->start_ns, (struct bytes){ body, (size_t)(p - body) });
	return !x->nomem;
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
		notes_clean(&x->text, text);
		proto_bytes(&x->entry, field, buf_bytes(&x->text));
	} else {
		proto_bytes(&x->entry, field, text);
	}
	proto_bytes(body, EVENT_NOTE, buf_bytes(&x->entry));
}

static bool told_chain(struct perfetto *x, const struct track *t, const struct timeline_slice *s,
		       unsigned type)
{
	struct sequence *q = sequence_of(x, t->id, s->start_ns);
	const char *severity = chain_severity_name(s->chain->severity);
	struct buf body = { 0 };

	if (!q)
		return false;
	proto_u64(&body, EVENT_TYPE, type);
	proto_bytes(&body, EVENT_CATEGORY_TEXT, bytes_of("causal_chain"));
	buf_reset(&x->text);
	buf_printf(&x->text, "%s: ", severity);
	notes_clean(&x->text, s->chain->summary);
	proto_bytes(&body, EVENT_NAME_TEXT, buf_bytes(&x->text));
	proto_bytes(&body, EVENT_COLOUR, bytes_of(severity));
	chain_note(x, &body, "severity", NOTE_F_TEXT, bytes_of(severity), 0);
	chain_note(x, &body, "kind", NOTE_F_TEXT, s->chain->kind, 0);
	chain_note(x, &body, "id", NOTE_F_TEXT, s->chain->id, 0);
	chain_note(x, &body, "count", NOTE_F_UINT, (struct bytes){ 0 }, s->chain->count);
	chain_note(x, &body, "lost_ns", NOTE_F_UINT, (struct bytes){ 0 }, s->chain->lost_ns);
	if (s->chain->body.is) {
		buf_reset(&x->text);
		json_dump(&x->text, s->chain->body, 0);
		chain_note(x, &body, "evidence", NOTE_F_JSON, buf_bytes(&x->text), 0);
	}
	x->em.out->failed |= body.failed;
	event_packet(x, q, t->id, s->start_ns, buf_bytes(&body));
	buf_free(&body);
	return true;
}

static bool sink_begin(void *ctx, const struct track *t, const struct timeline_slice *s)
{
	return s->chain ? told_chain(ctx, t, s, TYPE_BEGIN) : told_slice(ctx, t, s, TYPE_BEGIN);
}

static bool sink_instant(void *ctx, const struct track *t, const struct timeline_slice *s)
{
	return s->chain ? told_chain(ctx, t, s, TYPE_INSTANT) : told_slice(ctx, t, s, TYPE_INSTANT);
}

static bool sink_end(void *ctx, const struct track *t, int64_t ns)
{
	static const char body[] = { EVENT_TYPE << 3 | PROTO_VARINT, TYPE_END };
	struct perfetto *x = ctx;
	struct sequence *q = &x->sequences.v[t->id];

	event_packet(x, q, t->id, ns, (struct bytes){ body, sizeof(body) });
	return true;
}

static bool sink_value(void *ctx, const struct track *t, int64_t ns, double value)
{
	struct perfetto *x = ctx;
	struct sequence *q = sequence_of(x, 0, ns);
	char body[3 * PROTO_FIELD_MAX], *p = body;

	if (!q)
		return false;
	p = proto_at_u64(p, EVENT_TYPE, TYPE_VALUE);
	p = proto_at_u64(p, EVENT_TRACK, t->id);
	p = proto_at_double(p, EVENT_VALUE, value);
	event_packet(x, q, 0, ns, (struct bytes){ body, (size_t)(p - body) });
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
	clock_reading(&x->text, &x->entry, CLOCK_OF_MONO, r->mono_ns, false);
	clock_reading(&x->text, &x->entry, CLOCK_OF_BOOT, r->boot_ns, false);
	clock_reading(&x->text, &x->entry, CLOCK_OF_REAL, r->real_ns, false);
	proto_u64(&x->text, SNAPSHOT_PRIMARY, CLOCK_OF_MONO);
	packet(x, "", 0, PACKET_CLOCK_SNAPSHOT, buf_bytes(&x->text));
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
	packet(x, "", 0, PACKET_DESCRIPTOR, buf_bytes(&body));
	ok = !body.failed && !inner.failed;
	buf_free(&body);
	buf_free(&inner);
	return ok;
}

static const struct timeline_sink sink = { sink_track, sink_begin, sink_end,  sink_instant,
					   sink_begin, sink_value, sink_clock };

static void *open_trace(const struct emit *em)
{
	struct perfetto *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->em = *em;
	timeline_init(&x->tl, &sink, x, em->w, em->told);
	return x;
}

static int whole(const struct perfetto *x, int rc, struct err *e)
{
	bool failed = x->em.out->failed || x->interned.failed || x->text.failed || x->entry.failed;

	return rc ? rc : failed ? err_nomem(e) : 0;
}

static int item(void *state, const struct stream_item *it, struct err *e)
{
	struct perfetto *x = state;

	return whole(x, timeline_item(&x->tl, it, e), e);
}

static int finish(void *state, struct err *e)
{
	struct perfetto *x = state;

	return whole(x, timeline_finish(&x->tl, e), e);
}

static void free_trace(void *state)
{
	struct perfetto *x = state;

	for (size_t i = 0; i < x->sequences.n; i++)
		map_free(&x->sequences.v[i].texts);
	vec_free(&x->sequences);
	timeline_free(&x->tl);
	buf_free(&x->interned);
	buf_free(&x->text);
	buf_free(&x->entry);
	free(x);
}

const struct emit_format emit_perfetto = {
	.name = "perfetto",
	.endings = ".pftrace .perfetto-trace",
	.help = "a timeline for Perfetto (ui.perfetto.dev)",
	.binary = true,
	.open = open_trace,
	.item = item,
	.finish = finish,
	.free = free_trace,
};
