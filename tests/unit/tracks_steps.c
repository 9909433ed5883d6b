/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks of programs whose main thread has steps of its own, and those of another thread matter.
 */
#include "tests/unit/tracks_play.h"

/* The main thread moves a model to the device, line after line, and then another one serves it: for
 * ratio times as long. */
static void loaded_before(int64_t ratio, bool served)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"),
		     b = stage_actor(&s, 10, 11, 1, "worker");
	uint32_t load[] = { stage_python(&s, 2, 0), stage_python(&s, 3, 0) },
		 serve[] = { stage_python(&s, 12, 0), stage_python(&s, 13, 0) };
	int64_t t = 1000 * MS, step = 40 * 10 * US * ratio / 200;
	struct path_tracks *tracks;
	struct track track;

	for (int i = 0; i < 40; i++, t += 10 * US)
		stage_call(&s, a, OP_CUDA_MEMCPY_ASYNC, 0, t, t + 2 * US)->stack = load[i % 2];
	stage_offcpu(&s, a, 0, t, t + 200 * step, 0, 0);
	for (int i = 0; i < 400; i++, t += step / 2)
		stage_call(&s, b, OP_CUDA_LAUNCH, 0, t, t + 2 * US)->stack = serve[i % 2];
	tracks = play(&s);
	track = path_tracks_get(tracks, track_of(tracks, a.thread));
	ok(track.loop && (track.loop->thread == b.thread) == served,
	   "steps of %s, where another thread's take %d times as long", served ? "that" : "its own",
	   (int)ratio);
	path_tracks_free(tracks);
	stage_free(&s);
}

int main(void)
{
	loaded_before(1000, true);
	loaded_before(20, false);
	return done_testing();
}
