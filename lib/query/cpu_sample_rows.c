/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects sampled metrics of nodes, GPUs and block devices, with their course over time. The
 * growth of a counter between two samples counts at the second one, as a rate.
 */
#include "lib/query/sections_internal.h"

#include <stdlib.h>

#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/stat/series.h"

#define SAMPLES_MAX 4096
#define XIDS_MAX    1024
#define SPAN_NS	    1000000000ll  /* samples come once a second */
#define GAP_NS	    20000000000ll /* samples further apart leave the time between unknown */

struct sampled {
	struct view_metric row;
	struct series series;
};

struct limited {
	struct view_gpu row;
	uint64_t bits;
	int64_t since_ns; /* the bits are from then; INT64_MIN: none known */
};

struct query_samples {
	VEC(struct sampled *) all;
	struct map by; /* hash of the subject and metric -> index */
	VEC(struct limited) gpus;
	VEC(struct view_xid) xids;
};

struct query_samples *query_samples_new(void)
{
	return calloc(1, sizeof(struct query_samples));
}

void query_samples_free(struct query_samples *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->all.n; i++)
		free(s->all.v[i]);
	vec_free(&s->all);
	map_free(&s->by);
	vec_free(&s->gpus);
	vec_free(&s->xids);
	free(s);
}

/* False: a sample of something else. */
static bool subject_of(const struct record *rec, struct view_metric *row)
{
	const struct rec_SAMPLE *r = &rec->u.SAMPLE;

	if (REC_HAS(rec, SAMPLE, cgroup) || REC_HAS(rec, SAMPLE, cpu))
		return false;
	row->metric = (uint16_t)r->metric;
	row->node = REC_HAS(rec, SAMPLE, node) ? r->node : 0;
	if (REC_HAS(rec, SAMPLE, gpu)) {
		row->scope = REC_HAS(rec, SAMPLE, process) ? VIEW_GPU_PROCESS : VIEW_GPU_WHOLE;
		row->subject = r->gpu;
		row->process = REC_HAS(rec, SAMPLE, process) ? r->process : 0;
		row->node = 0; /* the GPU says where it is */
		return true;
	}
	if (REC_HAS(rec, SAMPLE, process))
		return false;
	if (REC_HAS(rec, SAMPLE, device)) {
		row->scope = VIEW_DEVICE;
		row->subject = r->device;
	}
	return true;
}

static struct sampled *sampled_of(struct query_samples *s, const struct view_metric *row,
				  bool *full)
{
	uint64_t key = hash_u64(row->subject ^ hash_u64((uint64_t)row->scope << 48 |
							(uint64_t)row->metric << 32 | row->node));
	struct sampled *new;
	uint64_t at;

	key = hash_u64(key ^ row->process);
	*full = false;
	if (map_get(&s->by, key, &at))
		return s->all.v[at];
	*full = s->all.n >= SAMPLES_MAX;
	new = *full ? NULL : calloc(1, sizeof(*new));
	if (!new)
		return NULL;
	new->row = *row;
	new->series.span_ns = SPAN_NS;
	if (!vec_push(&s->all, new)) {
		free(new);
		return NULL;
	}
	return map_put(&s->by, key, s->all.n - 1) ? new : NULL;
}

static void add_value(struct sampled *m, bool counter, int64_t time_ns, double value)
{
	struct view_metric *r = &m->row;
	double rate = value;

	if (r->n && time_ns < r->last_ns)
		return; /* nothing that sampled went back in time */
	if (counter) {
		rate = 0;
		if (r->n && time_ns > r->last_ns && value >= r->last) {
			rate = (value - r->last) / ((double)(time_ns - r->last_ns) / 1e9);
			series_add(&m->series, time_ns, 1, rate);
			r->grew += value - r->last;
			r->grew_ns += time_ns - r->last_ns;
		}
	} else {
		series_add(&m->series, time_ns, 1, value);
	}
	if (r->n++ == 0) {
		r->first = value;
		r->first_ns = time_ns;
		r->max = rate;
	}
	r->last = value;
	r->last_ns = time_ns;
	r->sum += value;
	r->max = rate > r->max ? rate : r->max;
}

static struct limited *limited_of(struct query_samples *s, uint32_t gpu)
{
	for (size_t i = 0; i < s->gpus.n; i++)
		if (s->gpus.v[i].row.gpu == gpu)
			return &s->gpus.v[i];
	if (!vec_push(&s->gpus, (struct limited){ .row.gpu = gpu, .since_ns = INT64_MIN }))
		return NULL;
	return &s->gpus.v[s->gpus.n - 1];
}

static void add_limits(struct limited *g, int64_t time_ns, uint64_t bits)
{
	if (g->since_ns != INT64_MIN && time_ns > g->since_ns && time_ns - g->since_ns <= GAP_NS) {
		uint64_t ns = (uint64_t)(time_ns - g->since_ns);

		g->row.known_ns += ns;
		for (unsigned i = 0; i < VIEW_LIMITS; i++)
			g->row.limit_ns[i] += g->bits >> i & 1 ? ns : 0;
	}
	g->bits = bits;
	g->since_ns = time_ns;
}

static bool of_gpu(struct query_samples *s, const struct rec_SAMPLE *r,
		   const struct view_metric *row)
{
	struct limited *g;

	if (r->metric != METRIC_GPU_CLOCK_LIMITS && r->metric != METRIC_GPU_XID)
		return true;
	if (s->gpus.n >= SAMPLES_MAX || r->value < 0 || r->value > UINT32_MAX)
		return true;
	g = limited_of(s, (uint32_t)row->subject);
	if (!g)
		return false;
	if (r->metric == METRIC_GPU_CLOCK_LIMITS) {
		add_limits(g, r->time_ns, (uint64_t)r->value);
		return true;
	}
	g->row.xids++;
	return s->xids.n >= XIDS_MAX ||
	       vec_push(&s->xids, (struct view_xid){ (uint32_t)row->subject, row->process,
						     (uint32_t)r->value, r->time_ns });
}

bool query_samples_record(struct query_samples *s, const struct record *rec)
{
	const struct rec_SAMPLE *r = &rec->u.SAMPLE;
	const struct metric_def *def;
	struct view_metric row = { 0 };
	struct sampled *m;
	bool full;

	def = r->metric <= UINT16_MAX ? metric_builtin((uint16_t)r->metric) : NULL;
	if (!def || !subject_of(rec, &row))
		return true;
	if (row.scope == VIEW_GPU_WHOLE || r->metric == METRIC_GPU_XID) {
		if (!of_gpu(s, r, &row))
			return false;
		if (r->metric == METRIC_GPU_CLOCK_LIMITS || r->metric == METRIC_GPU_XID)
			return true;
	}
	m = sampled_of(s, &row, &full);
	if (!m)
		return full;
	add_value(m, def->counter, r->time_ns, r->value);
	return true;
}

static int compare_by_scope(const void *a, const void *b)
{
	const struct view_metric *x = a, *y = b;

	if (x->scope != y->scope)
		return x->scope < y->scope ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->subject != y->subject)
		return x->subject < y->subject ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->metric > y->metric) - (x->metric < y->metric);
}

bool query_samples_rows(const struct query_samples *s, struct view *v)
{
	v->metrics.n = v->gpus.n = v->xids.n = 0;
	for (size_t i = 0; i < s->all.n; i++) {
		struct view_metric row = s->all.v[i]->row;

		row.series = &s->all.v[i]->series;
		if (!vec_push(&v->metrics, row))
			return false;
	}
	for (size_t i = 0; i < s->gpus.n; i++)
		if (!vec_push(&v->gpus, s->gpus.v[i].row))
			return false;
	for (size_t i = 0; i < s->xids.n; i++)
		if (!vec_push(&v->xids, s->xids.v[i]))
			return false;
	if (v->metrics.n)
		qsort(v->metrics.v, v->metrics.n, sizeof(*v->metrics.v), compare_by_scope);
	return true;
}
