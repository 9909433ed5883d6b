/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identity, sentence and record of a finding. Ids are FNV-1a over what the thing is, so that they are
 * the same in every file and every version that finds the same fact.
 */
#include "lib/cause/chain.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/base/timetext.h"
#include "lib/cause/group.h"
#include "lib/cause/group_details.h"
#include "lib/cause/names.h"
#include "lib/model/finding_json.h"

#define SITES_LOOKED_AT 32 /* for the call that lost most */
#define FNV_PRIME	0x100000001b3u

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

static void chain_ids(const struct group_view *f, const char *kind, char id[17], char match[17])
{
	const struct cause *c = f->c;
	const struct world_process *v = world_get_process(c->w, f->g->process);
	const struct world_node *node = v ? world_get_node(c->w, v->node) : NULL;
	struct bytes victim = name_process_first(c->w, &c->tally, f->g->process);
	struct buf who = { 0 };
	uint64_t a = CHAIN_HASH_START, b = CHAIN_HASH_START;

	/* A thread may change its name; it stays the one it was. */
	if (f->who && f->who->kind == CULPRIT_HOLDER) {
		struct bytes first = world_text(c->w, f->who->name);

		buf_add(&who, first.p ? first.p : "", first.n);
	} else if (f->who && f->who->kind == CULPRIT_OWN) {
		struct bytes first = name_process_first(c->w, &c->tally, f->who->process);

		buf_add(&who, first.p, first.n);
	} else {
		name_culprit(&who, c->w, &c->tally, f->who);
	}
	a = chain_hash(a, kind, strlen(kind));
	a = chain_hash(a, who.p ? who.p : "", who.n);
	b = chain_hash(a, victim.p, victim.n);
	if (node) {
		a = chain_hash(a, node->uuid, sizeof(node->uuid));
		a = chain_hash_u64(a, node->boot);
	}
	if (v) {
		a = chain_hash_u64(a, v->tgid);
		a = chain_hash_u64(a, v->start_ns);
	}
	if (f->who) {
		a = chain_hash_u64(a, (uint64_t)f->who->kind);
		if (f->who->gil || f->who->first)
			a = chain_hash_u64(a, 2u * f->who->first + f->who->gil);
		if (f->who->related)
			a = chain_hash_u64(a, 4);
		/* What would change with the next process of the same culprit is no part of its identity. */
		if (!f->who->young)
			a = chain_hash_u64(a, f->who->parent);
		if (f->who->kind == CULPRIT_TASK && f->who->parent == 0 && !f->who->young)
			a = chain_hash_u64(a, f->who->pids[0]);
	}
	snprintf(id, 17, "%016" PRIx64, a);
	snprintf(match, 17, "%016" PRIx64, b);
	buf_free(&who);
}

static void site_text(const struct cause *c, const struct cause_site *s, struct buf *out)
{
	uint32_t frame = name_site_frame(c->w, s->stack);

	if (s->op) {
		buf_puts(out, "in ");
		name_op(out, c->w, s->op);
		if (frame) {
			buf_puts(out, " called from ");
			name_frame(out, c->w, frame);
		}
	} else if (frame) {
		buf_puts(out, "in ");
		name_frame(out, c->w, frame);
	} else {
		name_op(out, c->w, 0);
	}
}

/* Where most of it was lost; when that is no call and has no stack, the call that lost most as well. */
static void where_text(const struct cause *c, const struct tally_group *g, struct buf *out)
{
	const struct tally_process *p = &c->tally.processes.v[g->process];
	const struct cause_site *s;
	struct group_site top[SITES_LOOKED_AT];
	unsigned n = group_sites(c, g, top, SITES_LOOKED_AT);
	char text[48];

	if (n == 0)
		return;
	s = &c->classes.sites.v[top[0].id];
	if (s->op || s->stack || p->calls) {
		buf_puts(out, "mostly ");
		site_text(c, s, out);
	}
	for (unsigned i = 1; i < n && s->op == 0; i++) {
		const struct cause_site *call = &c->classes.sites.v[top[i].id];

		if (call->op == 0)
			continue;
		buf_printf(out, "; %s of it ", duration_text(text, sizeof(text), top[i].lost_ns));
		site_text(c, call, out);
		break;
	}
}

/* What share of its own running time the victim loses to everything but this. */
static double others_rate(const struct cause *c, const struct tally_group *g)
{
	const struct tally_process *p = &c->tally.processes.v[g->process];
	uint64_t all = tally_threads_ns(&c->tally, p);

	return all && p->host_ns > g->ns ? (double)(p->host_ns - g->ns) / (double)all : 0;
}

static double share_of_wall(struct cause *c, const struct tally_group *g)
{
	uint64_t wall = cause_wall_ns(c);

	return wall ? (double)tally_group_worst_thread(&c->tally, g, INT64_MAX) / (double)wall : 0;
}

/* Its tasks as this victim sees them: of workers of one command each is one of the others' culprit, and none its own. */
static void without_victim(struct line_culprit *who, uint32_t victim_pid)
{
	uint32_t n = who->npids < CULPRIT_PIDS ? who->npids : CULPRIT_PIDS, left = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (who->pids[i] != victim_pid)
			who->pids[left++] = who->pids[i];
	}
	who->npids -= n - left;
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

int chain_tell(struct cause *c, const struct tally_group *g, const struct detector *d,
	       int64_t time_ns, struct err *e)
{
	const struct world_process *v = world_get_process(c->w, g->process);
	struct buf victim = { 0 }, culprit = { 0 }, where = { 0 }, summary = { 0 };
	struct group_view f = { .c = c,
				.g = g,
				.who = culprit_get(c->tally.culprits, g->culprit),
				.lost_ns = g->ns,
				.count = g->count,
				.share = share_of_wall(c, g),
				.others = others_rate(c, g),
				.victim_pid = v ? v->tgid : 0 };
	struct finding found = { .time_ns = time_ns,
				 .revision = g->revision,
				 .kind = bytes_of(d->kind),
				 .severity = g->severity,
				 .first_ns = g->first_ns,
				 .last_ns = g->last_ns,
				 .count = g->count,
				 .lost_ns = g->ns };
	struct line_culprit who;
	char id[17], match[17];
	int rc;

	if (f.who && f.who->kind == CULPRIT_CGROUP) {
		/* The events say in which cgroup a thread is, samples whose quota it uses up. */
		who = *f.who;
		who.object = cause_cgroups_quota(&c->cgroups, g->process, (uint32_t)who.object);
		f.who = &who;
	} else if (f.who && f.who->kind == CULPRIT_TASK) {
		who = *f.who;
		without_victim(&who, f.victim_pid);
		f.who = &who;
	}
	name_victim(&victim, c->w, &c->tally, g->process);
	if (f.who)
		name_culprit_full(&culprit, c->w, &c->tally, f.who);
	else
		buf_puts(&culprit, "Several other commands");
	where_text(c, g, &where);
	f.victim = buf_text(&victim);
	f.culprit = buf_text(&culprit);
	f.where = buf_text(&where);
	d->summary(&f, &summary);
	chain_ids(&f, d->kind, id, match);
	found.id = bytes_of(id);
	found.match = bytes_of(match);
	found.summary = buf_bytes(&summary);
	group_fill_details(&f, d, &found);
	found.failed |= victim.failed || culprit.failed || where.failed || summary.failed;
	rc = chain_emit(c, &found, e);
	finding_free(&found);
	buf_free(&victim);
	buf_free(&culprit);
	buf_free(&where);
	buf_free(&summary);
	return rc;
}
