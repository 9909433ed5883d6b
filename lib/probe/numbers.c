/* SPDX-License-Identifier: Apache-2.0 */
/* A ring by number: numbers grow by one, whoever gets them. */
#include "lib/probe/numbers.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"

/* Texts of the record become the copy's own. */
static bool own_texts(struct probe_number *name)
{
	const struct record_def *def = record_builtin(name->record.kind);
	char *body = (char *)&name->record.u, *to;
	struct bytes text;
	size_t bytes = 0;

	for (unsigned i = 0; i < def->nfields; i++) {
		if (def->fields[i].type != REC_TEXT)
			continue;
		memcpy(&text, body + def->fields[i].offset, sizeof(text));
		bytes += text.n;
	}
	to = name->texts = malloc(bytes + 1);
	for (unsigned i = 0; to && i < def->nfields; i++) {
		if (def->fields[i].type != REC_TEXT)
			continue;
		memcpy(&text, body + def->fields[i].offset, sizeof(text));
		if (text.n)
			memcpy(to, text.p, text.n);
		text.p = to;
		to += text.n;
		memcpy(body + def->fields[i].offset, &text, sizeof(text));
	}
	return to != NULL;
}

/* What of it is said once: a socket whose role was not known before is said again. */
static uint64_t said_as(uint64_t id, const struct record *r)
{
	const struct bytes *role = &r->u.SOCKET.role;

	return r->kind == RECORD_SOCKET && REC_HAS(r, SOCKET, role) && role->n
		       ? hash_bytes(role->p, role->n, id)
		       : id;
}

bool probe_numbers_put(struct probe_numbers *n, uint32_t number, uint64_t id,
		       const struct record *r)
{
	struct probe_number name = { .number = number, .id = id, .record = *r }, *at;

	while (n->v.n <= number % PROBE_NUMBERS) {
		if (!vec_push(&n->v, (struct probe_number){ 0 }))
			return false;
	}
	if (!own_texts(&name))
		return false;
	at = &n->v.v[number % PROBE_NUMBERS];
	free(at->texts);
	*at = name;
	n->newest = number > n->newest ? number : n->newest;
	return true;
}

static void say_peer(const struct probe_number *at, probe_number_fn *say, void *ctx)
{
	struct bytes comm = { at->comm, strnlen(at->comm, sizeof(at->comm)) };
	struct record r = { .kind = RECORD_PEER };

	REC_SET(&r, PEER, socket, at->id);
	REC_SET(&r, PEER, pid, at->peer);
	if (comm.n)
		REC_SET(&r, PEER, comm, comm);
	say(ctx, &r);
}

/* Once in each file. */
static void tell(struct probe_numbers *n, struct probe_number *at, probe_number_fn *say, void *ctx)
{
	uint64_t as = said_as(at->id, &at->record);

	if (map_get(&n->said, as, NULL) || !map_put(&n->said, as, 1))
		return;
	say(ctx, &at->record);
	if (at->peer)
		say_peer(at, say, ctx);
}

/* NULL: it does not stand for anything. */
static struct probe_number *find(struct probe_numbers *n, uint32_t number)
{
	uint32_t place = number % PROBE_NUMBERS;

	return number && place < n->v.n && n->v.v[place].number == number ? &n->v.v[place] : NULL;
}

bool probe_numbers_use(struct probe_numbers *n, uint32_t number, int64_t end_ns, uint64_t *id,
		       probe_number_fn *say, void *ctx)
{
	struct probe_number *at = find(n, number);

	if (!at)
		return false;
	*id = at->id;
	at->used_ns = end_ns > at->used_ns ? end_ns : at->used_ns;
	if (n->said.n >= PROBE_NUMBERS)
		map_clear(&n->said); /* some are said twice */
	tell(n, at, say, ctx);
	return true;
}

bool probe_numbers_peer(struct probe_numbers *n, uint32_t number, uint32_t tgid,
			const char comm[16], probe_number_fn *say, void *ctx)
{
	struct probe_number *at = find(n, number);
	uint64_t id;

	if (!probe_numbers_use(n, number, 0, &id, say, ctx))
		return false;
	at->peer = tgid;
	memcpy(at->comm, comm, sizeof(at->comm));
	say_peer(at, say, ctx);
	return true;
}

void probe_numbers_again(struct probe_numbers *n, int64_t since_ns, probe_number_fn *say, void *ctx)
{
	map_clear(&n->said);
	for (size_t i = 0; i < n->v.n; i++) {
		struct probe_number *at = &n->v.v[i];

		if (at->number && at->used_ns >= since_ns)
			tell(n, at, say, ctx);
	}
}

bool probe_numbers_many(struct probe_numbers *n)
{
	if (n->newest - n->renewed < PROBE_NUMBERS / 2)
		return false;
	n->renewed = n->newest;
	return true;
}

void probe_numbers_free(struct probe_numbers *n)
{
	for (size_t i = 0; i < n->v.n; i++)
		free(n->v.v[i].texts);
	vec_free(&n->v);
	map_free(&n->said);
}
