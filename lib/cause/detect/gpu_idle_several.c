/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-idle of many causes: the thread that would give the device work sleeps here, reads there and computes elsewhere, and
 * none of that is enough of its gaps to be told by itself. Together they are: else a program that stands still for half of its
 * time, at a dozen lines, would be told that nothing is wrong.
 */
#include <stdlib.h>

#include "lib/base/human.h"
#include "lib/cause/detect/gpu_work.h"
#include "lib/cause/names.h"

/* As of the host's takers together (cause/settle.c). */
#define SEVERAL_SHARE 0.05

/* The causes of one device. */
struct several {
	VEC(const struct idle_cause *) v; /* most time first */
	struct cause_sum sum;
	uint64_t part_ns[PART_COUNT];
	bool told; /* one of them is, by itself */
};

static int most_first(const void *a, const void *b)
{
	const struct idle_cause *x = *(const struct idle_cause *const *)a,
				*y = *(const struct idle_cause *const *)b;

	if (x->sum.ns != y->sum.ns)
		return x->sum.ns > y->sum.ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* False: out of memory. */
static bool gather(const struct gpu_work *g, uint32_t device, struct several *s)
{
	for (size_t i = 0; i < g->idle.n; i++) {
		const struct idle_cause *x = &g->idle.v[i];

		if (x->device != device || x->unbounded)
			continue;
		s->told |= x->sum.told.revision > 0;
		/* One that is large enough and not told is not for a reason of its own. */
		if (x->sum.ns == 0 ||
		    (double)x->sum.ns >= MIN_OF_IDLE * (double)g->devices.v[device].idle_ns[0] ||
		    (x->part == PART_SELF && x->wait && gpu_wait_storms(&g->waits.v[x->wait - 1])))
			continue;
		if (!vec_push(&s->v, x))
			return false;
		if (s->sum.ns == 0 || x->sum.first_ns < s->sum.first_ns)
			s->sum.first_ns = x->sum.first_ns;
		if (x->sum.last_ns > s->sum.last_ns)
			s->sum.last_ns = x->sum.last_ns;
		s->sum.ns += x->sum.ns;
		cause_found_merge(&s->sum.found, &x->sum.found);
		s->sum.count += x->sum.count;
		s->sum.worst[0].thread = x->sum.worst[0].thread; /* of the device's node */
		s->part_ns[x->part] += x->sum.ns;
	}
	if (s->v.n)
		qsort(s->v.v, s->v.n, sizeof(*s->v.v), most_first);
	return true;
}

static bool due(const struct several *s, const struct gpu_device *side, const struct cause *c)
{
	struct cause_estimate e = cause_sum_estimate(c, &s->sum);
	uint64_t wall = cause_estimate_wall_ns(&e, c);
	double ns = (double)s->sum.ns * e.ns_factor;

	return !s->told && s->v.n > 1 && fact_material(c, (uint64_t)ns, side->gaps[0], wall) &&
	       ns >= SEVERAL_SHARE * (double)wall &&
	       (double)s->sum.ns >= MIN_OF_IDLE * (double)side->idle_ns[0];
}

static int tell(struct gpu_work *g, uint32_t device, const struct several *s, struct cause *c,
		struct err *e)
{
	const struct device *d = gaps_device(g->gaps, device);
	struct gpu_device *side = &g->devices.v[device];
	const struct idle_cause *most = s->v.v[0];
	struct fact f = { .kind = "gpu-idle",
			  .process = d->process,
			  .identity = "several",
			  .counted = "gaps",
			  .culprit.kind = "several",
			  .gain = FACT_GAIN_ALL,
			  /* As of each of them: a pace that is kept on purpose. */
			  .severity = s->part_ns[PART_SLEEP] > s->sum.ns / 2 ? 1 : 0,
			  .explained = (double)s->sum.ns / (double)side->idle_ns[0],
			  .part_ns = s->part_ns };
	struct buf text = { 0 };
	int rc;

	f.unexplained = f.explained < 1 ? 1 - f.explained : 0;
	cause_sum_fill(c, &s->sum, &f, "the device had nothing to do");
	f.count = side->gaps[0];
	for (size_t i = 0; i < s->v.n && f.nsites < FACT_SITES; i++) {
		const struct idle_cause *x = s->v.v[i];

		f.sites[f.nsites++] =
			(struct where_place){ .stack = x->line ? x->line_stack : x->stack,
					      .lost_ns = x->sum.ns,
					      .affected = x->sum.count,
					      .count = x->sum.count,
					      .max_ns = x->sum.max_ns };
	}
	buf_printf(&text, "%zu causes, longest ", s->v.n);
	gpu_idle_text(most, c, d->process, most->line ? most->line : most->frame, &text);
	f.culprit.text = buf_text(&text);
	fact_victim(&f, c, &f.summary);
	buf_puts(&f.summary, " left ");
	gpu_idle_which(g, c, device, &f.summary);
	buf_puts(&f.summary, " without work for ");
	fact_amount(&f, &f.summary);
	buf_printf(&f.summary, ": %s", f.culprit.text);
	for (unsigned i = 0; i < f.nsites; i++) {
		struct buf what = { 0 };

		gpu_idle_text(s->v.v[i], c, d->process,
			      s->v.v[i]->line ? s->v.v[i]->line : s->v.v[i]->frame, &what);
		fact_evidence(&f, buf_text(&what), (double)s->v.v[i]->sum.ns, "ns");
		f.summary.failed |= what.failed;
		buf_free(&what);
	}
	fact_fix_code(
		&f,
		"Give the device its next work before it is done: move these out of the thread "
		"that launches, the longest first",
		gpu_idle_ahead(c, f.sites[0].stack), 0, f.lost_ns,
		"from nothing, if the device's work depends on each of them, to all of the gaps");
	f.summary.failed |= text.failed;
	rc = fact_tell(c, &f, &side->several, e);
	buf_free(&text);
	fact_free(&f);
	return rc;
}

int gpu_idle_several(struct gpu_work *g, struct cause *c, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < g->devices.n && rc == 0; i++) {
		struct several s = { .told = false };

		if (g->devices.v[i].idle_ns[0] == 0 || g->left_out)
			continue;
		if (!gather(g, i, &s))
			rc = err_nomem(e);
		else if (due(&s, &g->devices.v[i], c))
			rc = tell(g, i, &s, c, e);
		vec_free(&s.v);
	}
	return rc;
}
