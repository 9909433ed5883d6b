/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slope of a line through (time awake, sleep after it), in windows of PACE_WINDOW sleeps, whose
 * slopes are averaged by how certain each is. Long pauses and steps of several kinds, which take
 * turns, are groups of their own in a window, apart from each other by a gap: a line through two
 * groups would say what their sleeps happen to be. So are sleeps of several lengths, as a retry's
 * back-off has, whatever the work before them: a pace has any length. Late wake-ups are left out.
 *
 * Wake-ups on a grid would show a pace, too, but not only: fixed sleeps between steps that take
 * turns come back to a line after each round, and a pace that counts from its last wake-up drifts
 * away from one.
 *
 * A pace is looked for twice: since the thread was woken, and since it had a CPU. With much of a
 * queue before the CPUs the two differ by more than the work does, and a program sees the second.
 */
#include "lib/stat/pace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WINDOWS_MOST 64	  /* then the older ones count half: the newest 4,096 sleeps decide */
#define GAP_SHARE    0.25 /* of the range of times awake: more between two is a gap */
#define GAP_GRAINS   4
#define GROUP_LEAST  8
#define USED_LEAST   16	   /* of a window: fewer say nothing */
#define FAR_OFF	     6	   /* median deviations from the median: no part of the group's spread */
#define CLOCK_NS     1000  /* what differs by less does not differ */
#define SLACK_NS     25000 /* spread of times awake: timers are up to 50 us late (timer_slack_ns) */
#define ERROR_LEAST  0.1   /* of one window's slope: no window decides alone for long */
#define HALF	     0.5   /* between a pace and an addition */
#define CERTAIN	     2.5   /* standard errors from that */
#define FAR_NS	     100000 /* twice as much as timers are late */
#define FAR_GRAINS   4
#define FAR_LEAST    8
#define FAR_MOST     1024 /* then the older ones count half */
#define SAME_SHARE   0.25 /* of the additional work: a pace would make up for all of it */
#define MOST	     0.9  /* others were woken late */
#define EXACT	     0.25 /* a pace has a slope of one; random sleeps have any slope */

struct pair {
	double awake, asleep;
};

struct fit {
	unsigned n, groups;
	double grain_ns;   /* as of struct pace_sums */
	double aa, as, ss; /* sums of squares and products about the groups' means */
};

static int compare_awake(const void *a, const void *b)
{
	double x = ((const struct pair *)a)->awake, y = ((const struct pair *)b)->awake;

	return (x > y) - (x < y);
}

static int compare_asleep(const void *a, const void *b)
{
	double x = ((const struct pair *)a)->asleep, y = ((const struct pair *)b)->asleep;

	return (x > y) - (x < y);
}

static int compare_values(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double find_median(const double *v, unsigned n)
{
	double sorted[PACE_WINDOW];

	memcpy(sorted, v, n * sizeof(*v));
	qsort(sorted, n, sizeof(*sorted), compare_values);
	return (sorted[n / 2] + sorted[(n - 1) / 2]) / 2;
}

/* Marks the values that are far off the others. */
static void mark_far(const double *v, unsigned n, double grain_ns, bool *far)
{
	double median = find_median(v, n), off[PACE_WINDOW], usual;

	for (unsigned i = 0; i < n; i++)
		off[i] = fabs(v[i] - median);
	usual = fmax(find_median(off, n), fmax(grain_ns, CLOCK_NS));
	for (unsigned i = 0; i < n; i++)
		far[i] |= off[i] > FAR_OFF * usual;
}

/* A late wake-up makes a sleep long, and the period that it ends. */
static unsigned drop_far(struct pair *v, unsigned n, double grain_ns)
{
	double asleep[PACE_WINDOW], period[PACE_WINDOW];
	bool far[PACE_WINDOW] = { false };
	unsigned keep = 0;

	for (unsigned i = 0; i < n; i++) {
		asleep[i] = v[i].asleep;
		period[i] = v[i].asleep + v[i].awake;
	}
	mark_far(asleep, n, grain_ns, far);
	mark_far(period, n, grain_ns, far);
	for (unsigned i = 0; i < n; i++)
		if (!far[i])
			v[keep++] = v[i];
	return keep;
}

static void fit_group(struct fit *f, struct pair *v, unsigned n)
{
	double awake = 0, asleep = 0;

	n = drop_far(v, n, f->grain_ns);
	if (n < GROUP_LEAST)
		return;
	for (unsigned i = 0; i < n; i++) {
		awake += v[i].awake / n;
		asleep += v[i].asleep / n;
	}
	for (unsigned i = 0; i < n; i++) {
		double a = v[i].awake - awake, s = v[i].asleep - asleep;

		f->aa += a * a;
		f->as += a * s;
		f->ss += s * s;
	}
	f->n += n;
	f->groups++;
}

enum group_by { BY_AWAKE, BY_ASLEEP };

static double value_by(const struct pair *v, enum group_by by)
{
	return by == BY_AWAKE ? v->awake : v->asleep;
}

/* Of pairs in order of that value: how many lie before the widest gap; 0: none is wide. Between
 * sleeps that are rounded there are gaps of what they are rounded to. */
static unsigned find_gap(const struct pair *v, unsigned n, enum group_by by, double grain_ns)
{
	double range = value_by(&v[n - 1], by) - value_by(&v[0], by),
	       widest = fmax(GAP_SHARE * range, by == BY_ASLEEP ? GAP_GRAINS * grain_ns : 0);
	unsigned at = 0;

	for (unsigned i = 1; i < n; i++) {
		double gap = value_by(&v[i], by) - value_by(&v[i - 1], by);

		if (gap > widest) {
			widest = gap;
			at = i;
		}
	}
	return at;
}

/* Each group by itself: those of times awake, and in each those of sleeps. */
static void fit_groups(struct fit *f, struct pair *v, unsigned n, enum group_by by)
{
	qsort(v, n, sizeof(*v), by == BY_AWAKE ? compare_awake : compare_asleep);
	while (n >= GROUP_LEAST) {
		unsigned at = find_gap(v, n, by, f->grain_ns);

		if (!at && by == BY_AWAKE) {
			fit_groups(f, v, n, BY_ASLEEP);
			return;
		}
		if (!at) {
			fit_group(f, v, n);
			return;
		}
		fit_groups(f, v, at, by);
		v += at;
		n -= at;
	}
}

/* The slope of the window's sleeps, if they say something, is added by what it weighs. */
static void judge_window(const struct pace_sums *p, enum pace_since since, struct pace_fit *fit)
{
	struct pair v[PACE_WINDOW];
	struct fit f = { .grain_ns = p->grain_ns };
	double rest, error, weight;

	for (unsigned i = 0; i < p->n; i++)
		v[i] = (struct pair){ (double)p->awake_ns[since][i], (double)p->asleep_ns[i] };
	fit_groups(&f, v, p->n, BY_AWAKE);
	if (f.n < USED_LEAST || f.aa < (double)f.n * CLOCK_NS * CLOCK_NS)
		return;
	rest = fmax(f.ss - f.as * f.as / f.aa, 0);
	error = fmax(sqrt(rest / (f.n - f.groups - 1) / f.aa), ERROR_LEAST);
	weight = 1 / (error * error);
	fit->windows++;
	fit->weight += weight;
	fit->slope -= f.as / f.aa * weight;
	fit->wide += f.aa >= (double)f.n * SLACK_NS * SLACK_NS ? weight : 0;
}

/* What a program does once in several sleeps is too rare for a line through it, but a pace would
 * make up for it. Only what the thread itself did since it had a CPU counts: a pace may count from
 * then. */
static void count_far(const struct pace_sums *p, unsigned *far, unsigned *same)
{
	double asleep[PACE_WINDOW], ran[PACE_WINDOW], usual_asleep, usual_ran;

	for (unsigned i = 0; i < p->n; i++) {
		asleep[i] = (double)p->asleep_ns[i];
		ran[i] = (double)p->awake_ns[PACE_SINCE_RAN][i];
	}
	usual_asleep = find_median(asleep, p->n);
	usual_ran = find_median(ran, p->n);
	for (unsigned i = 0; i < p->n; i++) {
		double more = ran[i] - usual_ran;

		if (more < FAR_NS + FAR_GRAINS * p->grain_ns || more > usual_asleep)
			continue;
		++*far;
		*same += fabs(asleep[i] - usual_asleep) < more * SAME_SHARE;
	}
}

static void close_window(struct pace_sums *p)
{
	for (unsigned since = 0; since < PACE_SINCES; since++) {
		struct pace_fit *fit = &p->fits[since];

		judge_window(p, since, fit);
		if (fit->windows < WINDOWS_MOST)
			continue;
		fit->windows /= 2;
		fit->weight /= 2;
		fit->wide /= 2;
		fit->slope /= 2;
	}
	count_far(p, &p->far, &p->same);
	if (p->far > FAR_MOST) {
		p->far /= 2;
		p->same /= 2;
	}
	p->n = 0;
}

void pace_add(struct pace_sums *p, int64_t from_ns, int64_t woke_ns, int64_t ran_ns)
{
	if (p->begun && from_ns >= p->woke_ns) {
		p->awake_ns[PACE_SINCE_WOKE][p->n] = (float)(from_ns - p->woke_ns);
		p->awake_ns[PACE_SINCE_RAN][p->n] = (float)(from_ns - p->ran_ns);
		p->asleep_ns[p->n] = (float)(woke_ns - from_ns);
		if (++p->n == PACE_WINDOW)
			close_window(p);
	}
	p->woke_ns = woke_ns;
	p->ran_ns = ran_ns;
	p->begun = true;
}

static struct pace_fit sum_up(const struct pace_sums *p, enum pace_since since)
{
	struct pace_fit fit = p->fits[since];

	if (p->n >= PACE_LEAST)
		judge_window(p, since, &fit);
	return fit;
}

static bool read_fit(const struct pace_fit *fit, double *slope, double *error)
{
	if (fit->weight <= 0)
		return false;
	*slope = fit->slope / fit->weight;
	*error = sqrt(1 / fit->weight);
	return true;
}

bool pace_slope(const struct pace_sums *p, enum pace_since since, double *slope, double *error)
{
	struct pace_fit fit = sum_up(p, since);

	return read_fit(&fit, slope, error);
}

static enum pace judge_slope(const struct pace_sums *p, enum pace_since since)
{
	struct pace_fit fit = sum_up(p, since);
	double slope, error;

	if (!read_fit(&fit, &slope, &error))
		return PACE_UNKNOWN;
	if (slope + CERTAIN * error < HALF)
		return PACE_ADDED;
	return error < EXACT && slope - CERTAIN * error > HALF && fit.wide > fit.weight * HALF
		       ? PACE_KEPT
		       : PACE_UNKNOWN;
}

static enum pace judge_far(const struct pace_sums *p)
{
	unsigned far = p->far, same = p->same;

	if (p->n >= PACE_LEAST)
		count_far(p, &far, &same);
	return far >= FAR_LEAST && same >= far * MOST ? PACE_ADDED : PACE_UNKNOWN;
}

/* Whichever it counts from: where it is added, both say so. */
enum pace pace_verdict(const struct pace_sums *p)
{
	enum pace woke = judge_slope(p, PACE_SINCE_WOKE), ran = judge_slope(p, PACE_SINCE_RAN);

	if (woke == PACE_KEPT || ran == PACE_KEPT)
		return PACE_KEPT;
	return woke == PACE_ADDED && ran == PACE_ADDED ? PACE_ADDED : judge_far(p);
}
