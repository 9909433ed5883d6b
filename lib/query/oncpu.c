/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples are counted by thread and stack while events pass, since names of frames may come later.
 * In the end stacks become lines, and lines functions: a loop of several lines is one place, called
 * by the line that most samples are in.
 */
#include "lib/query/oncpu.h"

#include <stdlib.h>
#include <string.h>

#include "lib/query/cpu_samples.h"
#include "lib/base/arena.h"
#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/account/names.h"

#define STACKS_MAX 262144
#define EVALUATES                                                                              \
	"_PyEval_" /* Python's own functions that run bytecode begin with it: the Python frame \
		      says more */

/* One thread and stack; in the end one thread and frame. */
struct spot {
	uint32_t thread, at;
	uint64_t count, inside;
};

struct function {
	uint32_t thread, frame; /* frame: the one with most samples */
	uint32_t stack, leaf;	/* the same; leaf: a frame, 0 none */
	uint64_t frame_count, stack_count, leaf_count;
	uint64_t count, inside;
};

/* A function, and one that it had called. */
struct called {
	size_t by; /* index of the function */
	uint32_t frame;
	uint64_t count;
};

/* When a thread was seen. */
struct seen {
	int64_t first_ns, last_ns; /* both 0: never */
};

struct query_oncpu {
	const struct world *world;
	struct oncpu answer;
	bool rate_known;
	struct map by_stack; /* thread << 32 | stack -> index + 1 */
	VEC(struct spot) stacks;
	struct cpu_samples samples;	/* of places in stacks */
	VEC(struct seen) seen;		/* by world id of the thread */
	uint32_t seen_ctx, seen_thread; /* of the event before */
	struct arena texts;
};

struct query_oncpu *query_oncpu_new(const struct world *w)
{
	struct query_oncpu *a = calloc(1, sizeof(*a));

	if (a)
		a->world = w;
	return a;
}

void query_oncpu_free(struct query_oncpu *a)
{
	if (!a)
		return;
	map_free(&a->by_stack);
	vec_free(&a->stacks);
	vec_free(&a->seen);
	cpu_samples_free(&a->samples);
	vec_free(&a->answer.v);
	arena_free(&a->texts);
	free(a);
}

static bool count_sample(struct query_oncpu *a, const struct event *ev)
{
	const struct world_ctx *c = world_get_ctx(a->world, ev->ctx);
	uint64_t key = (uint64_t)(c ? c->thread : 0) << 32 | ev->stack, i;

	a->answer.count++;
	if (!map_get(&a->by_stack, key, &i)) {
		if (!c || !c->thread || a->stacks.n == STACKS_MAX) {
			a->answer.untold++;
			return true;
		}
		if (!vec_push(&a->stacks, (struct spot){ .thread = c->thread, .at = ev->stack }) ||
		    !map_put(&a->by_stack, key, a->stacks.n))
			return false;
		i = a->stacks.n;
	}
	a->stacks.v[i - 1].count++;
	a->stacks.v[i - 1].inside += ev->depth > 0;
	return cpu_samples_add(&a->samples, (uint32_t)(i - 1), ev->depth > 0, ev->end_ns);
}

/* Events come in the order of their ends. */
static bool extend_seen(struct query_oncpu *a, const struct event *ev)
{
	int64_t start = event_start(ev);
	struct seen *s;

	if (ev->ctx != a->seen_ctx) {
		const struct world_ctx *c = world_get_ctx(a->world, ev->ctx);

		a->seen_ctx = ev->ctx;
		a->seen_thread = c ? c->thread : 0;
	}
	if (!a->seen_thread)
		return true;
	if (!vec_reach(&a->seen, a->seen_thread))
		return false;
	s = &a->seen.v[a->seen_thread];
	if (!s->last_ns || start < s->first_ns)
		s->first_ns = start;
	s->last_ns = ev->end_ns > s->last_ns ? ev->end_ns : s->last_ns;
	return true;
}

/* Recordings with different rates have no rate in common. */
static void add_session(struct query_oncpu *a, const struct record *r)
{
	uint32_t hz = REC_HAS(r, SESSION, cpu_samples_hz) ? r->u.SESSION.cpu_samples_hz : 0;

	if (hz && !a->rate_known)
		a->answer.hz = hz;
	else if (hz && a->answer.hz != hz)
		a->answer.hz = 0;
	a->rate_known |= hz > 0;
}

int query_oncpu_item(struct query_oncpu *a, const struct stream_item *item, struct err *e)
{
	if (item->kind == STREAM_RECORD && item->record->kind == RECORD_SESSION)
		add_session(a, item->record);
	for (size_t i = 0; item->kind == STREAM_EVENTS && i < item->n; i++)
		if (!extend_seen(a, &item->events[i]) ||
		    (item->events[i].op == OP_CPU_SAMPLE && !count_sample(a, &item->events[i])))
			return err_nomem(e);
	return 0;
}

/* What tells functions apart: all of a frame but where in it. */
static uint64_t function_key(const struct world *w, uint32_t thread, uint32_t frame)
{
	const struct world_frame *f = world_get_frame(w, frame);
	const struct world_symbol *s = world_get_symbol(w, frame);
	struct {
		uint32_t thread, kind, name, place;
	} key = { .thread = thread };

	if (f) {
		key.kind = f->kind;
		key.name = f->kind == FRAME_PYTHON ? f->name : s ? s->name : 0;
		key.place = f->kind == FRAME_PYTHON ? f->file : f->module;
	}
	return hash_bytes(&key, sizeof(key), 0);
}

/* What a thread had called last of its site: the innermost frame with a name that does more than
 * run Python's bytecode; 0: it was at the site itself. */
static uint32_t leaf_frame(const struct world *w, uint32_t stack, uint32_t site)
{
	unsigned n = 0;
	const uint32_t *frames = stack ? world_get_stack(w, stack, &n) : NULL;

	for (unsigned i = 0; i < n && frames[i] != site; i++) {
		const struct world_frame *f = world_get_frame(w, frames[i]);
		const struct world_symbol *s = world_get_symbol(w, frames[i]);
		struct bytes name = world_text(w, s ? s->name : 0);

		if (f && f->kind == FRAME_PYTHON)
			return frames[i];
		if (name.n && (name.n < strlen(EVALUATES) ||
			       memcmp(name.p, EVALUATES, strlen(EVALUATES)) != 0))
			return frames[i];
	}
	return 0;
}

/* What functions are made of while they are counted. */
struct folding {
	const struct world *w;
	struct map by_frame, by_function, by_leaf;
	VEC(struct spot) frames;
	VEC(struct function) functions;
	VEC(struct called) called;
};

static void folding_free(struct folding *f)
{
	map_free(&f->by_frame);
	map_free(&f->by_function);
	map_free(&f->by_leaf);
	vec_free(&f->frames);
	vec_free(&f->called);
}

static bool fold_frame(struct folding *f, const struct spot *s, uint32_t frame)
{
	uint64_t key = (uint64_t)s->thread << 32 | frame, i;

	if (!map_get(&f->by_frame, key, &i)) {
		if (!vec_push(&f->frames, (struct spot){ .thread = s->thread, .at = frame }) ||
		    !map_put(&f->by_frame, key, f->frames.n))
			return false;
		i = f->frames.n;
	}
	f->frames.v[i - 1].count += s->count;
	f->frames.v[i - 1].inside += s->inside;
	return true;
}

/* The function's index + 1; 0: out of memory. */
static uint64_t function_of(struct folding *f, uint32_t thread, uint32_t frame)
{
	uint64_t key = function_key(f->w, thread, frame), i;

	if (map_get(&f->by_function, key, &i))
		return i;
	if (!vec_push(&f->functions, (struct function){ .thread = thread }) ||
	    !map_put(&f->by_function, key, f->functions.n))
		return 0;
	return f->functions.n;
}

/* Whom the function was called by, and what it had called. */
static bool fold_stack(struct folding *f, const struct spot *s, uint32_t site)
{
	uint64_t at = function_of(f, s->thread, site), key, i;
	uint32_t leaf = leaf_frame(f->w, s->at, site);
	struct function *fn;

	if (!at)
		return false;
	fn = &f->functions.v[at - 1];
	if (s->count > fn->stack_count) {
		fn->stack_count = s->count;
		fn->stack = s->at;
	}
	if (!leaf)
		return true;
	key = hash_u64(function_key(f->w, 0, leaf) + at);
	if (!map_get(&f->by_leaf, key, &i)) {
		if (!vec_push(&f->called, (struct called){ .by = at - 1, .frame = leaf }) ||
		    !map_put(&f->by_leaf, key, f->called.n))
			return false;
		i = f->called.n;
	}
	f->called.v[i - 1].count += s->count;
	return true;
}

/* Stacks to frames, frames to functions: the caller's to free, however it ends. */
static bool fold_spots(struct folding *f, const struct spot *spots, size_t nspots)
{
	for (size_t k = 0; k < nspots; k++) {
		uint32_t site = spots[k].count ? name_site_frame(f->w, spots[k].at) : 0;

		if (spots[k].count &&
		    (!fold_frame(f, &spots[k], site) || !fold_stack(f, &spots[k], site)))
			return false;
	}
	for (size_t k = 0; k < f->frames.n; k++) {
		const struct spot *s = &f->frames.v[k];
		uint64_t at = function_of(f, s->thread, s->at);
		struct function *fn;

		if (!at)
			return false;
		fn = &f->functions.v[at - 1];
		fn->count += s->count;
		fn->inside += s->inside;
		if (s->count > fn->frame_count) {
			fn->frame_count = s->count;
			fn->frame = s->at;
		}
	}
	for (size_t k = 0; k < f->called.n; k++) {
		struct function *fn = &f->functions.v[f->called.v[k].by];

		if (f->called.v[k].count > fn->leaf_count) {
			fn->leaf_count = f->called.v[k].count;
			fn->leaf = f->called.v[k].frame;
		}
	}
	return true;
}

static int by_thread_and_count(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

static int by_count(const void *a, const void *b)
{
	const struct oncpu_thread *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

static bool text_of(struct query_oncpu *a, uint32_t frame, struct bytes *text)
{
	const struct world_frame *f = world_get_frame(a->world, frame);
	const struct world_symbol *s = world_get_symbol(a->world, frame);
	const struct world_module *m = f ? world_get_module(a->world, f->module) : NULL;
	struct bytes module = m ? world_text(a->world, m->path) : (struct bytes){ 0 }, name;
	struct buf b = { 0 };
	char *copy;

	if (f && f->kind == FRAME_NATIVE) {
		module = bytes_file_name(module);
		name = s ? world_text(a->world, s->name) : bytes_of("a function without a name");
		buf_add(&b, name.p, name.n);
		buf_printf(&b, " (%.*s)", (int)module.n, module.p ? module.p : "");
	} else {
		name_frame(&b, a->world, frame);
	}
	copy = b.failed ? NULL : arena_copy(&a->texts, b.p, b.n);
	*text = (struct bytes){ copy, copy ? b.n : 0 };
	buf_free(&b);
	return copy != NULL;
}

/* How much of the window the thread is known in. */
static uint64_t wall_of(const struct query_oncpu *a, uint32_t thread)
{
	const struct oncpu_window *in = &a->answer.window;
	struct seen s = thread < a->seen.n ? a->seen.v[thread] : (struct seen){ 0 };

	s.first_ns = s.first_ns > in->from_ns ? s.first_ns : in->from_ns;
	s.last_ns = s.last_ns < in->until_ns ? s.last_ns : in->until_ns;
	return s.last_ns > s.first_ns ? (uint64_t)(s.last_ns - s.first_ns) : 0;
}

static struct oncpu_thread thread_of(const struct query_oncpu *a, uint32_t id)
{
	const struct world *w = a->world;
	const struct world_thread *t = world_get_thread(w, id);
	const struct world_process *p = t ? world_get_process(w, t->process) : NULL;
	struct oncpu_thread v = { .thread = id, .wall_ns = wall_of(a, id) };

	v.tid = t ? t->tid : 0;
	v.pid = p ? p->tgid : 0;
	v.name = world_text(w, v.tid == v.pid ? world_process_name(w, t->process, 0, INT64_MAX)
					      : world_thread_name(w, id, INT64_MAX));
	return v;
}

/* Half of the time or more it was there. */
static bool leaf_of(struct query_oncpu *a, const struct function *f, struct oncpu_place *p)
{
	if (!f->leaf || 2 * f->leaf_count < f->count)
		return true;
	p->leaf_count = f->leaf_count;
	return text_of(a, f->leaf, &p->leaf);
}

static bool caller_of(struct query_oncpu *a, const struct function *f, struct oncpu_place *p)
{
	struct buf b = { 0 };
	char *copy;
	bool good;

	name_site_caller(&b, a->world, f->stack);
	copy = b.n ? arena_copy(&a->texts, b.p, b.n) : NULL;
	good = !b.failed && (copy || !b.n);
	p->caller = (struct bytes){ copy, copy ? b.n : 0 };
	buf_free(&b);
	return good;
}

static bool add_function(struct query_oncpu *a, const struct function *f)
{
	struct oncpu_thread *t = a->answer.v.n ? &a->answer.v.v[a->answer.v.n - 1] : NULL;
	struct oncpu_place *p;

	if (!t || t->thread != f->thread) {
		if (!vec_push(&a->answer.v, thread_of(a, f->thread)))
			return false;
		t = &a->answer.v.v[a->answer.v.n - 1];
	}
	t->count += f->count;
	t->inside += f->inside;
	if (!f->frame) {
		t->nowhere += f->count;
		return true;
	}
	if (t->nplaces == ONCPU_PLACES) {
		t->elsewhere += f->count;
		return true;
	}
	p = &t->places[t->nplaces++];
	*p = (struct oncpu_place){ .count = f->count, .inside = f->inside };
	return text_of(a, f->frame, &p->text) && caller_of(a, f, p) && leaf_of(a, f, p);
}

static void count_in_window(void *ctx, uint32_t spot, bool inside, uint64_t times)
{
	struct spot *v = (struct spot *)ctx + spot;

	v->count += times;
	v->inside += inside ? times : 0;
}

/* Samples of each thread and stack that lie in the window: the caller's to free; NULL: out of
 * memory. */
static struct spot *spots_in_window(const struct query_oncpu *a)
{
	struct spot *v = calloc(a->stacks.n + 1, sizeof(*v));

	for (size_t i = 0; v && i < a->stacks.n; i++) {
		v[i] = a->stacks.v[i];
		if (a->answer.window.steps)
			v[i].count = v[i].inside = 0;
	}
	if (v && a->answer.window.steps)
		cpu_samples_for_each(&a->samples, a->answer.window.from_ns,
				     a->answer.window.until_ns, count_in_window, v);
	return v;
}

static struct oncpu_window full_window(const struct query_oncpu *a)
{
	struct oncpu_window w = { 0 };

	for (size_t i = 0; i < a->seen.n; i++) {
		const struct seen *s = &a->seen.v[i];

		if (!s->last_ns)
			continue;
		w.from_ns = !w.until_ns || s->first_ns < w.from_ns ? s->first_ns : w.from_ns;
		w.until_ns = s->last_ns > w.until_ns ? s->last_ns : w.until_ns;
	}
	return w;
}

const struct oncpu *query_oncpu_end(struct query_oncpu *a, const struct oncpu_window *steps)
{
	struct folding f = { .w = a->world };
	struct spot *spots;
	bool good;

	a->answer.window = steps ? *steps : full_window(a);
	a->answer.v.n = 0;
	spots = spots_in_window(a);
	good = spots && fold_spots(&f, spots, a->stacks.n);
	if (good && f.functions.n)
		qsort(f.functions.v, f.functions.n, sizeof(f.functions.v[0]), by_thread_and_count);
	for (size_t i = 0; i < f.functions.n && good; i++)
		good = add_function(a, &f.functions.v[i]);
	vec_free(&f.functions);
	folding_free(&f);
	free(spots);
	if (good && a->answer.v.n)
		qsort(a->answer.v.v, a->answer.v.n, sizeof(a->answer.v.v[0]), by_count);
	return good ? &a->answer : NULL;
}
