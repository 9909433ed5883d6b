/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identity and sentence of a finding of lost time.
 */
#include "lib/account/loss_chain.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/base/timetext.h"
#include "lib/account/chain_records.h"
#include "lib/account/fact.h"
#include "lib/account/loss_details.h"
#include "lib/account/loss_gaps.h"
#include "lib/account/loss_places.h"
#include "lib/account/names.h"

static void make_ids(const struct loss_view *f, const char *kind, char id[17], char match[17])
{
	const struct cause *c = f->c;
	struct bytes victim = name_process_first(c->w, &c->tally, f->loss->process);
	struct buf who = { 0 };
	uint64_t a = CHAIN_HASH_START, b = CHAIN_HASH_START;

	/* Whichever of a pool was met first, and whatever it is called later. */
	if (f->who && (f->who->kind == CULPRIT_HOLDER || f->who->named)) {
		struct bytes first = bytes_without_number(world_text(c->w, f->who->name));

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
	if (f->loss->sort)
		a = chain_hash_u64(a, f->loss->sort);
	a = chain_hash_victim(a, c, f->loss->process, 0);
	if (f->who) {
		a = chain_hash_u64(a, (uint64_t)f->who->kind);
		if (f->who->lock || f->who->first)
			a = chain_hash_u64(a, 2u * f->who->first + (f->who->lock == LOCK_GIL) +
						      8u * (f->who->lock == LOCK_MAP));
		if (f->who->related)
			a = chain_hash_u64(a, 4);
		/* What would change with the next process of the same culprit is no part of its
		 * identity. */
		if (!f->who->young)
			a = chain_hash_u64(a, f->who->parent);
		if (f->who->kind == CULPRIT_TASK && f->who->parent == 0 && !f->who->young)
			a = chain_hash_u64(a, f->who->pids[0]);
	}
	snprintf(id, 17, "%016" PRIx64, a);
	snprintf(match, 17, "%016" PRIx64, b);
	buf_free(&who);
}

static void site_text(const struct cause *c, const struct where_place *p, struct buf *out)
{
	if (p->op || name_site_frame(c->w, p->stack))
		fact_place(c, p, out);
	else
		name_op(out, c->w, 0);
}

/* A call with less of a loss is not worth a word. */
#define CALL_SHARE 0.01

/* Where most of it was lost; when that is no call and has no stack, the call that lost most as
 * well. */
static void where_text(const struct cause *c, const struct loss *x, struct buf *out)
{
	struct where_place places[LOSS_PLACES];
	unsigned n = loss_places(c, x, places);
	char text[48];

	if (n == 0)
		return;
	if (places[0].op || places[0].stack || c->tally.processes.v[x->process].calls) {
		buf_puts(out, "mostly ");
		site_text(c, &places[0], out);
	}
	for (unsigned i = 1; i < n && places[0].op == 0; i++) {
		if ((double)places[i].lost_ns < CALL_SHARE * (double)x->ns)
			break;
		if (places[i].op == 0)
			continue;
		buf_printf(out, "; %s of it ",
			   duration_text(text, sizeof(text), places[i].lost_ns));
		site_text(c, &places[i], out);
		break;
	}
}

/* What share of its time the victim loses to everything but this. */
static double others_rate(const struct cause *c, const struct loss *x)
{
	const struct loss_process *p = lost_time_process(&c->lost_time, x->process);
	uint64_t all = p->span_ns ? p->span_ns : cause_wall_ns(c);

	if (x->family == LOSS_IDLE)
		return all ? (double)p->ns / (double)all : 0;
	return all && p->ns > x->ns ? (double)(p->ns - x->ns) / (double)all : 0;
}

/* Its tasks as this victim sees them: of workers of one command each is one of the others' culprit,
 * and none its own. */
static void without_victim(struct line_culprit *who, uint32_t victim_pid)
{
	uint32_t n = who->npids < CULPRIT_PIDS ? who->npids : CULPRIT_PIDS, left = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (who->pids[i] != victim_pid)
			who->pids[left++] = who->pids[i];
	}
	who->npids -= n - left;
}

/* How much of the loss one of the culprit's processes has. */
static uint64_t taken_by(const struct cause *c, const struct loss *x, uint32_t pid)
{
	for (size_t i = 0; i < x->elsewhere.of.n; i++) {
		const struct loss_amount *s = &x->elsewhere.of.v[i];
		const struct world_process *p = world_get_process(c->w, s->id);

		if (p && p->tgid == pid)
			return s->ns;
	}
	return 0;
}

/* The first of its processes, of which commands are, is the one that was waited for longest. */
static void longest_first(const struct cause *c, const struct loss *x, struct line_culprit *who)
{
	uint32_t n = who->npids < CULPRIT_PIDS ? who->npids : CULPRIT_PIDS;

	for (uint32_t i = 1; i < n; i++)
		for (uint32_t k = i;
		     k && taken_by(c, x, who->pids[k]) > taken_by(c, x, who->pids[k - 1]); k--) {
			uint32_t pid = who->pids[k];

			who->pids[k] = who->pids[k - 1];
			who->pids[k - 1] = pid;
		}
	for (size_t i = 0; i < x->elsewhere.of.n; i++) {
		const struct world_process *p = world_get_process(c->w, x->elsewhere.of.v[i].id);

		if (!p || !n || p->tgid != who->pids[0])
			continue;
		who->process = x->elsewhere.of.v[i].id;
		if (x->leaf && cause_process_of(c, x->leaf) == who->process)
			who->thread = x->leaf;
	}
}

/* One of several like it that has nearly all of what they took. */
#define ONE_OF_THEM 0.8

static bool is_one_of_them(const struct loss_view *f)
{
	uint64_t all = 0;

	if (!f->who || f->who->kind != CULPRIT_TASK || f->loss->family != LOSS_IDLE ||
	    f->who->npids < 2)
		return false;
	for (size_t i = 0; i < f->loss->elsewhere.of.n; i++)
		all += f->loss->elsewhere.of.v[i].ns;
	return all && (double)taken_by(f->c, f->loss, f->who->pids[0]) >= ONE_OF_THEM * (double)all;
}

/* Of several: who took most. */
static const struct line_culprit *lead_of(const struct cause *c, const struct loss *x)
{
	return x->takers.of.n ? culprit_get(c->tally.culprits, x->takers.of.v[0].id) : NULL;
}

static void name_taker(const struct loss_view *f, const struct line_culprit *who, struct buf *out)
{
	const struct cause *c = f->c;
	size_t others = f->who || !f->loss->takers.of.n ? 0 : f->loss->takers.of.n - 1;
	struct line_culprit one;

	if (is_one_of_them(f)) {
		one = *who;
		one.npids = 1;
		name_culprit_full(out, c->w, &c->tally, &one);
		buf_printf(out, " and %" PRIu32 " more like it", who->npids - 1);
		return;
	}
	name_culprit_full(out, c->w, &c->tally, who);
	if (others)
		buf_printf(out, " and %zu other%s", others, others == 1 ? "" : "s");
}

int loss_tell(struct cause *c, const struct loss *x, const struct loss_detector *d,
	      const struct loss_share *share, struct err *e)
{
	struct buf victim = { 0 }, culprit = { 0 }, where = { 0 }, summary = { 0 };
	struct loss_view f = { .c = c,
			       .loss = x,
			       .who = culprit_get(c->tally.culprits, x->culprit),
			       .lost_ns = x->ns,
			       .count = x->count,
			       .share = share->share,
			       .of = share->steps ? "its steps" : "wall time",
			       .others = others_rate(c, x),
			       .victim_pid = world_process_pid(c->w, x->process) };
	struct finding found = { .time_ns = c->settled_ns,
				 .revision = x->revision,
				 .kind = bytes_of(d->kind),
				 .severity = x->severity,
				 .first_ns = x->first_ns,
				 .last_ns = x->last_ns,
				 .count = x->count,
				 .lost_ns = x->ns };
	struct line_culprit who;
	char id[17], match[17];
	int rc;

	f.estimate = loss_gaps_estimate(c, x);
	f.lost_ns = found.lost_ns = (uint64_t)((double)x->ns * f.estimate.ns_factor + 0.5);
	f.count = found.count = (uint64_t)((double)x->count * f.estimate.count_factor + 0.5);
	if (f.who && f.who->kind == CULPRIT_TASK) {
		who = *f.who;
		without_victim(&who, f.victim_pid);
		f.who = &who;
	}
	make_ids(&f, d->kind, id, match);
	if (f.who && f.who->kind == CULPRIT_CGROUP) {
		/* The events say in which cgroup a thread is, samples, which may come later, whose
		 * quota it uses up: that is no part of its identity. */
		who = *f.who;
		who.object = cause_cgroups_quota(&c->cgroups, x->process, (uint32_t)who.object);
		f.who = &who;
	}
	if (x->family == LOSS_IDLE && f.who && f.who->kind == CULPRIT_TASK) {
		longest_first(c, x, &who);
		f.who = &who;
	}
	if (x->family >= LOSS_STOPPED && f.who && f.who->npids == 1) {
		/* What it calls itself now, which is no part of its identity. */
		who = *f.who;
		who.name = world_string(c->w, name_thread(c->w, &c->tally, f.who->thread));
		f.who = &who;
	}
	name_victim(&victim, c->w, &c->tally, x->process);
	if (f.who || !d->nobody)
		name_taker(&f, f.who ? f.who : lead_of(c, x), &culprit);
	else
		buf_puts(&culprit, d->nobody);
	where_text(c, x, &where);
	f.victim = buf_text(&victim);
	f.culprit = buf_text(&culprit);
	f.where = buf_text(&where);
	d->summary(&f, &summary);
	found.id = bytes_of(id);
	found.match = bytes_of(match);
	found.summary = buf_bytes(&summary);
	loss_fill_details(&f, d, &found);
	found.failed |= victim.failed || culprit.failed || where.failed || summary.failed;
	rc = chain_emit(c, &found, e);
	finding_free(&found);
	buf_free(&victim);
	buf_free(&culprit);
	buf_free(&where);
	buf_free(&summary);
	return rc;
}
