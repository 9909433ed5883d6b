/* SPDX-License-Identifier: Apache-2.0 */
/* A sleep is known by its thread and its beginning; of those that are over nothing is kept past the
 * next look. */
#include "lib/decode/sleepers.h"

#include "lib/base/hash.h"

static uint64_t first_due(const struct sleepers *s)
{
	return (uint64_t)(s->first_ns ? s->first_ns : SLEEPERS_FIRST_NS);
}

bool sleepers_look(struct sleepers *s, int64_t now_ns)
{
	if (now_ns < s->next_ns)
		return false;
	s->closest_ns = now_ns + (int64_t)first_due(s); /* whoever falls asleep after this look */
	s->often = 0;
	return true;
}

bool sleepers_sleeps(struct sleepers *s, uint32_t tid, int64_t since_ns, int64_t now_ns, bool often)
{
	uint64_t key = hash_u64((uint64_t)since_ns) ^ (uint64_t)tid << 32, due = first_due(s),
		 slept = now_ns > since_ns ? (uint64_t)(now_ns - since_ns) : 0;
	bool said;

	map_get(&s->due, key, &due);
	said = slept >= due;
	often = often && slept >= SLEEPERS_OFTEN_NS && s->often++ < SLEEPERS_OFTEN;
	while (due <= slept && (!often || due < SLEEPERS_OFTEN_NS))
		due *= 2;
	if (due <= slept)
		due += ((slept - due) / SLEEPERS_OFTEN_NS + 1) * SLEEPERS_OFTEN_NS;
	/* Without memory for that it is said again. */
	map_put(&s->seen, key, due);
	if (since_ns + (int64_t)due < s->closest_ns)
		s->closest_ns = since_ns + (int64_t)due;
	return said;
}

void sleepers_looked(struct sleepers *s, int64_t now_ns)
{
	struct map old = s->due;

	s->due = s->seen;
	s->seen = old;
	map_clear(&s->seen);
	s->next_ns = now_ns + SLEEPERS_REST_NS;
	if (s->closest_ns > s->next_ns)
		s->next_ns = s->closest_ns;
}

void sleepers_again(struct sleepers *s)
{
	map_clear(&s->due);
	s->next_ns = 0;
}

void sleepers_free(struct sleepers *s)
{
	map_free(&s->due);
	map_free(&s->seen);
}
