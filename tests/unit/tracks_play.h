/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events made by hand are played to tracks, and the phrases of their causes are looked at.
 */
#ifndef INGERO_TESTS_TRACKS_PLAY_H
#define INGERO_TESTS_TRACKS_PLAY_H

#include "tests/tap.h"

#include "lib/base/buf.h"
#include "lib/tracks/causes.h"
#include "lib/tracks/reason.h"
#include "lib/tracks/track.h"
#include "tests/unit/events.h"

/* main() at that line, and in it another function, where its line is not 0. */
static inline uint32_t stage_python(struct stage *s, unsigned line, unsigned inner)
{
	struct world_frame f = { .kind = FRAME_PYTHON,
				 .file = world_string(s->w, bytes_of("train.py")) };
	uint32_t frames[2];
	unsigned n = 0;

	if (inner) {
		f.name = world_string(s->w, bytes_of("forward"));
		f.offset = inner;
		frames[n++] = world_frame(s->w, &f);
	}
	f.name = world_string(s->w, bytes_of("main"));
	f.offset = line;
	frames[n++] = world_frame(s->w, &f);
	return world_stack(s->w, frames, n);
}

#define BATCH 4096 /* events that come at once */

static inline struct path_tracks *play(struct stage *s)
{
	struct path_tracks *t = path_tracks_new(s->w);
	struct stream_item item = { .kind = STREAM_EVENTS };

	stage_sort(s);
	for (size_t i = 0; i < s->ev.n; i += item.n) {
		item.events = s->ev.v + i;
		item.n = s->ev.n - i < BATCH ? s->ev.n - i : BATCH;
		if (!t || path_tracks_item(t, &item, NULL))
			abort();
	}
	if (!t || path_tracks_finish(t, NULL))
		abort();
	return t;
}

static inline size_t track_of(const struct path_tracks *t, uint32_t thread)
{
	size_t i = 0;

	while (i < path_tracks_count(t) && path_tracks_get(t, i).anchor != thread)
		i++;
	return i;
}

/* The phrase of the cause of that class in a window. */
static inline void has_reason(struct path_tracks *t, uint32_t thread, enum track_window window,
			      enum path_class class, const char *want)
{
	struct track_parts parts = { 0 };
	struct path_causes causes = { 0 };
	struct buf out = { 0 };

	if (!path_tracks_parts(t, track_of(t, thread), window, &parts) ||
	    !path_causes_make(&causes, path_tracks_names(t), thread, &parts))
		abort();
	for (size_t i = 0; i < causes.v.n && !out.n; i++)
		if (causes.v.v[i].class == class)
			reason_print(&out, path_tracks_names(t), &causes.v.v[i]);
	is_str(buf_text(&out), want, "%s", want);
	buf_free(&out);
	path_causes_free(&causes);
	vec_free(&parts.v);
}

#endif
