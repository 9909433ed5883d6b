/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariant: what a reader takes a value to be (the one last said) is off by the deadband at most,
 * and not older than the heartbeat by more than the time between two readings.
 */
#include "lib/record/deadband_filter.h"

#include <math.h>
#include <string.h>

#define VALUES_MAX 65536 /* subjects remembered; processes that are gone are among them */

static uint64_t key_of(const struct deadband_value *v)
{
	uint64_t h = v->metric;

	h = (h ^ v->process) * 0x9fb21c651e98df25ull;
	h = (h ^ h >> 32 ^ v->cgroup) * 0x9fb21c651e98df25ull;
	h = (h ^ h >> 32 ^ v->gpu) * 0x9fb21c651e98df25ull;
	h = (h ^ h >> 32 ^ v->cpu) * 0x9fb21c651e98df25ull;
	return h ^ h >> 32;
}

static bool has_moved(const struct deadband *t, double from, double to, bool points)
{
	double limit = points ? t->deadband : fabs(from) * t->deadband / 100;

	return !(fabs(to - from) <= limit);
}

static double rate_of(const struct deadband_value *from, const struct deadband_value *to)
{
	double seconds = (double)(to->time_ns - from->time_ns) / 1e9;

	return seconds > 0 && to->value >= from->value ? (to->value - from->value) / seconds : -1;
}

static bool is_news(const struct deadband *t, const struct deadband_value *last,
		    struct deadband_value *now)
{
	const struct metric_def *def = metric_builtin((uint16_t)now->metric);
	bool counter = def && def->counter;

	now->rate = counter ? rate_of(last, now) : -1;
	if (t->heartbeat_ns && now->time_ns - last->time_ns >= (int64_t)t->heartbeat_ns)
		return true;
	if (!counter)
		return has_moved(t, last->value, now->value, def && strcmp(def->unit, "%") == 0);
	return last->rate < 0 || now->rate < 0 || has_moved(t, last->rate, now->rate, false);
}

bool deadband_wants(struct deadband *t, const struct record *r)
{
	const struct rec_SAMPLE *s = &r->u.SAMPLE;
	struct deadband_value now, *last;
	uint64_t key, i;

	if (r->kind != RECORD_SAMPLE)
		return true;
	if (!t->on || s->metric == METRIC_GPU_XID) {
		t->said++;
		return true;
	}
	now = (struct deadband_value){ .metric = s->metric,
				       .process = s->process,
				       .cgroup = s->cgroup,
				       .gpu = s->gpu,
				       /* No metric has both. */
				       .cpu = REC_HAS(r, SAMPLE, cpu)	   ? s->cpu + 1
					      : REC_HAS(r, SAMPLE, device) ? s->device + 1
									   : 0,
				       .time_ns = s->time_ns,
				       .value = s->value,
				       .rate = -1 };
	key = key_of(&now);
	if (!map_get(&t->index, key, &i)) {
		if (t->values.n >= VALUES_MAX)
			deadband_forget(t);
		if (map_put(&t->index, key, t->values.n))
			vec_push(&t->values, now);
		t->said++;
		return true;
	}
	last = i < t->values.n ? &t->values.v[i] : NULL;
	/* Two subjects of one hash, or no memory for this one: nothing is known, so it is said. */
	if (last && last->metric == now.metric && last->process == now.process &&
	    last->cgroup == now.cgroup && last->gpu == now.gpu && last->cpu == now.cpu) {
		if (!is_news(t, last, &now)) {
			t->left_out++;
			return false;
		}
		*last = now;
	}
	t->said++;
	return true;
}

void deadband_forget(struct deadband *t)
{
	map_clear(&t->index);
	t->values.n = 0;
}

void deadband_free(struct deadband *t)
{
	map_free(&t->index);
	vec_free(&t->values);
}
