/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of tracks, and told to them by who knows the calls.
 */
#include "lib/tracks/own_code.h"
#include "lib/tracks/track_internal.h"

int path_tracks_loop(const struct path_tracks *t, const struct track_state *s)
{
	return step_runs_choose(t->runs.v, t->runs.n, t->w, t->loops, s->anchor, s->process);
}

struct track_who track_who_of(const struct world *w, uint32_t anchor)
{
	const struct world_thread *t = world_get_thread(w, anchor);
	const struct world_process *p = world_thread_process(w, anchor);
	const struct world_node *node = p ? world_get_node(w, p->node) : NULL;

	return (struct track_who){ .pid = p ? p->tgid : 0,
				   .tid = t ? t->tid : 0,
				   .node = node ? world_text(w, node->name) : bytes_of(""),
				   .comm = t ? world_text(w, world_process_name(w, t->process, 0,
										INT64_MAX))
					     : bytes_of("?") };
}

size_t path_tracks_count(const struct path_tracks *t)
{
	return path_anchors(t->path);
}

int64_t path_tracks_known_ns(const struct path_tracks *t, uint32_t anchor)
{
	return path_is_finished(t->path) ? INT64_MAX : path_known_ns(t->path, anchor);
}

static struct track_phase phase_of(const struct track_state *s, enum track_window window)
{
	const struct track_span *in = &s->phases[window];

	return (struct track_phase){ window, in->from_ns, in->to_ns, in->ns };
}

struct track path_tracks_get(const struct path_tracks *t, size_t i)
{
	struct path_anchor a = path_anchor(t->path, i);
	struct track track = { .anchor = a.thread, .begin_ns = a.begin_ns, .end_ns = a.end_ns };
	uint64_t at;
	int loop;

	if (!map_get(&t->by_anchor, a.thread, &at))
		return track;
	loop = path_tracks_loop(t, &t->v.v[at]);
	track.loop = loop < 0 ? NULL : loops_get(t->loops, (size_t)loop);
	for (unsigned k = 0; k < TRACK_WINDOWS; k++)
		if (t->v.v[at].phases[k].ns)
			track.phases[track.nphases++] = phase_of(&t->v.v[at], k);
	return track;
}

bool path_tracks_device(struct path_tracks *t, uint32_t thread, int64_t ns, bool busy,
			uint64_t calls)
{
	return device_use_change(&t->device_of_thread, thread,
				 world_thread_process_id(t->w, thread), ns, busy, calls);
}

bool path_tracks_device_all(struct path_tracks *t, uint32_t process, int64_t ns, bool busy,
			    uint64_t calls)
{
	return device_use_change(&t->device_of_process, process, process, ns, busy, calls);
}

void path_tracks_device_gone(struct path_tracks *t, uint32_t thread)
{
	device_use_forget(&t->device_of_thread, thread);
	device_gaps_forget(&t->gaps, thread, INT64_MAX);
}

void path_tracks_device_all_gone(struct path_tracks *t, uint32_t process)
{
	device_use_forget(&t->device_of_process, process);
	device_use_forget_owner(&t->device_of_process, process);
	device_use_forget_owner(&t->device_of_thread, process);
}

bool path_tracks_grown(struct path_tracks *t, path_tracks_hear *hear, void *ctx)
{
	struct track_parts parts = { 0 };
	bool ok = true;

	for (size_t i = 0; ok && i < t->grown.n; i++) {
		struct track_state *s = &t->v.v[t->grown.v[i]];

		s->grown = false;
		ok = track_sums_grown(&s->sums, s->anchor, t->path, &t->names, &parts);
		for (size_t k = 0; ok && k < parts.v.n; k++) {
			struct track_part *p = &parts.v.v[k];

			path_tracks_mark_pace(t, p);
			ok = hear(ctx, s->anchor, p);
		}
	}
	t->grown.n = 0;
	vec_free(&parts.v);
	return ok;
}

static void mark_seldom(struct track_part *p, uint32_t anchor, const struct loop *l)
{
	double steps = l->least ? (double)l->count : l->uncertain ? l->fewest : (double)l->estimate;

	p->seldom = p->class == PATH_SLEEP && p->leaf == anchor && 2 * (double)p->pieces < steps;
}

bool path_tracks_parts(struct path_tracks *t, size_t i, enum track_window window,
		       struct track_parts *out)
{
	struct path_anchor a = path_anchor(t->path, i);
	uint64_t at;
	int loop;

	out->v.n = 0;
	out->grid = (struct course_grid){ { 0 } };
	if (!map_get(&t->by_anchor, a.thread, &at))
		return true;
	if (!track_sums_parts(&t->v.v[at].sums, window, a.thread, t->path, &t->names, out))
		return false;
	loop = path_tracks_loop(t, &t->v.v[at]);
	for (size_t k = 0; k < out->v.n; k++) {
		path_tracks_mark_pace(t, &out->v.v[k]);
		if (window == WINDOW_STEPS && loop >= 0)
			mark_seldom(&out->v.v[k], a.thread, loops_get(t->loops, (size_t)loop));
	}
	if (!own_code_place(out, a.thread, t->cpu_samples_hz))
		return false;
	if (window == WINDOW_STEPS && loop >= 0)
		out->grid = course_grid_of(&t->runs.v[loop].course);
	return true;
}

uint64_t path_tracks_queued_ns(const struct path_tracks *t, uint32_t thread)
{
	return path_queued_ns(t->path, thread);
}

void path_tracks_unended(const struct path_tracks *t, uint32_t thread, struct path_unended *out)
{
	path_unended_of(&t->unended, thread, out);
}

struct track_names *path_tracks_names(struct path_tracks *t)
{
	return &t->names;
}

const struct allowed_cpus *path_tracks_allowed(const struct path_tracks *t)
{
	return &t->allowed;
}

const struct io_limits *path_tracks_limits(const struct path_tracks *t)
{
	return &t->limits;
}

const struct new_processes *path_tracks_forks(const struct path_tracks *t)
{
	return &t->forks;
}

bool path_tracks_new_processes(const struct path_tracks *t, size_t i, bool within,
			       const struct track_parts *parts, struct new_between *out)
{
	static const struct step_runs none;
	struct path_anchor a = path_anchor(t->path, i);
	uint64_t at;
	int loop = map_get(&t->by_anchor, a.thread, &at) ? path_tracks_loop(t, &t->v.v[at]) : -1;

	return new_processes_between(&t->forks, world_thread_process_id(t->w, a.thread),
				     loop < 0 ? &none : &t->runs.v[loop], within, parts, out);
}

const struct first_calls *path_tracks_firsts(const struct path_tracks *t)
{
	return &t->firsts;
}
