/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps CPU samples in a bounded array for the table of functions. Which of them are dropped is
 * chance, not turns: CPUs are sampled in turn, and so every second sample could be one thread's.
 */
#include "lib/query/cpu_samples.h"

#include "lib/base/hash.h"

#define MS_NS	1000000
#define MOST_MS 0x7fffffff

static void drop_half(struct cpu_samples *s)
{
	size_t left = 0;

	for (size_t i = 0; i < s->v.n; i++)
		if (hash_u64(s->n + i) & 1)
			s->v.v[left++] = s->v.v[i];
	s->v.n = left;
	s->halved++;
}

bool cpu_samples_add(struct cpu_samples *s, uint32_t spot, bool inside, int64_t time_ns)
{
	struct cpu_sample v = { .spot = spot, .inside = inside };
	uint64_t chance = hash_u64(~s->n), ms;

	if (s->n++ == 0)
		s->first_ns = time_ns;
	if (s->v.n == CPU_SAMPLES_KEPT)
		drop_half(s);
	if (chance & ((1ull << s->halved) - 1))
		return true;
	ms = time_ns > s->first_ns ? (uint64_t)(time_ns - s->first_ns) / MS_NS : 0;
	v.time_ms = ms < MOST_MS ? (uint32_t)ms : MOST_MS;
	return vec_push(&s->v, v);
}

void cpu_samples_for_each(const struct cpu_samples *s, int64_t from_ns, int64_t until_ns,
			  void (*fn)(void *ctx, uint32_t spot, bool inside, uint64_t times),
			  void *ctx)
{
	for (size_t i = 0; i < s->v.n; i++) {
		int64_t at = s->first_ns + (int64_t)s->v.v[i].time_ms * MS_NS;

		if (at >= from_ns && at <= until_ns)
			fn(ctx, s->v.v[i].spot, s->v.v[i].inside, 1ull << s->halved);
	}
}

void cpu_samples_free(struct cpu_samples *s)
{
	vec_free(&s->v);
}
