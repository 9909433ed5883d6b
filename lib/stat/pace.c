/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slope of a line through (time awake, sleep after it), in windows of PACE_WINDOW sleeps, whose
 * slopes are averaged by how certain each is. Long pauses and steps of several kinds, which take
 * turns, are groups of their own in a window, apart from each other by a gap: a line through two
 * groups would say what their sleeps happen to be. Late wake-ups are left out.
 *
 * Wake-ups on a grid would show a pace, too, but not only: fixed sleeps between steps that take
 * turns come back to a line after each round, and a pace that counts from its last wake-up drifts
 * away from one.
 */
#include "lib/stat/pace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WINDOWS_MOST 64	  /* then the older ones count half: the newest 4,096 sleeps decide */
#define GAP_SHARE    0.25 /* of the range of times awake: more between two is a gap */
#define GROUP_LEAST  8
#define USED_LEAST   16	   /* of a window: fewer say nothing */
#define FAR_OFF	     6	   /* median deviations from the median: no part of the group's spread */
#define CLOCK_NS     1000  /* what differs by less does not differ */
#define SLACK_NS     25000 /* spread of times awake: timers are up to 50 us late (timer_slack_ns) */
#define ERROR_LEAST  0.1   /* of one window's slope: no window decides alone for long */
#define HALF	     0.5   /* between a pace and an addition */
#define CERTAIN	     2.5   /* standard errors from that */
#define EXACT	     0.25  /* a pace has a slope of one; random sleeps have any slope */

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

/* Of pairs in order of their time awake: each group by itself. */
static void fit_groups(struct fit *f, struct pair *v, unsigned n)
{
	double range, widest;
	unsigned at;

	while (n >= GROUP_LEAST) {
		range = v[n - 1].awake - v[0].awake;
		widest = 0;
		at = 0;
		for (unsigned i = 1; i < n; i++)
			if (v[i].awake - v[i - 1].awake > widest) {
				widest = v[i].awake - v[i - 1].awake;
				at = i;
			}
		if (widest <= GAP_SHARE * range) {
			fit_group(f, v, n);
			return;
		}
		fit_groups(f, v, at);
		v += at;
		n -= at;
	}
}

/* The slope of the window's sleeps, and what it weighs. wide: the work differs by more than timers
 * do, which may make up for less. False: they say nothing. */
static bool judge_window(const struct pace_sums *p, double *slope, double *weight, bool *wide)
{
	struct pair v[PACE_WINDOW];
	struct fit f = { .grain_ns = p->grain_ns };
	double rest, error;

	for (unsigned i = 0; i < p->n; i++)
		v[i] = (struct pair){ (double)p->awake_ns[i], (double)p->asleep_ns[i] };
	qsort(v, p->n, sizeof(*v), compare_awake);
	fit_groups(&f, v, p->n);
	if (f.n < USED_LEAST || f.aa < (double)f.n * CLOCK_NS * CLOCK_NS)
		return false;
	rest = fmax(f.ss - f.as * f.as / f.aa, 0);
	error = fmax(sqrt(rest / (f.n - f.groups - 1) / f.aa), ERROR_LEAST);
	*slope = -f.as / f.aa;
	*wide = f.aa >= (double)f.n * SLACK_NS * SLACK_NS;
	*weight = 1 / (error * error);
	return true;
}

static void close_window(struct pace_sums *p)
{
	double slope, weight;
	bool wide;

	if (judge_window(p, &slope, &weight, &wide)) {
		p->weight += weight;
		p->wide += wide ? weight : 0;
		p->slope += slope * weight;
		p->windows++;
	}
	p->n = 0;
	if (p->windows < WINDOWS_MOST)
		return;
	p->windows /= 2;
	p->weight /= 2;
	p->wide /= 2;
	p->slope /= 2;
}

void pace_add(struct pace_sums *p, int64_t from_ns, int64_t woke_ns)
{
	if (p->begun && from_ns >= p->woke_ns) {
		p->awake_ns[p->n] = (float)(from_ns - p->woke_ns);
		p->asleep_ns[p->n] = (float)(woke_ns - from_ns);
		if (++p->n == PACE_WINDOW)
			close_window(p);
	}
	p->woke_ns = woke_ns;
	p->begun = true;
}

/* share: of the evidence, that of windows in which the work differs. */
static bool sum_up(const struct pace_sums *p, double *slope, double *error, double *share)
{
	double sum = p->slope, all = p->weight, apart = p->wide, one, weight;
	bool wide;

	if (p->n >= PACE_LEAST && judge_window(p, &one, &weight, &wide)) {
		sum += one * weight;
		all += weight;
		apart += wide ? weight : 0;
	}
	if (all <= 0)
		return false;
	*slope = sum / all;
	*error = sqrt(1 / all);
	*share = apart / all;
	return true;
}

bool pace_slope(const struct pace_sums *p, double *slope, double *error)
{
	double share;

	return sum_up(p, slope, error, &share);
}

enum pace pace_verdict(const struct pace_sums *p)
{
	double slope, error, share;

	if (!sum_up(p, &slope, &error, &share))
		return PACE_UNKNOWN;
	if (error < EXACT && slope - CERTAIN * error > HALF)
		return share > HALF ? PACE_KEPT : PACE_UNKNOWN;
	return slope + CERTAIN * error < HALF ? PACE_ADDED : PACE_UNKNOWN;
}
