/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of a track beyond their limit: a shell that starts programs one after the other waits for
 * ever new threads, and its track does not grow with them.
 */
#include "tests/tap.h"

#include "lib/tracks/track_sums.h"
#include "tests/unit/events.h"

#define BEYOND 3000

static uint32_t number_of(struct track_sums *s, struct track_names *names, struct actor anchor,
			  struct actor leaf, uint8_t state, uint32_t who, uint32_t line)
{
	struct segment g = { .state = state, .who = who, .line = line };
	struct path_piece p = {
		.anchor = anchor.thread, .thread = leaf.thread, .from_ns = 0, .to_ns = 1, .s = &g
	};

	return track_sums_number(s, names, &p);
}

int main(void)
{
	struct stage s = stage_new();
	struct track_names names = { .w = s.w, .culprits = { .w = s.w } };
	struct track_sums sums = { 0 };
	struct actor shell = stage_actor(&s, 10, 10, 1, "bash"), first = { 0 }, other;
	uint32_t full, number = 0, alike = 0, waits = 0;

	for (uint32_t i = 0; i < TRACK_SUMS_MAX; i++)
		number = number_of(&sums, &names, shell, shell, SEGMENT_CALL, 0, i + 1);
	is_u64(number, TRACK_SUMS_MAX, "sums that differ in their lines, up to the limit");
	full = (uint32_t)sums.v.n;
	for (uint32_t i = 0; i < BEYOND; i++) {
		struct actor job = stage_actor(&s, 100 + i, 100 + i, 10, "job");

		first = i ? first : job;
		number = number_of(&sums, &names, shell, job, SEGMENT_OWN, 0, 7 + i);
		alike += sums.v.v[number - 1].key.thread == first.thread;
		number = number_of(&sums, &names, shell, shell, SEGMENT_WAITING, job.thread, 0);
		waits += sums.v.v[number - 1].key.who == first.thread &&
			 sums.v.v[number - 1].key.thread == shell.thread;
	}
	is_u64(sums.v.n, full + 2, "programs like the first one make no more of them");
	is_u64(alike, BEYOND, "they stand under the first");
	is_u64(waits, BEYOND, "so do waits for them, which stay the shell's own");
	other = stage_actor(&s, 9000, 9000, 10, "make");
	number = number_of(&sums, &names, shell, other, SEGMENT_OWN, 0, 1);
	is_u64(sums.v.v[number - 1].key.thread, other.thread, "another program is another one");
	track_sums_free(&sums);
	path_culprits_free(&names.culprits);
	stage_free(&s);
	return tap_done();
}
