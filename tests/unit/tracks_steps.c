/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks of programs whose main thread has steps of its own, and those of another thread matter;
 * and of a main thread that runs an event loop.
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

static uint32_t event_loop_at(struct stage *s, unsigned line)
{
	static const struct {
		const char *name, *file;
	} frames[] = { { "EpollSelector.select", "/usr/lib/python3.11/selectors.py" },
		       { "BaseEventLoop._run_once", "/usr/lib/python3.11/asyncio/base_events.py" },
		       { "Runner.run", "/usr/lib/python3.11/asyncio/runners.py" },
		       { "<module>", "server.py" } };
	uint32_t ids[4];

	for (unsigned i = 0; i < 4; i++) {
		struct world_frame f = { .kind = FRAME_PYTHON, .offset = i < 3 ? 10 : line };

		f.name = world_string(s->w, bytes_of(frames[i].name));
		f.file = world_string(s->w, bytes_of(frames[i].file));
		ids[i] = world_frame(s->w, &f);
	}
	return world_stack(s->w, ids, 4);
}

/* An event loop waits for a timer again and again, and what its tasks do between is not seen. */
static void event_loop(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main");
	struct path_tracks *t;

	for (int64_t at = 0; at < 400 * MS; at += 10 * MS + at % (3 * MS)) {
		struct event *ev = stage_offcpu(&s, a, 0, at, at + 9 * MS, 0, 0);

		stage_set(ev, COL_OBJECT_KIND, OBJECT_POLL);
		stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
		ev->stack = event_loop_at(&s, 26);
	}
	t = play(&s);
	has_reason(t, a.thread, WINDOW_START, PATH_OUTSIDE,
		   "waits in its event loop for a timer in <module> (server.py:26)");
	path_tracks_free(t);
	stage_free(&s);
}

int main(void)
{
	event_loop();
	loaded_before(1000, true);
	loaded_before(20, false);
	return done_testing();
}
