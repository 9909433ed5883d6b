/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of a track beyond their limit: a shell that starts programs one after the other waits for
 * ever new threads, and its track does not grow with them. Where its parts were.
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

static uint32_t native_frame(struct world *w, const char *name, const char *path)
{
	struct world_module m = { .path = world_string(w, bytes_of(path)) };
	struct world_frame f = { .kind = FRAME_NATIVE, .offset = 8, .module = world_module(w, &m) };
	uint32_t id = world_frame(w, &f);

	world_symbol(w, id, &(struct world_symbol){ .name = world_string(w, bytes_of(name)) });
	return id;
}

/* What the anchor's own line called, and whether samples met it in the line's own function. */
static void check_lines(struct stage *s, struct actor anchor)
{
	const uint32_t own = native_frame(s->w, "main", "/srv/prog"),
		       call = native_frame(s->w, "_Fork", "/usr/lib/libc.so.6");
	const struct {
		const char *what;
		uint32_t frames[2];
		uint32_t inner;
		uint8_t state;
		uint16_t flags;
		bool met;
	} rows[] = {
		{ "a sample in a call of the C library",
		  { call, own },
		  call,
		  SEGMENT_OWN,
		  SEGMENT_SAMPLED,
		  false },
		{ "a sample in the line's function",
		  { own, native_frame(s->w, "_start", "/srv/prog") },
		  0,
		  SEGMENT_OWN,
		  SEGMENT_SAMPLED,
		  true },
		{ "a wait", { call, own }, call, SEGMENT_BLOCKED, 0, false },
		{ "what comes behind a call is not in it", { call, own }, 0, SEGMENT_OWN, 0, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct track_names names = { .w = s->w, .culprits = { .w = s->w } };
		struct track_sums sums = { 0 };
		struct track_parts parts = { 0 };
		struct segment g = { .state = rows[i].state,
				     .flags = rows[i].flags,
				     .line = world_stack(s->w, rows[i].frames, 2) };
		struct path_piece p = {
			.anchor = anchor.thread, .thread = anchor.thread, .to_ns = 1, .s = &g
		};
		struct track_add add = { .to_ns = 1 };

		track_sums_add(&sums, track_sums_number(&sums, &names, &p), WINDOW_STEPS, &add);
		ok(track_sums_parts(&sums, WINDOW_STEPS, anchor.thread, NULL, &names, &parts) &&
			   parts.v.n == 1 && parts.v.v[0].line == own,
		   "%s: the program's line", rows[i].what);
		is_u64(parts.v.v[0].inner, rows[i].inner, "%s: what that was in", rows[i].what);
		is_u64(parts.v.v[0].line_met, rows[i].met, "%s: the line met", rows[i].what);
		vec_free(&parts.v);
		track_sums_free(&sums);
		track_names_free(&names);
	}
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
	track_names_free(&names);
	check_lines(&s, shell);
	stage_free(&s);
	return tap_done();
}
