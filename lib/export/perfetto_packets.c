/* SPDX-License-Identifier: Apache-2.0 */
/* Writes Perfetto trace packets; a sequence begins when its first packet is written. */
#include "lib/export/perfetto_packets.h"

#include <string.h>

#include "lib/base/proto.h"
#include "lib/export/perfetto_form.h"

#define TEXTS_MAX                                                                              \
	65536 /* of a sequence, which then forgets them and begins anew: ours and the reader's \
		 memory */

void packets_free(struct packets *x)
{
	for (size_t i = 0; i < x->sequences.n; i++)
		map_free(&x->sequences.v[i].texts);
	vec_free(&x->sequences);
	buf_free(&x->interned);
	buf_free(&x->scratch);
}

bool packets_failed(const struct packets *x)
{
	return x->nomem || x->out->failed || x->interned.failed || x->scratch.failed;
}

void packets_put(struct packets *x, const char *head, size_t nhead, unsigned field,
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
	out = buf_reserve(x->out, n + (size_t)(q - front));
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
	buf_added(x->out, n + body.n);
}

void packets_clock(struct packets *x, struct buf *snapshot, unsigned id, int64_t ns,
		   bool incremental)
{
	buf_reset(&x->scratch);
	proto_u64(&x->scratch, CLOCK_ID, id);
	proto_u64(&x->scratch, CLOCK_VALUE, (uint64_t)ns);
	if (incremental)
		proto_u64(&x->scratch, CLOCK_INCREMENTAL, 1);
	proto_bytes(snapshot, SNAPSHOT_CLOCK, buf_bytes(&x->scratch));
}

/* From here on its times are differences, from ns on, and its events stand on its line. */
static void sequence_begin(struct packets *x, struct packet_sequence *q, uint32_t id, int64_t ns)
{
	struct buf head = { 0 }, defaults = { 0 }, clocks = { 0 };

	packets_clock(x, &clocks, CLOCK_OF_MONO, ns, false);
	packets_clock(x, &clocks, CLOCK_OF_SEQUENCE, ns, true);
	proto_u64(&clocks, SNAPSHOT_PRIMARY, CLOCK_OF_MONO);
	buf_reset(&x->scratch);
	proto_u64(&x->scratch, EVENT_TRACK, id);
	proto_bytes(&defaults, DEFAULTS_TRACK_EVENT, buf_bytes(&x->scratch));
	proto_u64(&defaults, DEFAULTS_CLOCK, CLOCK_OF_SEQUENCE);
	proto_u64(&head, PACKET_SEQUENCE, (uint64_t)id + 1);
	proto_u64(&head, PACKET_FLAGS, FLAG_STATE_CLEARED);
	proto_bytes(&head, PACKET_DEFAULTS, buf_bytes(&defaults));
	packets_put(x, head.p, head.n, PACKET_CLOCK_SNAPSHOT, buf_bytes(&clocks));
	x->out->failed |= head.failed || defaults.failed || clocks.failed;
	buf_free(&head);
	buf_free(&defaults);
	buf_free(&clocks);
	map_clear(&q->texts);
	q->names = q->strings = q->sites = 0;
	q->categories = 0;
	memset(q->keys, 0, sizeof(q->keys));
	q->last_ns = ns;
	q->begun = true;
}

struct packet_sequence *packets_sequence(struct packets *x, uint32_t id, int64_t ns)
{
	struct packet_sequence *q;

	if (!vec_reach(&x->sequences, id))
		return NULL;
	q = &x->sequences.v[id];
	if (!q->begun || q->texts.n >= TEXTS_MAX)
		sequence_begin(x, q, id, q->begun && q->last_ns > ns ? q->last_ns : ns);
	return q;
}

void packets_event(struct packets *x, struct packet_sequence *q, uint32_t id, int64_t ns,
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
	packets_put(x, head, (size_t)(p - head), PACKET_TRACK_EVENT, body);
}

void packets_entry(struct packets *x, unsigned kind, uint32_t number, struct bytes text)
{
	buf_reset(&x->scratch);
	proto_u64(&x->scratch, ENTRY_ID, number);
	proto_bytes(&x->scratch, ENTRY_TEXT, text);
	proto_bytes(&x->interned, kind, buf_bytes(&x->scratch));
}

uint64_t packets_key(enum packet_text of, uint64_t id)
{
	return of == OF_TEXT ? id : (uint64_t)of << 40 | id;
}

uint32_t packets_number(struct packets *x, struct packet_sequence *q, uint64_t key, uint32_t *next)
{
	uint64_t number;

	if (map_get(&q->texts, key, &number))
		return (uint32_t)number;
	x->nomem |= !map_put(&q->texts, key, ++*next);
	return 0;
}
