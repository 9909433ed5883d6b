/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples are counted by thread and stack while events pass, since names of frames may come later. In the end stacks become
 * lines, and lines functions: a loop of several lines is one place, called by the line that most samples are in.
 */
#include "lib/ask/oncpu.h"

#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/cause/names.h"

#define STACKS_MAX 262144

/* One thread and stack; in the end one thread and frame. */
struct spot {
	uint32_t thread, at;
	uint64_t count, inside;
};

struct function {
	uint32_t thread, frame; /* frame: the one with most samples */
	uint64_t frame_count;
	uint64_t count, inside;
};

struct ask_oncpu {
	const struct world *world;
	struct oncpu answer;
	bool rate_known;
	struct map by_stack; /* thread << 32 | stack -> index + 1 */
	VEC(struct spot) stacks;
	struct arena texts;
};

struct ask_oncpu *ask_oncpu_new(const struct world *w)
{
	struct ask_oncpu *a = calloc(1, sizeof(*a));

	if (a)
		a->world = w;
	return a;
}

void ask_oncpu_free(struct ask_oncpu *a)
{
	if (!a)
		return;
	map_free(&a->by_stack);
	vec_free(&a->stacks);
	vec_free(&a->answer.v);
	arena_free(&a->texts);
	free(a);
}

static bool one(struct ask_oncpu *a, const struct event *ev)
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
	return true;
}

/* Recordings with different rates have no rate in common. */
static void session(struct ask_oncpu *a, const struct record *r)
{
	uint32_t hz = REC_HAS(r, SESSION, cpu_samples_hz) ? r->u.SESSION.cpu_samples_hz : 0;

	if (hz && !a->rate_known)
		a->answer.hz = hz;
	else if (hz && a->answer.hz != hz)
		a->answer.hz = 0;
	a->rate_known |= hz > 0;
}

int ask_oncpu_item(struct ask_oncpu *a, const struct stream_item *item, struct err *e)
{
	if (item->kind == STREAM_RECORD && item->record->kind == RECORD_SESSION)
		session(a, item->record);
	for (size_t i = 0; item->kind == STREAM_EVENTS && i < item->n; i++)
		if (item->events[i].op == OP_CPU_SAMPLE && !one(a, &item->events[i]))
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

/* Stacks to frames, frames to functions. */
static bool fold(struct ask_oncpu *a, struct function **functions, size_t *n)
{
	struct map by_frame = { 0 }, by_function = { 0 };
	VEC(struct spot) frames = { 0 };
	VEC(struct function) out = { 0 };
	bool good = true;
	uint64_t i;

	for (size_t k = 0; k < a->stacks.n && good; k++) {
		const struct spot *s = &a->stacks.v[k];
		uint32_t frame = name_site_frame(a->world, s->at);
		uint64_t key = (uint64_t)s->thread << 32 | frame;

		if (!map_get(&by_frame, key, &i)) {
			good = vec_push(&frames,
					(struct spot){ .thread = s->thread, .at = frame }) &&
			       map_put(&by_frame, key, frames.n);
			i = frames.n;
		}
		if (good) {
			/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the map has places of what is in the array */
			frames.v[i - 1].count += s->count;
			frames.v[i - 1].inside += s->inside;
		}
	}
	for (size_t k = 0; k < frames.n && good; k++) {
		const struct spot *s = &frames.v[k];
		uint64_t key = function_key(a->world, s->thread, s->at);
		struct function *f;

		if (!map_get(&by_function, key, &i)) {
			good = vec_push(&out, (struct function){ .thread = s->thread }) &&
			       map_put(&by_function, key, out.n);
			i = out.n;
		}
		if (!good)
			break;
		f = &out.v[i - 1];
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the map has places of what is in the array */
		f->count += s->count;
		f->inside += s->inside;
		if (s->count > f->frame_count) {
			f->frame_count = s->count;
			f->frame = s->at;
		}
	}
	map_free(&by_frame);
	map_free(&by_function);
	vec_free(&frames);
	*functions = out.v;
	*n = out.n;
	return good;
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

static bool text_of(struct ask_oncpu *a, uint32_t frame, struct bytes *text)
{
	const struct world_frame *f = world_get_frame(a->world, frame);
	const struct world_symbol *s = world_get_symbol(a->world, frame);
	const struct world_module *m = f ? world_get_module(a->world, f->module) : NULL;
	struct bytes module = m ? world_text(a->world, m->path) : (struct bytes){ 0 }, name;
	struct buf b = { 0 };
	char *copy;

	if (f && f->kind == FRAME_NATIVE) {
		for (size_t i = module.n; i > 0; i--)
			if (module.p[i - 1] == '/') {
				module = (struct bytes){ module.p + i, module.n - i };
				break;
			}
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

static struct oncpu_thread thread_of(const struct world *w, uint32_t id)
{
	const struct world_thread *t = world_get_thread(w, id);
	const struct world_process *p = t ? world_get_process(w, t->process) : NULL;
	struct oncpu_thread v = { .thread = id };

	v.tid = t ? t->tid : 0;
	v.pid = p ? p->tgid : 0;
	v.name = world_text(w, v.tid == v.pid ? world_process_name(w, t->process, 0, INT64_MAX)
					      : world_thread_name(w, id, INT64_MAX));
	return v;
}

const struct oncpu *ask_oncpu_end(struct ask_oncpu *a)
{
	struct function *functions = NULL;
	size_t n = 0;
	bool good = fold(a, &functions, &n);

	if (good && n)
		qsort(functions, n, sizeof(*functions), by_thread_and_count);
	a->answer.v.n = 0;
	for (size_t i = 0; i < n && good; i++) {
		const struct function *f = &functions[i];
		struct oncpu_thread *t = a->answer.v.n ? &a->answer.v.v[a->answer.v.n - 1] : NULL;

		if (!t || t->thread != f->thread) {
			good = vec_push(&a->answer.v, thread_of(a->world, f->thread));
			if (!good)
				break;
			t = &a->answer.v.v[a->answer.v.n - 1];
		}
		t->count += f->count;
		t->inside += f->inside;
		if (!f->frame)
			t->nowhere += f->count;
		else if (t->nplaces == ONCPU_PLACES)
			t->elsewhere += f->count;
		else {
			struct oncpu_place *p = &t->places[t->nplaces++];

			p->count = f->count;
			p->inside = f->inside;
			good = text_of(a, f->frame, &p->text);
		}
	}
	free(functions);
	if (good && a->answer.v.n)
		qsort(a->answer.v.v, a->answer.v.n, sizeof(a->answer.v.v[0]), by_count);
	return good ? &a->answer : NULL;
}
