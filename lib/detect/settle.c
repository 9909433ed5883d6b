/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which losses are reported: at the end of each second of event time it compares every loss
 * with the last ten seconds, and at the end with the whole recording. Reports a significant loss,
 * and again when it doubled or grew more severe, and at the end. A reported chain keeps its kind.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/detect/detect_internal.h"
#include "lib/account/analysis_state.h"
#include "lib/account/loss_chain.h"
#include "lib/account/lost_several.h"
#include "lib/account/loss_gaps.h"

static const struct loss_detector *const kinds[] = {
#define DETECTOR(name) &detect_##name,
	LOSS_DETECTORS(DETECTOR)
#undef DETECTOR
};
#define NKINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Which kind the loss is of; NULL: none. */
static const struct loss_detector *detect_for(const struct cause *c, const struct loss *x)
{
	for (unsigned i = 0; i < NKINDS; i++)
		if (kinds[i]->family == x->family && (!kinds[i]->is || kinds[i]->is(c, x)))
			return kinds[i];
	return NULL;
}

/* The kind that it was reported as; NULL: it was not. */
static const struct loss_detector *detect_named(const struct loss *x)
{
	for (unsigned i = 0; i < NKINDS && x->kind; i++)
		if (kinds[i]->family == x->family && strcmp(kinds[i]->kind, x->kind) == 0)
			return kinds[i];
	return NULL;
}

/* Many small takers are only a finding of their own when together they take this much: one that is
 * MEDIUM. */
#define SEVERAL_SHARE 0.02

/* Of the worst-hit thread, in the time that it is held against. */
struct measure {
	uint64_t ns, count, worst, wall;
};

/* What the shares of a process's losses are of. */
static uint64_t span_of(const struct cause *c, const struct loss *x)
{
	uint64_t span = lost_time_process(&c->lost_time, x->process)->span_ns;

	if (!c->ended || x->outside ||
	    (x->family == LOSS_IDLE && x->of.idle.unended_ns > x->ns / 2))
		return cause_wall_ns(c);
	return span ? span : cause_wall_ns(c);
}

static struct measure measure_of(const struct cause *c, const struct loss *x, int64_t pane)
{
	struct measure m = { .worst = loss_worst_ns(x, pane) };

	if (pane == INT64_MAX) {
		m.ns = x->ns;
		m.count = x->count;
		m.wall = span_of(c, x);
		return m;
	}
	for (size_t i = 0; i < x->threads.n; i++) {
		const struct tally_pane *panes = x->threads.v[i].panes;
		uint64_t count = 0;

		m.ns += panes ? tally_window(panes, pane, &count) : 0;
		m.count += count;
	}
	m.wall = (uint64_t)TALLY_PANES * TALLY_PANE_NS;
	return m;
}

/* Whether it is worth reporting: for the last seconds or, if pane is INT64_MAX, for the whole. */
static bool is_significant(const struct cause *c, const struct loss *x, struct measure *m,
			   int64_t pane, double min_share)
{
	const struct loss_detector *d = detect_for(c, x);

	if (pane == INT64_MAX && x->family == LOSS_IDLE) {
		struct cause_estimate e = loss_gaps_estimate(c, x);

		m->ns = (uint64_t)((double)m->ns * e.ns_factor);
		m->worst = (uint64_t)((double)m->worst * e.ns_factor);
		m->wall = e.least ? (uint64_t)((double)m->wall * e.covered) : m->wall;
	}
	if (m->ns < c->opt.min_lost_ns || m->wall == 0 ||
	    (double)m->worst < min_share * (double)m->wall)
		return false;
	if (d && d->matters)
		return d->matters(c, x, m->count, (double)m->worst / (double)m->wall);
	return x->family == LOSS_STOPPED || cause_often(c, m->count, m->worst, m->wall);
}

/* Of the steps it took nothing: the start, or the end, are no incident. */
static uint32_t severity_of(const struct loss *x, const struct loss_detector *d, double share)
{
	if (x->outside)
		return 1;
	return d && d->severity ? d->severity(x, share) : cause_severity(share);
}

/* The worst share of ten seconds, or of the whole. Losses reported before the steps were known may
 * lie only partly in steps: no ten seconds had more than all that is left. */
static double worst_share(const struct cause *c, const struct loss *x, double share, uint64_t ns)
{
	double most = (double)ns / ((double)TALLY_PANES * TALLY_PANE_NS);
	double worst = c->ended && x->worst_share > most ? most : x->worst_share;

	return share > worst ? share : worst;
}

static int report_loss(struct cause *c, struct loss *x, struct err *e)
{
	const struct loss_detector *d = x->kind ? detect_named(x) : detect_for(c, x);
	struct measure m = measure_of(c, x, INT64_MAX);
	double worst_ns = loss_gaps_estimate(c, x).ns_factor * (double)m.worst;
	double share = m.wall ? worst_ns / (double)m.wall : 0;

	if (!d)
		return 0;
	x->kind = d->kind;
	x->worst_share = worst_share(c, x, share, (uint64_t)worst_ns);
	x->severity = severity_of(x, d, x->worst_share);
	if (x->revision++ == 0)
		c->chains++;
	c->tally.processes.v[x->process].told = true;
	if (x->family == LOSS_PAGES)
		c->lost_time.processes.v[x->process].pages_told = true;
	x->told_ns = x->ns;
	return loss_tell(c, x, d, &(struct loss_share){ share, span_of(c, x) != cause_wall_ns(c) },
			 e);
}

static int flush_window(struct cause *c, struct loss *x, int64_t pane, struct err *e)
{
	struct measure m;
	double share;

	if (!x->process || x->last_ns / TALLY_PANE_NS <= pane - TALLY_PANES)
		return 0;
	m = measure_of(c, x, pane);
	if (!is_significant(c, x, &m, pane, c->opt.min_share))
		return 0;
	share = (double)m.worst / (double)m.wall;
	if (share > x->worst_share)
		x->worst_share = share;
	if (loss_is_small(c, x, share))
		return 0;
	if (x->revision && x->ns < 2 * x->told_ns &&
	    severity_of(x, detect_named(x), x->worst_share) <= x->severity)
		return 0;
	return report_loss(c, x, e);
}

struct due {
	uint32_t at;
	uint64_t ns;
};

static int by_lost(const void *a, const void *b)
{
	const struct due *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static double share_at_end(const struct cause *c, const struct loss *x)
{
	struct measure m = measure_of(c, x, INT64_MAX);

	return m.wall ? (double)m.worst / (double)m.wall : 0;
}

/* Whether this loss is worth reporting for the whole recording. A loss that was reported before is
 * reported again, with shares of the whole. */
static bool is_due_at_end(struct cause *c, struct loss *x, double min_share)
{
	struct measure m = measure_of(c, x, INT64_MAX);
	double share;

	if (!is_significant(c, x, &m, INT64_MAX, min_share))
		return x->revision > 0;
	share = (double)m.worst / (double)m.wall;
	if (share > x->worst_share)
		x->worst_share = share;
	return true;
}

/* The takers of a process's CPUs that are not told alone, as one, unless most of it is one's doing.
 */
static int report_several(struct cause *c, uint32_t process, struct err *e)
{
	struct loss *all, *most;
	int rc = 0;

	do {
		if (!lost_time_several(c, process, &all, &most))
			return err_nomem(e);
		if (!all)
			return 0;
		if (most->ns > all->ns / 2 && !is_due_at_end(c, most, c->opt.min_share))
			return 0;
		rc = most->ns > all->ns / 2 ? report_loss(c, most, e) : 0;
	} while (rc == 0 && most->revision);
	if (rc == 0 && is_due_at_end(c, all, SEVERAL_SHARE))
		rc = report_loss(c, all, e);
	return rc;
}

static int flush_end(struct cause *c, struct err *e)
{
	VEC(struct due) due = { 0 };
	struct lost_time *l = &c->lost_time;
	int rc = 0;

	for (size_t i = 0; i < l->v.n; i++) {
		struct loss *x = &l->v.v[i];

		if (x->process && is_due_at_end(c, x, c->opt.min_share) &&
		    !loss_is_small(c, x, share_at_end(c, x)) &&
		    !vec_push(&due, (struct due){ (uint32_t)i, x->ns })) {
			rc = err_nomem(e);
			goto out;
		}
	}
	if (due.n)
		qsort(due.v, due.n, sizeof(*due.v), by_lost);
	for (size_t i = 0; i < due.n && rc == 0; i++)
		rc = report_loss(c, &l->v.v[due.v[i].at], e);
	for (size_t i = 0; i < c->tally.order.n && rc == 0; i++)
		rc = report_several(c, c->tally.order.v[i], e);
out:
	vec_free(&due);
	return rc;
}

int cause_settle_last(struct cause *c, uint32_t process, struct err *e)
{
	const struct loss_process *p = lost_time_process(&c->lost_time, process);
	int rc = 0;

	for (size_t i = 0; i < p->at.n && rc == 0; i++) {
		struct loss *x = &c->lost_time.v.v[p->at.v[i]];

		if (x->revision)
			rc = report_loss(c, x, e);
	}
	return rc;
}

int cause_settle(struct cause *c, int64_t pane, struct err *e)
{
	int rc = 0;

	c->ended = pane == INT64_MAX;
	c->settled_ns = c->ended ? c->end_ns : (pane + 1) * TALLY_PANE_NS;
	if (c->ended) {
		if (!lost_time_finish(&c->lost_time, c) || !gains_make(&c->gains, c))
			return err_nomem(e);
		rc = hangs_find(c, e);
		if (rc == 0)
			rc = flush_end(c, e);
		return rc < 0 ? rc : detectors_flush_window(c, pane, e);
	}
	if (!lost_time_grow(&c->lost_time, c, pane))
		return err_nomem(e);
	for (size_t i = 0; i < c->lost_time.v.n && rc == 0; i++)
		rc = flush_window(c, &c->lost_time.v.v[i], pane, e);
	if (rc < 0)
		return rc;
	return detectors_flush_window(c, pane, e);
}
