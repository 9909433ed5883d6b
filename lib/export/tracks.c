/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the tracks of a timeline and names them. A name is written when its track is made and
 * passed on at once; it is not kept.
 */
#include "lib/export/tracks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/export/event_args.h"

static bool name_track(struct tracks *ts, const struct track *t, struct buf *name)
{
	bool ok = !name->failed && ts->told_new(ts->ctx, t, buf_bytes(name));

	buf_free(name);
	return ok;
}

static struct track *new_track(struct tracks *ts, enum track_kind kind, uint32_t subject,
			       const struct track *parent)
{
	struct track *t = calloc(1, sizeof(*t));

	if (!t || !vec_push(&ts->v, t)) {
		free(t);
		return NULL;
	}
	t->kind = kind;
	t->id = (uint32_t)ts->v.n;
	t->subject = subject;
	t->taken.cursor_ns = INT64_MIN;
	for (unsigned d = 0; d < TRACKS_DEPTHS; d++) {
		t->taken.first_ns[d] = INT64_MAX;
		t->taken.last_ns[d] = INT64_MIN;
	}
	if (parent) {
		t->parent = parent->id;
		t->pid = parent->pid;
	}
	return t;
}

/* Returns number if it is free, else another one; never 0 or more than INT32_MAX. */
static uint32_t unique_number(struct map *taken, uint32_t number)
{
	uint64_t v = number;

	while (v == 0 || v > INT32_MAX || map_get(taken, v, NULL))
		v = v > INT32_MAX ? hash_u64(v + number) >> 33 : v + TRACKS_PID_STEP;
	return map_put(taken, v, 1) ? (uint32_t)v : 0;
}

static uint64_t subject_key(enum track_kind kind, uint32_t subject)
{
	return (uint64_t)kind << 32 | subject;
}

/* The line of a subject; NULL: not made yet. */
static struct track *find_track(struct tracks *ts, enum track_kind kind, uint32_t subject)
{
	uint64_t id;

	return map_get(&ts->by_subject, subject_key(kind, subject), &id)
		       ? tracks_get(ts, (uint32_t)id)
		       : NULL;
}

static void string_name(struct buf *out, const struct tracks *ts, uint32_t string,
			const char *otherwise)
{
	struct bytes text = world_text(ts->w, string);

	if (text.n)
		event_args_clean(out, text);
	else
		buf_puts(out, otherwise);
}

/* 0: not known. */
static uint32_t node_name(const struct tracks *ts, uint32_t node)
{
	const struct world_node *n = world_get_node(ts->w, node);

	return n ? n->name : 0;
}

struct track *tracks_of_node(struct tracks *ts, uint32_t node)
{
	struct track *t = find_track(ts, LINE_NODE, node);
	struct buf name = { 0 };

	if (t)
		return t;
	t = new_track(ts, LINE_NODE, node, NULL);
	if (!t || !map_put(&ts->by_subject, subject_key(LINE_NODE, node), t->id))
		return NULL;
	/* Beyond the pids of any machine, where a format wants one. */
	t->pid = unique_number(&ts->pids, 511 * TRACKS_PID_STEP + t->id);
	string_name(&name, ts, node_name(ts, node), "machine");
	return t->pid && name_track(ts, t, &name) ? t : NULL;
}

/* "rank 2 python3 (gpu-host-1)" */
static void process_name(struct buf *out, const struct tracks *ts, const struct track *t,
			 uint32_t comm)
{
	const struct world_process *p = world_get_process(ts->w, t->subject);
	const struct world_node *n = p ? world_get_node(ts->w, p->node) : NULL;
	uint64_t rank;

	if (map_get(&ts->ranks, t->subject, &rank))
		buf_printf(out, "rank %" PRIu64 " ", rank - 1);
	string_name(out, ts, comm, "process");
	if (p && t->pid != p->tgid)
		buf_printf(out, " pid %u", p->tgid);
	if (n && world_text(ts->w, n->name).n) {
		buf_puts(out, " (");
		event_args_clean(out, world_text(ts->w, n->name));
		buf_putc(out, ')');
	}
}

static struct track *of_process(struct tracks *ts, uint32_t process, uint32_t comm)
{
	struct track *t = find_track(ts, LINE_PROCESS, process);
	const struct world_process *p = world_get_process(ts->w, process);
	struct buf name = { 0 };

	if (t && (t->tid || !comm))
		return t;
	if (!t) {
		struct track *node = tracks_of_node(ts, p ? p->node : 0);

		t = node ? new_track(ts, LINE_PROCESS, process, node) : NULL;
		if (!t || !map_put(&ts->by_subject, subject_key(LINE_PROCESS, process), t->id))
			return NULL;
		t->pid = unique_number(&ts->pids, p ? p->tgid : 0);
	}
	t->tid = comm; /* of a process: the name that the sink has for it */
	process_name(&name, ts, t, comm);
	return t->pid && name_track(ts, t, &name) ? t : NULL;
}

struct track *tracks_of_process(struct tracks *ts, uint32_t process)
{
	return of_process(ts, process, 0);
}

bool tracks_rank(struct tracks *ts, uint32_t process, uint32_t rank)
{
	struct track *t = find_track(ts, LINE_PROCESS, process);
	struct buf name = { 0 };
	uint64_t before;

	if (map_get(&ts->ranks, process, &before))
		return true;
	if (!map_put(&ts->ranks, process, (uint64_t)rank + 1))
		return false;
	if (!t)
		return true;
	process_name(&name, ts, t, t->tid);
	return name_track(ts, t, &name);
}

/* What a machine or a process is sorted by. */
struct place {
	const struct track *track;
	struct bytes node;
	uint64_t rank; /* UINT64_MAX: none */
	uint32_t pid;
};

static struct place place_of_track(const struct tracks *ts, const struct track *t)
{
	bool is_node = t->kind == LINE_NODE;
	const struct world_process *p = is_node ? NULL : world_get_process(ts->w, t->subject);
	const struct world_node *n = world_get_node(ts->w, is_node ? t->subject : p ? p->node : 0);
	struct place out = { .track = t, .rank = UINT64_MAX, .pid = p ? p->tgid : 0 };
	uint64_t rank;

	if (n)
		out.node = world_text(ts->w, n->name);
	if (!is_node && map_get(&ts->ranks, t->subject, &rank))
		out.rank = rank - 1;
	return out;
}

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	size_t n = x->node.n < y->node.n ? x->node.n : y->node.n;
	int c = n ? memcmp(x->node.p, y->node.p, n) : 0;

	if (c || x->node.n != y->node.n)
		return c ? c : x->node.n < y->node.n ? -1 : 1;
	if (x->track->kind != y->track->kind)
		return x->track->kind < y->track->kind ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->track->id < y->track->id ? -1 : 1;
}

bool tracks_order(struct tracks *ts, tracks_order_fn *told)
{
	VEC(struct place) places = { 0 };
	bool ok = true;

	for (size_t i = 0; ok && i < ts->v.n; i++) {
		const struct track *t = ts->v.v[i];

		if (t->kind == LINE_NODE || t->kind == LINE_PROCESS)
			ok = vec_push(&places, place_of_track(ts, t));
	}
	if (places.n)
		qsort(places.v, places.n, sizeof(*places.v), by_place);
	for (size_t i = 0; ok && i < places.n; i++) {
		const struct track *t = places.v[i].track;
		struct buf name = { 0 };

		if (t->kind == LINE_NODE)
			string_name(&name, ts, node_name(ts, t->subject), "machine");
		else
			process_name(&name, ts, t, t->tid);
		ok = !name.failed && told(ts->ctx, t, (uint32_t)i + 1, buf_bytes(&name));
		buf_free(&name);
	}
	vec_free(&places);
	return ok;
}

static struct track *of_thread(struct tracks *ts, uint32_t thread, uint32_t comm)
{
	struct track *t = find_track(ts, LINE_THREAD, thread), *process;
	const struct world_thread *th = world_get_thread(ts->w, thread);
	const struct world_process *p;
	struct buf name = { 0 };

	if (t)
		return t;
	process = of_process(ts, th->process, comm);
	t = process ? new_track(ts, LINE_THREAD, thread, process) : NULL;
	if (!t || !map_put(&ts->by_subject, subject_key(LINE_THREAD, thread), t->id))
		return NULL;
	/* As far from its own as the process's is. */
	p = world_get_process(ts->w, th->process);
	t->tid = unique_number(&ts->tids, th->tid + (process->pid - (p ? p->tgid : 0)));
	string_name(&name, ts, world_thread_name(ts->w, thread, INT64_MAX), "thread");
	return t->tid && name_track(ts, t, &name) ? t : NULL;
}

/* A first thread names its process, too. */
static bool process_named(struct tracks *ts, uint32_t thread)
{
	const struct world_thread *th = world_get_thread(ts->w, thread);
	const struct world_process *p = th ? world_get_process(ts->w, th->process) : NULL;
	struct track *t =
		p && p->tgid == th->tid ? find_track(ts, LINE_PROCESS, th->process) : NULL;
	struct buf name = { 0 };
	uint32_t now;

	if (!t)
		return true;
	now = world_process_name(ts->w, th->process, 0, INT64_MAX);
	if (now == t->tid)
		return true;
	t->tid = now;
	process_name(&name, ts, t, now);
	return name_track(ts, t, &name);
}

bool tracks_named(struct tracks *ts, uint32_t thread)
{
	const struct track *t = find_track(ts, LINE_THREAD, thread);
	struct buf name = { 0 };

	if (!process_named(ts, thread))
		return false;
	if (!t)
		return true;
	string_name(&name, ts, world_thread_name(ts->w, thread, INT64_MAX), "thread");
	return name_track(ts, t, &name);
}

struct track *tracks_of_ctx_slow(struct tracks *ts, uint32_t ctx)
{
	const struct world_ctx *c = world_get_ctx(ts->w, ctx);
	const struct world_image *image = c ? world_get_image(ts->w, c->image) : NULL;
	const struct world_thread *th = c ? world_get_thread(ts->w, c->thread) : NULL;
	uint32_t comm = image ? world_process_name(ts->w, image->process, c->image, INT64_MAX)
			: th  ? th->comm
			      : 0;
	struct track *t;

	if (th)
		t = of_thread(ts, c->thread, comm);
	else if (image)
		t = of_process(ts, image->process, comm);
	else
		t = tracks_of_node(ts, c ? c->node : 0);
	if (c && c->node)
		ts->node = c->node;
	while (t && ts->by_ctx.n <= ctx)
		if (!vec_push(&ts->by_ctx, 0))
			return NULL;
	if (t)
		ts->by_ctx.v[ctx] = t->id;
	return t;
}

static struct tracks_lanes *lanes_of(struct tracks *ts, uint32_t parent, uint64_t what)
{
	uint64_t key = hash_u64(what) ^ (uint64_t)parent << 32, at;

	if (map_get(&ts->by_lane, key, &at))
		return &ts->lanes.v[at - 1];
	if (!vec_push(&ts->lanes, (struct tracks_lanes){ 0 }) ||
	    !map_put(&ts->by_lane, key, ts->lanes.n))
		return NULL;
	return &ts->lanes.v[ts->lanes.n - 1];
}

struct track *tracks_lane(struct tracks *ts, const struct track *parent, uint64_t what,
			  const char *name, int64_t start_ns, int64_t end_ns, bool *full)
{
	struct tracks_lanes *lanes = lanes_of(ts, parent->id, what);
	struct buf text = { 0 };
	struct track *t;

	*full = false;
	if (!lanes)
		return NULL;
	for (size_t i = 0; i < lanes->v.n; i++) {
		if (lanes->v.v[i].end_ns <= start_ns) {
			lanes->v.v[i].end_ns = end_ns;
			return tracks_get(ts, lanes->v.v[i].track);
		}
	}
	*full = lanes->v.n >= TRACKS_LANES_MAX;
	t = *full ? NULL : new_track(ts, LINE_LANE, 0, parent);
	if (!t || !vec_push(&lanes->v, (struct tracks_lane){ t->id, end_ns }))
		return NULL;
	/* Where a format wants a thread. */
	t->tid = unique_number(&ts->tids, 511 * TRACKS_PID_STEP + t->id);
	buf_puts(&text, name);
	return t->tid && name_track(ts, t, &text) ? t : NULL;
}

static void value_name(struct buf *out, const struct tracks *ts, const struct rec_SAMPLE *r,
		       const struct record *rec)
{
	const struct metric_def *m = metric_builtin((uint16_t)r->metric);
	const struct world_cgroup *g = world_get_cgroup(ts->w, r->cgroup);
	const struct world_gpu *gpu = world_get_gpu(ts->w, r->gpu);

	if (m)
		buf_puts(out, m->name);
	else
		buf_printf(out, "metric %u", r->metric);
	if (REC_HAS(rec, SAMPLE, gpu))
		buf_printf(out, " GPU %u", gpu ? gpu->index : r->gpu);
	if (REC_HAS(rec, SAMPLE, cpu))
		buf_printf(out, " CPU %u", r->cpu);
	if (REC_HAS(rec, SAMPLE, device))
		buf_printf(out, " %u:%u", r->device >> 20, r->device & 0xfffff);
	if (g) {
		buf_putc(out, ' ');
		event_args_clean(out, world_text(ts->w, g->path));
	}
}

struct track *tracks_of_sample(struct tracks *ts, const struct rec_SAMPLE *r,
			       const struct record *rec)
{
	const struct metric_def *m = metric_builtin((uint16_t)r->metric);
	uint32_t node = REC_HAS(rec, SAMPLE, node) ? r->node : ts->node ? ts->node : 1;
	uint32_t parts[] = { r->metric,
			     REC_HAS(rec, SAMPLE, process) ? r->process : 0,
			     REC_HAS(rec, SAMPLE, cgroup) ? r->cgroup : 0,
			     REC_HAS(rec, SAMPLE, gpu) ? r->gpu : 0,
			     REC_HAS(rec, SAMPLE, cpu) ? r->cpu + 1 : 0,
			     REC_HAS(rec, SAMPLE, device) ? r->device + 1 : 0,
			     node };
	uint64_t key = hash_bytes(parts, sizeof(parts), 1), id;
	struct buf name = { 0 };
	struct track *parent, *t;

	if (map_get(&ts->by_value, key, &id))
		return tracks_get(ts, (uint32_t)id);
	parent = parts[1] ? tracks_of_process(ts, parts[1]) : tracks_of_node(ts, node);
	t = parent ? new_track(ts, LINE_VALUES, 0, parent) : NULL;
	if (!t || !map_put(&ts->by_value, key, t->id))
		return NULL;
	t->unit = m ? m->unit : "";
	value_name(&name, ts, r, rec);
	return name_track(ts, t, &name) ? t : NULL;
}

void tracks_free(struct tracks *ts)
{
	for (size_t i = 0; i < ts->v.n; i++) {
		vec_free(&ts->v.v[i]->held);
		free(ts->v.v[i]);
	}
	for (size_t i = 0; i < ts->lanes.n; i++)
		vec_free(&ts->lanes.v[i].v);
	vec_free(&ts->v);
	vec_free(&ts->by_ctx);
	vec_free(&ts->lanes);
	map_free(&ts->by_subject);
	map_free(&ts->by_value);
	map_free(&ts->by_lane);
	map_free(&ts->pids);
	map_free(&ts->tids);
	map_free(&ts->ranks);
}
