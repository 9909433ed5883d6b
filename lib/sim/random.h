/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers that are the same on every machine: integers only, no library. A generated
 * recording is a pure function of its options and seed.
 */
#ifndef INGERO_SIM_RANDOM_H
#define INGERO_SIM_RANDOM_H

#include <stdint.h>

static inline uint64_t sim_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* The k-th value of the sequence named by seed and lane, in any order. */
static inline uint64_t sim_at(uint64_t seed, uint64_t lane, uint64_t k)
{
	return sim_mix(sim_mix(seed + lane * 0x9e3779b97f4a7c15u) + k * 0xd1342543de82ef95u + 1);
}

struct sim_random {
	uint64_t state;
};

static inline uint64_t sim_next(struct sim_random *r)
{
	r->state += 0x9e3779b97f4a7c15u;
	return sim_mix(r->state);
}

/* Uniform in [0, n); n > 0. */
static inline uint64_t sim_below(struct sim_random *r, uint64_t n)
{
	return (uint64_t)((unsigned __int128)sim_next(r) * n >> 64);
}

/* A duration around base as measured ones are: 0.8 to 1.3 times, and every 256th 2 to 4 times. */
static inline uint64_t sim_around(struct sim_random *r, uint64_t base)
{
	uint64_t ns = base * 4 / 5 + sim_below(r, base / 2 + 1);

	if (sim_below(r, 256) == 0)
		ns = base * 2 + sim_below(r, base * 2 + 1);
	return ns ? ns : 1;
}

#endif
