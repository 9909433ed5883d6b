/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares windows of paths by class and place. The anchor's parts are kept apart by all that makes
 * them what they are, so that they can be named; of the others the average by place is enough.
 */
#include "lib/tracks/track_excess.h"

#include "lib/base/hash.h"
#include "lib/tracks/track_internal.h"

void track_excess_free(struct track_excess *x)
{
	track_sums_free(&x->own);
	map_free(&x->others);
}

/* ---- windows ---- */

struct window_listener {
	struct path_listener listener;
	struct path_tracks *t;
	struct track_sums *sums;
	bool nomem;
};

/* Whether the anchor waits for the device. When it is woken from that, the device is done. */
static bool waits_for_device(const struct path_tracks *t, const struct path_piece *p)
{
	const struct segment *own = p->via ? &path_segment_key(t->path, p->via)->s : p->s;

	return own->flags & SEGMENT_IN_SYNC
		       ? own->state != SEGMENT_RUNNABLE && own->state != SEGMENT_THROTTLED
		       : path_class_of(own) == PATH_DEVICE;
}

static void on_piece(struct path_listener *l, const struct path_piece *p)
{
	struct window_listener *in = (struct window_listener *)l;
	struct track_add add = { .from_ns = p->from_ns, .to_ns = p->to_ns };
	uint32_t number;

	if (waits_for_device(in->t, p))
		return;
	number = track_sums_number(in->sums, &in->t->names, p);
	if (number)
		track_sums_add(in->sums, number, WINDOW_STEPS, &add);
	else
		in->nomem = true;
}

static int sum_window(struct path_tracks *t, const struct track_window_of *of,
		      struct track_sums *sums, struct err *e)
{
	struct window_listener l = { .listener.on_piece = on_piece, .t = t, .sums = sums };
	int rc = path_window(t->path, of->anchor, of->from_ns, of->to_ns, &l.listener, e);

	return rc == 0 && l.nomem ? err_nomem(e) : rc;
}

/* ---- comparing ---- */

/* Equal for parts that are the same work, or the same wait, in different processes. Samples hit a
 * function at any of its lines. */
static uint64_t place_of(const struct track_names *names, const struct track_part *p)
{
	const struct world_frame *f = p->line ? world_get_frame(names->w, p->line) : NULL;
	struct {
		uint64_t offset;
		uint32_t class, op, name, file;
	} of = { .class = p->class };

	if (f && f->name) {
		of.name = f->name;
		of.file = f->file;
		of.offset = p->class == PATH_OWN ? 0 : f->offset;
	} else {
		of.name = p->line;
	}
	of.op = p->class == PATH_OWN ? 0 : p->op;
	return hash_bytes(&of, sizeof(of), 0);
}

static bool add_to(struct map *m, uint64_t key, uint64_t ns)
{
	uint64_t sum = 0;

	map_get(m, key, &sum);
	return map_put(m, key, sum + ns);
}

/* Adds 1 / n of the parts. */
static bool add_other(struct track_excess *x, struct path_tracks *t, struct track_sums *sums,
		      uint32_t anchor, size_t n)
{
	struct track_parts parts = { 0 };
	bool ok = track_sums_parts(sums, WINDOW_STEPS, anchor, t->path, &t->names, &parts);

	for (size_t i = 0; ok && i < parts.v.n; i++) {
		const struct track_part *p = &parts.v.v[i];

		x->others_ns[p->class] += p->ns / n;
		ok = add_to(&x->others, place_of(&t->names, p), p->ns / n);
	}
	vec_free(&parts.v);
	return ok;
}

int track_excess_add(struct track_excess *x, struct path_tracks *t, const struct track_window_of *v,
		     size_t n, struct err *e)
{
	int rc = 0;

	if (x->anchor && x->anchor != v[0].anchor)
		return 0;
	x->anchor = v[0].anchor;
	rc = sum_window(t, &v[0], &x->own, e);
	for (size_t i = 1; i < n && rc == 0; i++) {
		struct track_sums sums = { 0 };

		rc = sum_window(t, &v[i], &sums, e);
		if (rc == 0 && !add_other(x, t, &sums, v[i].anchor, n - 1))
			rc = err_nomem(e);
		track_sums_free(&sums);
	}
	return rc;
}

/* What is more than `than` of what there is, as a share of it. */
static double share_above(uint64_t ns, uint64_t than)
{
	return ns > than ? (double)(ns - than) / (double)ns : 0;
}

/* Places with more time than the others', as a whole no more than the class has. */
static bool keep_excess(const struct track_excess *x, const struct track_names *names,
			struct track_parts *parts)
{
	uint64_t class_ns[PATH_CLASSES] = { 0 }, more_ns[PATH_CLASSES] = { 0 };
	struct map own = { 0 };
	bool ok = true;
	size_t keep = 0;

	for (size_t i = 0; ok && i < parts->v.n; i++) {
		class_ns[parts->v.v[i].class] += parts->v.v[i].ns;
		ok = add_to(&own, place_of(names, &parts->v.v[i]), parts->v.v[i].ns);
	}
	for (size_t i = 0; i < parts->v.n; i++) {
		struct track_part *p = &parts->v.v[i];
		uint64_t place = place_of(names, p), all = 0, others = 0;

		map_get(&own, place, &all);
		map_get(&x->others, place, &others);
		p->ns = (uint64_t)((double)p->ns * share_above(all, others));
		more_ns[p->class] += p->ns;
	}
	for (size_t i = 0; i < parts->v.n; i++) {
		struct track_part p = parts->v.v[i];
		double more = share_above(class_ns[p.class], x->others_ns[p.class]) *
			      (double)class_ns[p.class];

		if (more < (double)more_ns[p.class])
			p.ns = (uint64_t)((double)p.ns * more / (double)more_ns[p.class]);
		if (p.ns)
			parts->v.v[keep++] = p;
	}
	parts->v.n = keep;
	map_free(&own);
	return ok;
}

bool track_excess_causes(const struct track_excess *x, struct path_tracks *t,
			 struct path_causes *out)
{
	struct track_parts parts = { 0 };
	bool ok;

	out->v.n = 0;
	out->ns = 0;
	if (!x->anchor)
		return true;
	ok = track_sums_parts(&x->own, WINDOW_STEPS, x->anchor, t->path, &t->names, &parts) &&
	     keep_excess(x, &t->names, &parts) &&
	     path_causes_make(out, &t->names, x->anchor, &parts);
	vec_free(&parts.v);
	return ok;
}
