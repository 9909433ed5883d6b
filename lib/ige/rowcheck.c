/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks times and sites of the rows of an EVENTS block. Loops without branches find whether any
 * row is wrong; only then a second loop finds which. Below 2^63 a difference cannot overflow, and
 * its sign bit shows an error; larger values are errors themselves.
 */
#include "lib/ige/rowcheck.h"

#include "lib/base/cpu.h"

#define DUR_MAX ((uint64_t)IGE_TIME_MAX - 1)

#define EACH static inline __attribute__((always_inline)) uint64_t

EACH beyond(const uint64_t *v, uint32_t n, uint64_t max)
{
	uint64_t bad = 0;

	for (uint32_t i = 0; i < n; i++)
		bad |= v[i] | (max - v[i]);
	return bad;
}

/* Of 1 to max? */
EACH outside(const uint64_t *v, uint32_t n, uint64_t max)
{
	uint64_t bad = 0;

	for (uint32_t i = 0; i < n; i++)
		bad |= (v[i] - 1) | (max - v[i]);
	return bad;
}

/* All that is asked of ends and durations together. */
EACH astray(const uint64_t *end, const uint64_t *dur, uint32_t n, uint64_t end_max, uint64_t room)
{
	uint64_t bad = 0;

	for (uint32_t i = 0; i < n; i++)
		bad |= end[i] | (end_max - end[i]) | dur[i] | (DUR_MAX - dur[i]) |
		       (room + end[i] - dur[i]);
	return bad;
}

static uint64_t beyond_plain(const uint64_t *v, uint32_t n, uint64_t max)
{
	return beyond(v, n, max);
}

static uint64_t outside_plain(const uint64_t *v, uint32_t n, uint64_t max)
{
	return outside(v, n, max);
}

static uint64_t astray_plain(const uint64_t *end, const uint64_t *dur, uint32_t n, uint64_t end_max,
			     uint64_t room)
{
	return astray(end, dur, n, end_max, room);
}

#if CPU_X86
static CPU_AVX2 uint64_t beyond_avx2(const uint64_t *v, uint32_t n, uint64_t max)
{
	return beyond(v, n, max);
}

static CPU_AVX2 uint64_t outside_avx2(const uint64_t *v, uint32_t n, uint64_t max)
{
	return outside(v, n, max);
}

static CPU_AVX2 uint64_t astray_avx2(const uint64_t *end, const uint64_t *dur, uint32_t n,
				     uint64_t end_max, uint64_t room)
{
	return astray(end, dur, n, end_max, room);
}

#define BEST(what) (cpu_has_avx2() ? what##_avx2 : what##_plain)
#else
#define BEST(what) what##_plain
#endif

int ige_check_times(const struct ige_header *h, const uint64_t *end, const uint64_t *dur,
		    uint32_t n, struct err *e)
{
	uint64_t end_max = (uint64_t)h->end_max - (uint64_t)h->end_min, bad = 0;

	if (end && dur)
		bad = BEST(astray)(end, dur, n, end_max,
				   (uint64_t)h->end_min - (uint64_t)h->start_min);
	else if (end)
		bad = BEST(beyond)(end, n, end_max);
	else if (dur)
		bad = BEST(beyond)(dur, n, DUR_MAX);
	if (bad >> 63)
		return err_set(e, ERR_DAMAGED, "an event lies outside its block's times");
	return 0;
}

int ige_check_sites(struct ige_dict_reader *dict, uint64_t *site, uint32_t n, uint32_t *dropped,
		    struct err *e)
{
	*dropped = 0;
	if (!dict->sites.n && !vec_push(&dict->sites, (struct ige_read_site){ 0 }))
		return err_nomem(e);
	while (dict->sites_defined + 1 < dict->sites.n && dict->sites.v[dict->sites_defined + 1].op)
		dict->sites_defined++;
	/* Ids are given from 1 on: mostly a site is one of the first ones that are all defined. */
	if (!(BEST(outside)(site, n, dict->sites_defined) >> 63))
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		if (site[i] < dict->sites.n && dict->sites.v[site[i]].op)
			continue;
		/* 0 is never given out: it has no op. */
		site[i] = 0;
		dict->unknown++;
		++*dropped;
	}
	return 0;
}
