/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What others ask about a device, and what becomes of it when its calls are recorded again.
 */
#include "lib/gpustate/gaps_internal.h"

uint32_t gaps_device_of(const struct gaps *g, uint32_t process, uint32_t gpu)
{
	return devices_known(&g->devices, process, gpu);
}

const struct device *gaps_device(const struct gaps *g, uint32_t at)
{
	return &g->devices.v.v[at];
}

void gaps_partial(struct gaps *g)
{
	g->partial = true;
}

bool gaps_shared(const struct gaps *g, uint32_t at)
{
	return g->use.v.v[at].shared;
}

void gaps_resume(struct gaps *g, uint32_t device, const struct line_piece *p)
{
	struct gap_side *s = &g->side.v[device];
	struct device *d = &g->devices.v.v[device];
	bool was_busy = d->busy > 0;

	device_resume(d, p->start_ns);
	if (!was_busy && d->busy)
		gpu_use_busy(&g->use, device, true, p->start_ns);
	if (d->busy)
		s->idle = false;
	s->seen_ns = gaps_paused(g, device, p->start_ns, p->end_ns) ? p->start_ns : p->end_ns;
}
