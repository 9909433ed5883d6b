/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the records of files and sockets in a ring by number: the kernel side gives out consecutive
 * numbers. */
#include "lib/decode/kernel_id_names.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"

/* Texts of the record become the copy's own. */
static bool own_texts(struct decode_number *name)
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

bool kernel_id_names_put(struct kernel_id_names *n, uint32_t number, uint64_t id,
			 const struct record *r)
{
	struct decode_number name = { .number = number, .id = id, .record = *r }, *at;

	while (n->v.n <= number % KERNEL_ID_NAMES) {
		if (!vec_push(&n->v, (struct decode_number){ 0 }))
			return false;
	}
	if (!own_texts(&name))
		return false;
	at = &n->v.v[number % KERNEL_ID_NAMES];
	free(at->texts);
	free(at->holders);
	*at = name;
	n->newest = number > n->newest ? number : n->newest;
	return true;
}

static bool has_near(const struct decode_holders *h, uint32_t pid)
{
	for (unsigned i = 0; i < h->nnear; i++) {
		if (h->near[i] == pid)
			return true;
	}
	return false;
}

static void emit_peers(const struct decode_number *at, decode_number_fn *say, void *ctx)
{
	const struct decode_holders *h = at->holders;

	for (unsigned i = 0; h && h->whole && !h->more && i < h->nfar; i++) {
		const struct decode_holder *peer = &h->far[i];
		struct bytes comm = { peer->comm, strnlen(peer->comm, sizeof(peer->comm)) };
		struct record r = { .kind = RECORD_PEER };

		if (has_near(h, peer->pid))
			continue;
		REC_SET(&r, PEER, socket, at->id);
		REC_SET(&r, PEER, pid, peer->pid);
		if (comm.n)
			REC_SET(&r, PEER, comm, comm);
		say(ctx, &r);
	}
}

/* Emits the record once in each file. */
static void emit_once(struct kernel_id_names *n, struct decode_number *at, decode_number_fn *say,
		      void *ctx)
{
	uint64_t as = said_as(at->id, &at->record);

	if (map_get(&n->said, as, NULL) || !map_put(&n->said, as, 1))
		return;
	say(ctx, &at->record);
	emit_peers(at, say, ctx);
}

/* NULL: the number is unknown. */
static struct decode_number *find_number(struct kernel_id_names *n, uint32_t number)
{
	uint32_t place = number % KERNEL_ID_NAMES;

	return number && place < n->v.n && n->v.v[place].number == number ? &n->v.v[place] : NULL;
}

bool kernel_id_names_use(struct kernel_id_names *n, uint32_t number, int64_t end_ns, uint64_t *id,
			 decode_number_fn *say, void *ctx)
{
	struct decode_number *at = find_number(n, number);

	if (!at)
		return false;
	*id = at->id;
	at->used_ns = end_ns > at->used_ns ? end_ns : at->used_ns;
	if (n->said.n >= KERNEL_ID_NAMES)
		map_clear(&n->said); /* some are said twice */
	emit_once(n, at, say, ctx);
	return true;
}

static void add_holder(struct decode_holders *h, bool near, uint32_t tgid, const char comm[16])
{
	if (near && has_near(h, tgid))
		return;
	for (unsigned i = 0; !near && i < h->nfar; i++) {
		if (h->far[i].pid == tgid)
			return;
	}
	if ((near ? h->nnear : h->nfar) == KERNEL_ID_HOLDERS) {
		h->more = true;
	} else if (near) {
		h->near[h->nnear++] = tgid;
	} else {
		h->far[h->nfar].pid = tgid;
		memcpy(h->far[h->nfar++].comm, comm, sizeof(h->far[0].comm));
	}
}

bool kernel_id_names_holder(struct kernel_id_names *n, uint32_t number, bool near, uint32_t tgid,
			    const char comm[16])
{
	struct decode_number *at = find_number(n, number);

	if (!at)
		return false;
	if ((!at->holders || at->holders->whole) && !vec_push(&n->looked, number))
		return false;
	if (!at->holders)
		at->holders = calloc(1, sizeof(*at->holders));
	if (!at->holders)
		return false;
	at->holders->whole = false;
	add_holder(at->holders, near, tgid, comm);
	return true;
}

void kernel_id_names_peers(struct kernel_id_names *n, decode_number_fn *say, void *ctx)
{
	for (size_t i = 0; i < n->looked.n; i++) {
		struct decode_number *at = find_number(n, n->looked.v[i]);
		uint64_t id;

		if (!at || !at->holders || at->holders->whole)
			continue;
		at->holders->whole = true;
		if (map_get(&n->said, said_as(at->id, &at->record), NULL))
			emit_peers(at, say, ctx);
		else if (at->holders->nfar)
			kernel_id_names_use(n, at->number, 0, &id, say, ctx);
	}
	n->looked.n = 0;
}

void kernel_id_names_again(struct kernel_id_names *n, int64_t since_ns, decode_number_fn *say,
			   void *ctx)
{
	map_clear(&n->said);
	for (size_t i = 0; i < n->v.n; i++) {
		struct decode_number *at = &n->v.v[i];

		if (at->number && at->used_ns >= since_ns)
			emit_once(n, at, say, ctx);
	}
}

bool kernel_id_names_many(struct kernel_id_names *n)
{
	if (n->newest - n->renewed < KERNEL_ID_NAMES / 2)
		return false;
	n->renewed = n->newest;
	return true;
}

void kernel_id_names_free(struct kernel_id_names *n)
{
	for (size_t i = 0; i < n->v.n; i++) {
		free(n->v.v[i].texts);
		free(n->v.v[i].holders);
	}
	vec_free(&n->v);
	vec_free(&n->looked);
	map_free(&n->said);
}
