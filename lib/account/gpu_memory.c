/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the latest memory sample of each device: used and total bytes.
 */
#include "lib/account/gpu_memory.h"

void gpu_memory_record(struct gpu_memory *m, const struct record *r)
{
	const struct rec_SAMPLE *s = &r->u.SAMPLE;
	struct gpu_memory_device *d = NULL;

	if (r->kind == RECORD_SAMPLE && s->metric == METRIC_GPU_MEM_USED &&
	    s->value > (double)m->used_most)
		m->used_most = (uint64_t)s->value;
	if (r->kind != RECORD_SAMPLE || !REC_HAS(r, SAMPLE, gpu) || REC_HAS(r, SAMPLE, process) ||
	    (s->metric != METRIC_GPU_MEM_USED && s->metric != METRIC_GPU_MEM_TOTAL) || s->value < 0)
		return;
	for (unsigned i = 0; i < m->n && !d; i++)
		d = m->v[i].gpu == s->gpu ? &m->v[i] : NULL;
	if (!d && m->n < GPU_MEMORY_DEVICES) {
		d = &m->v[m->n++];
		*d = (struct gpu_memory_device){ .gpu = s->gpu };
	}
	if (!d)
		return;
	if (s->metric == METRIC_GPU_MEM_USED) {
		d->has_used = true;
		d->used = (uint64_t)s->value;
		d->used_ns = s->time_ns;
	} else {
		d->has_total = true;
		d->total = (uint64_t)s->value;
	}
}

const struct gpu_memory_device *gpu_memory_of(const struct gpu_memory *m, uint32_t gpu)
{
	if (gpu == 0)
		return m->n == 1 ? &m->v[0] : NULL;
	for (unsigned i = 0; i < m->n; i++) {
		if (m->v[i].gpu == gpu)
			return &m->v[i];
	}
	return NULL;
}
