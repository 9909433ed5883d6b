/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes findings as CHAIN records: their stable id, one sentence, and the evidence as JSON. Ids
 * are FNV-1a over what the thing is, so that they are the same in every file and every version that
 * finds the same fact.
 */
#include "lib/account/chain_records.h"

#include "lib/model/finding_json.h"

#define FNV_PRIME 0x100000001b3u

uint64_t chain_hash(uint64_t h, const void *p, size_t n)
{
	const unsigned char *b = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * FNV_PRIME;
	return (h ^ 0xff) * FNV_PRIME; /* ends each part */
}

uint64_t chain_hash_u64(uint64_t h, uint64_t v)
{
	unsigned char b[8];

	for (unsigned i = 0; i < 8; i++)
		b[i] = (unsigned char)(v >> (8 * i));
	return chain_hash(h, b, sizeof(b));
}

uint64_t chain_hash_victim(uint64_t h, const struct cause *c, uint32_t process, uint32_t node)
{
	const struct world_process *v = world_get_process(c->w, process);
	const struct world_node *n = world_get_node(c->w, node ? node : v ? v->node : 0);

	if (n) {
		h = chain_hash(h, n->uuid, sizeof(n->uuid));
		h = chain_hash_u64(h, n->boot);
	}
	if (v) {
		h = chain_hash_u64(h, v->tgid);
		h = chain_hash_u64(h, v->start_ns);
	}
	return h;
}

int chain_emit(struct cause *c, const struct finding *f, struct err *e)
{
	struct record r = { .kind = RECORD_CHAIN };
	struct buf body = { 0 };
	struct jsonw j;
	int rc;

	jsonw_init(&j, &body, false);
	finding_write_json(f, &j);
	REC_SET(&r, CHAIN, time_ns, f->time_ns);
	REC_SET(&r, CHAIN, id, f->id);
	REC_SET(&r, CHAIN, match, f->match);
	REC_SET(&r, CHAIN, revision, f->revision);
	REC_SET(&r, CHAIN, kind, f->kind);
	REC_SET(&r, CHAIN, severity, f->severity);
	REC_SET(&r, CHAIN, first_ns, f->first_ns);
	REC_SET(&r, CHAIN, last_ns, f->last_ns);
	REC_SET(&r, CHAIN, count, f->count);
	REC_SET(&r, CHAIN, lost_ns, f->lost_ns);
	REC_SET(&r, CHAIN, summary, f->summary);
	REC_SET(&r, CHAIN, body, buf_bytes(&body));
	rc = f->failed || body.failed ? err_nomem(e) : c->sink->record(c->sink, &r, e);
	buf_free(&body);
	return rc;
}
