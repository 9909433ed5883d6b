/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each part has a line of frames, from the root's function to the call site of the anchor's stack.
 * Levels are looked at one after another: the parts that have the lead so far are added up by their
 * next frame.
 */
#include "lib/tracks/anatomy.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/map.h"
#include "lib/world/call_site.h"
#include "lib/world/module_owner.h"
#include "lib/world/python_code.h"
#include "lib/world/standard_name.h"

/* Of one part: its frames at the levels below the root, the root's first. */
struct descent {
	uint32_t frame[ANATOMY_DEPTH];
	unsigned n;
	bool led;      /* it has the lead's frames */
	uint32_t left; /* else where it left them; 0: not known */
};

struct level {
	uint32_t frame;
	uint64_t ns, deeper_ns; /* of ns: of parts that have a further level */
};

struct work {
	const struct world *w;
	struct track_names *names;
	const struct track_parts *parts;
	struct descent *descents; /* of each part */
	uint32_t loader; /* the frame that stands for all of the dynamic loader; 0: none was met */
	VEC(struct level) level;
	struct map by_frame; /* frame -> position in level */
};

static bool is_same_function(const struct world *w, uint32_t a, uint32_t b)
{
	const struct world_frame *x = world_get_frame(w, a), *y = world_get_frame(w, b);

	return x && y && x->kind == y->kind && x->name == y->name && x->file == y->file;
}

static struct bytes package_of(const struct world *w, uint32_t frame)
{
	const struct world_frame *f = world_get_frame(w, frame);

	return python_package_of(f ? world_text(w, f->file) : (struct bytes){ 0 });
}

/* How far in the frames of a stack are shown: as far as a person's own code goes or, of a loop in
 * an installed package, that package's. n: no further than the root. */
static unsigned find_innermost(const struct world *w, const struct anatomy_root *root,
			       const uint32_t *frames, unsigned n)
{
	struct bytes of = package_of(w, root->frame);

	if (!of.n)
		return call_site_find(w, frames, n);
	for (unsigned i = 0; i < n; i++)
		if (bytes_equal(package_of(w, frames[i]), of))
			return i;
	return n;
}

/* Frames are held innermost first. */
static void descent_python(const struct world *w, const struct anatomy_root *root, uint32_t stack,
			   struct descent *d)
{
	unsigned n, seen = 0;
	const uint32_t *frames = world_get_stack(w, stack, &n);
	unsigned site = frames ? find_innermost(w, root, frames, n) : 0;

	for (unsigned i = frames ? n : 0; i-- > site && d->n < ANATOMY_DEPTH;) {
		const struct world_frame *f = world_get_frame(w, frames[i]);

		if (!f || f->kind != FRAME_PYTHON || seen++ < root->depth)
			continue;
		if (d->n == 0 && !is_same_function(w, frames[i], root->frame))
			return;
		d->frame[d->n++] = frames[i];
	}
}

/* The line of a part outside of any loop. */
static uint32_t line_of(struct work *k, uint32_t stack)
{
	uint32_t frame = own_sites_get(&k->names->owns, k->w, stack).frame;

	if (!own_site_is_loader(k->w, frame))
		return frame;
	if (!k->loader)
		k->loader = frame;
	return k->loader;
}

/* Whether a frame is of a function of the program's own, with a name or, so far as nothing on the
 * stack has one (it was stripped, or made at run time), without. */
static bool is_own_function(const struct world *w, uint32_t frame, bool named)
{
	const struct world_frame *f = world_get_frame(w, frame);
	const struct world_symbol *s = world_get_symbol(w, frame);

	return f && module_is_own(w, f) && !named == !s && !standard_frame(w, frame) &&
	       !(s && bytes_equal(world_text(w, s->name), bytes_of("_start")));
}

/* Whether a signal interrupted the frame: the C library returns from a handler by code that has no
 * name outside of it, while what a program calls has one. */
static bool is_interrupted(const struct world *w, const uint32_t *frames, unsigned i)
{
	const struct world_frame *handler = i >= 2 ? world_get_frame(w, frames[i - 2]) : NULL;
	const struct world_symbol *s;

	if (!handler || !module_is_own(w, handler) || !call_site_passes_on(w, frames[i - 1]))
		return false;
	s = world_get_symbol(w, frames[i - 1]);
	return !s || bytes_equal(world_text(w, s->name), bytes_of("__restore_rt"));
}

/* The calls of the program's own functions and, where it was met in one of them, that function. A
 * signal's handler is called by none of them. */
static void descent_native(const struct work *k, const struct track_part *p, struct descent *d)
{
	unsigned n = 0;
	const uint32_t *frames = world_get_stack(k->w, p->stack, &n);
	bool named = false;

	for (unsigned i = 0; frames && i < n && !named; i++)
		named = is_own_function(k->w, frames[i], true);
	for (unsigned i = frames ? n : 0; i-- > 0 && d->n < ANATOMY_DEPTH;) {
		if (!is_own_function(k->w, frames[i], named))
			continue;
		if (is_interrupted(k->w, frames, i))
			d->n = 0;
		else if (i == 0 && p->met)
			d->frame[d->n++] = track_names_function(k->names, frames[i]);
		else
			d->frame[d->n++] = frames[i];
	}
}

static void descent_of(struct work *k, const struct anatomy_root *root, const struct track_part *p,
		       struct descent *d)
{
	const struct world_frame *of;
	uint32_t line;

	d->led = true;
	if (!p->stack)
		return;
	if (root->frame) {
		descent_python(k->w, root, p->stack, d);
		return;
	}
	line = line_of(k, p->stack);
	of = world_get_frame(k->w, line);
	if (of && of->kind == FRAME_NATIVE && line != k->loader)
		descent_native(k, p, d);
	if (!d->n && line)
		d->frame[d->n++] = p->met && track_names_is_innermost(k->w, p->stack, line)
					   ? track_names_function(k->names, line)
					   : line;
}

static struct level *level_of(struct work *k, uint32_t frame)
{
	struct level fresh = { .frame = frame };
	uint64_t at = k->level.n;

	if (map_get(&k->by_frame, frame, &at))
		return &k->level.v[at];
	if (!vec_push(&k->level, fresh) || !map_put(&k->by_frame, frame, at))
		return NULL;
	return &k->level.v[at];
}

/* The part's frame at this level or, where it has not the lead's frames, at the level that it left
 * them. */
static uint32_t frame_at(const struct descent *d, unsigned at)
{
	if (!d->led)
		return d->left;
	return d->n > at ? d->frame[at] : 0;
}

/* Adds up the parts by their frame at this level. */
static bool add_level(struct work *k, unsigned at)
{
	k->level.n = 0;
	map_free(&k->by_frame);
	memset(&k->by_frame, 0, sizeof(k->by_frame));
	for (size_t i = 0; i < k->parts->v.n; i++) {
		const struct descent *d = &k->descents[i];
		struct level *l = level_of(k, frame_at(d, at));

		if (!l)
			return false;
		l->ns += k->parts->v.v[i].ns;
		l->deeper_ns += d->led && d->n > at + 1 ? k->parts->v.v[i].ns : 0;
	}
	return true;
}

/* The frame that has nearly all of the time and calls others for most of it; 0: none. */
static uint32_t leading_frame(const struct work *k, uint64_t ns)
{
	for (size_t i = 0; i < k->level.n; i++) {
		const struct level *l = &k->level.v[i];

		if (l->frame && (double)l->ns >= ANATOMY_DESCEND * (double)ns &&
		    (double)l->deeper_ns >= ANATOMY_DESCEND * (double)l->ns)
			return l->frame;
	}
	return 0;
}

static int compare_rows(const void *x, const void *y)
{
	const struct anatomy_row *a = x, *b = y;

	if (!a->frame != !b->frame)
		return a->frame ? -1 : 1;
	return a->ns > b->ns ? -1 : a->ns < b->ns;
}

static bool has_row(const struct anatomy *a, uint32_t frame)
{
	for (size_t i = 0; i < a->rows.n; i++)
		if (a->rows.v[i].frame == frame)
			return true;
	return false;
}

static uint32_t site_of(struct track_names *names, const struct track_part *p)
{
	return p->place ? p->place : track_names_site(names, p->stack, p->met);
}

/* The call site of most of a row, where that is further in than the row's own line. */
static uint32_t main_site(struct track_names *names, const struct track_parts *parts,
			  const struct anatomy_row *row)
{
	uint32_t best = 0;
	uint64_t most = 0;

	for (size_t i = 0; i < parts->v.n; i++) {
		uint32_t site = site_of(names, &parts->v.v[i]);
		uint64_t ns = 0;

		if (site == best)
			continue;
		for (size_t k = i; k < parts->v.n; k++)
			if (site_of(names, &parts->v.v[k]) == site)
				ns += parts->v.v[k].ns;
		if (ns > most) {
			most = ns;
			best = site;
		}
	}
	return (double)most >= ANATOMY_SITE * (double)row->ns && best != row->frame ? best : 0;
}

/* The parts of a row: those whose frame at that level is its own or, of the rest, no row's. */
static bool fill_row(const struct work *k, struct anatomy *a, struct track_names *names,
		     uint32_t anchor, struct anatomy_row *row)
{
	struct track_parts own = { .grid = k->parts->grid };
	bool ok = true;

	for (size_t i = 0; ok && i < k->parts->v.n; i++) {
		const struct descent *d = &k->descents[i];
		uint32_t frame = frame_at(d, a->nlead);

		if (frame == row->frame || (!row->frame && !has_row(a, frame)))
			ok = vec_push(&own.v, k->parts->v.v[i]);
	}
	ok = ok && path_causes_make(&row->why, names, anchor, &own);
	row->ns = row->why.ns;
	if (row->frame)
		row->site = main_site(names, &own, row);
	vec_free(&own.v);
	return ok;
}

/* Each frame of the last level with enough time is a row, and one has the rest. */
static bool make_rows(const struct work *k, struct anatomy *a, struct track_names *names,
		      uint32_t anchor, uint64_t ns)
{
	for (size_t i = 0; i < k->level.n; i++) {
		const struct level *l = &k->level.v[i];

		if (l->frame && (double)l->ns >= ANATOMY_MIN_SHARE * (double)ns &&
		    !vec_push(&a->rows, ((struct anatomy_row){ .frame = l->frame })))
			return false;
	}
	if (!vec_push(&a->rows, (struct anatomy_row){ 0 }))
		return false;
	for (size_t i = 0; i < a->rows.n; i++)
		if (!fill_row(k, a, names, anchor, &a->rows.v[i]))
			return false;
	qsort(a->rows.v, a->rows.n, sizeof(a->rows.v[0]), compare_rows);
	if (a->rows.v[a->rows.n - 1].ns == 0)
		path_causes_free(&a->rows.v[--a->rows.n].why);
	return true;
}

/* Follows the frames that have nearly all of the time. */
static bool find_lead(struct work *k, struct anatomy *a, uint64_t ns)
{
	uint32_t frame;

	for (;;) {
		if (!add_level(k, a->nlead))
			return false;
		frame = a->nlead + 1 < ANATOMY_DEPTH ? leading_frame(k, ns) : 0;
		if (!frame)
			return true;
		for (size_t i = 0; i < k->parts->v.n; i++) {
			struct descent *d = &k->descents[i];

			if (!d->led || frame_at(d, a->nlead) == frame)
				continue;
			d->left = frame_at(d, a->nlead);
			d->led = false;
		}
		a->lead[a->nlead++] = frame;
	}
}

bool anatomy_make(struct anatomy *a, struct track_names *names, uint32_t anchor,
		  const struct anatomy_root *root, const struct track_parts *parts)
{
	struct work k = { .w = names->w, .names = names, .parts = parts };
	uint64_t ns = 0;
	bool ok;

	a->nlead = 0;
	a->rows.n = 0;
	k.descents = calloc(parts->v.n ? parts->v.n : 1, sizeof(*k.descents));
	for (size_t i = 0; k.descents && i < parts->v.n; i++) {
		descent_of(&k, root, &parts->v.v[i], &k.descents[i]);
		ns += parts->v.v[i].ns;
	}
	ok = k.descents && find_lead(&k, a, ns) && make_rows(&k, a, names, anchor, ns);
	free(k.descents);
	vec_free(&k.level);
	map_free(&k.by_frame);
	return ok;
}

void anatomy_free(struct anatomy *a)
{
	for (size_t i = 0; i < a->rows.n; i++)
		path_causes_free(&a->rows.v[i].why);
	vec_free(&a->rows);
}
