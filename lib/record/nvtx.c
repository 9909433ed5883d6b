/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts are whatever bytes the program had there: what is no character becomes "?". Invariant: an
 * end is matched with its own beginning or counted, never with another's.
 */
#include "lib/record/nvtx.h"

#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/hash.h"
#include "lib/base/utf8.h"
#include "lib/event/op.h"

/* Characters that a line on a terminal can show. */
static void put_narrow(struct buf *b, const char *p, size_t n, bool cut)
{
	for (size_t i = 0; i < n;) {
		size_t length = utf8_length((const unsigned char *)p + i, n - i);
		bool shown = length > 0 && (unsigned char)p[i] >= ' ' && p[i] != 127;

		if (!length && cut && n - i < 4)
			break; /* the cut went through a character */
		if (shown)
			buf_add(b, p + i, length);
		else
			buf_putc(b, '?');
		i += length ? length : 1;
	}
}

static void put_wide(struct buf *b, const char *p, size_t n)
{
	for (size_t i = 0; i + 4 <= n; i += 4) {
		uint32_t c;

		memcpy(&c, p + i, 4);
		if (c == 0)
			break;
		utf8_put(b, c < ' ' || c == 127 ? '?' : c);
	}
}

static uint64_t handle_key(const struct decode_thread *t, uint64_t handle)
{
	uint64_t key[2] = { t->process, handle };

	return hash_bytes(key, sizeof(key), 0);
}

/* What it is called: a string of the world. */
static uint32_t name_of(struct record_nvtx *v, struct world *world, const struct decode_thread *t,
			const struct wire_nvtx *w, size_t n)
{
	size_t room = n - NVTX_HEAD;
	struct buf b = { 0 };
	uint64_t known;
	uint32_t id;

	if (w->text == NVTX_HANDLE && w->handle &&
	    map_get(&v->registered, handle_key(t, w->handle), &known))
		return (uint32_t)known;
	if (w->text == NVTX_NARROW)
		put_narrow(&b, w->name, strnlen(w->name, room), w->cut);
	else if (w->text == NVTX_WIDE)
		put_wide(&b, w->name, room);
	if (w->cut)
		buf_puts(&b, "...");
	if (!b.n)
		buf_puts(&b, w->text == NVTX_HANDLE ? "(registered)" : "(no name)");
	id = world_string(world, buf_bytes(&b));
	buf_free(&b);
	return id;
}

/* Registers a name; a handle that is used again gets its new text. */
static void register_name(struct record_nvtx *v, struct world *world, const struct decode_thread *t,
			  const struct wire_nvtx *w, size_t n)
{
	uint64_t key = handle_key(t, w->id);

	if (!w->id)
		return;
	v->names++;
	if ((v->registered.n >= NVTX_NAMES && !map_get(&v->registered, key, NULL)) ||
	    !map_put(&v->registered, key, (uint64_t)t->process << 32 | name_of(v, world, t, w, n)))
		v->nameless++;
}

static bool has_live_process(void *ctx, uint64_t key, uint64_t registered)
{
	const struct gone_processes *const *gone = ctx;

	(void)key;
	return !map_get(&(*gone)->processes, registered >> 32, NULL);
}

void record_nvtx_gone(struct record_nvtx *v, const struct gone_processes *gone)
{
	map_prune(&v->registered, has_live_process, &gone);
}

static void drop_range(struct record_nvtx *v, size_t i)
{
	memmove(&v->open.v[i], &v->open.v[i + 1], (v->open.n - i - 1) * sizeof(v->open.v[0]));
	v->open.n--;
}

/* The newest of these, v->open.n: none. */
static size_t find_range(const struct record_nvtx *v, const struct nvtx_open *like)
{
	for (size_t i = v->open.n; i > 0; i--) {
		const struct nvtx_open *o = &v->open.v[i - 1];

		if (o->key == like->key && o->level == like->level &&
		    (like->level ? o->thread == like->thread : o->process == like->process))
			return i - 1;
	}
	return v->open.n;
}

void record_nvtx_ended(struct record_nvtx *v, uint32_t thread, uint32_t process)
{
	for (size_t i = 0; i < v->open.n; i++) {
		struct nvtx_open *o = &v->open.v[i];

		o->left |= o->level ? o->thread == thread : o->process == process;
	}
}

/* Room for one more: what will not end goes first. */
static void make_room(struct record_nvtx *v)
{
	for (size_t i = v->open.n; i-- > 0 && v->open.n >= NVTX_OPEN;) {
		if (!v->open.v[i].left)
			continue;
		drop_range(v, i);
		v->endless++;
	}
	if (v->open.n >= NVTX_OPEN) {
		drop_range(v, 0);
		v->over++;
	}
}

static void begin_range(struct record_nvtx *v, const struct nvtx_open *new)
{
	size_t i = find_range(v, new);

	/* A level or an id that is there already: its end was lost. Without a profiler all ids are
	 * 0. */
	if (i < v->open.n && (new->level || new->key)) {
		drop_range(v, i);
		v->endless++;
	}
	make_room(v);
	v->over += !vec_push(&v->open, *new);
}

/* Several open ranges with one id cannot be distinguished: marks all of them as vague. */
static void mix_up(struct record_nvtx *v, const struct nvtx_open *like, size_t newest)
{
	size_t others = 0;

	for (size_t i = 0; i < v->open.n; i++) {
		struct nvtx_open *o = &v->open.v[i];

		if (i != newest && !o->level && o->key == like->key &&
		    o->process == like->process) {
			o->vague = true;
			others++;
		}
	}
	v->open.v[newest].vague |= others > 0;
}

static bool emit_range(struct record_marks *words, struct world *world, uint32_t name,
		       struct event *ev, const struct record_marks_owner *to)
{
	uint64_t id = record_marks_word(words, world_text(world, name), ev->end_ns, to);

	if (!id)
		return false;
	event_set(ev, op_builtin(ev->op), COL_NAME, id);
	to->event(to->ctx, ev);
	return true;
}

static void end_range(struct record_nvtx *v, struct record_marks *words, struct world *world,
		      const struct nvtx_open *like, int64_t now_ns,
		      const struct record_marks_owner *to)
{
	struct event ev = { .op = OP_MARK_RANGE, .end_ns = now_ns };
	size_t i = find_range(v, like);
	struct nvtx_open o;

	if (i == v->open.n) {
		v->unmatched++;
		return;
	}
	if (!like->level)
		mix_up(v, like, i);
	o = v->open.v[i];
	drop_range(v, i);
	if (o.vague) {
		v->vague++;
		return;
	}
	ev.ctx = o.ctx;
	ev.dur_ns = now_ns > o.start_ns ? (uint64_t)(now_ns - o.start_ns) : 0;
	if (emit_range(words, world, o.name, &ev, to))
		v->ranges++;
	else
		v->over++;
}

bool record_nvtx_take(struct record_nvtx *v, struct record_marks *words, struct world *world,
		      const struct decode_thread *t, const struct wire_nvtx *w, size_t n,
		      const struct record_marks_owner *to)
{
	struct nvtx_open o = { .start_ns = (int64_t)w->time_ns,
			       .ctx = t->ctx,
			       .process = t->process,
			       .thread = t->thread,
			       .level = w->level };
	struct event ev = { .op = OP_MARK_POINT, .end_ns = o.start_ns, .ctx = t->ctx };

	o.key = w->what == NVTX_PUSH || w->what == NVTX_POP ? w->domain : w->id;
	switch (w->what) {
	case NVTX_PUSH:
	case NVTX_START:
		o.name = name_of(v, world, t, w, n);
		begin_range(v, &o);
		return true;
	case NVTX_POP:
		if (w->level)
			end_range(v, words, world, &o, o.start_ns, to);
		else
			v->unmatched++;
		return true;
	case NVTX_END:
		end_range(v, words, world, &o, o.start_ns, to);
		return true;
	case NVTX_MARK:
		if (emit_range(words, world, name_of(v, world, t, w, n), &ev, to))
			v->points++;
		else
			v->over++;
		return true;
	case NVTX_REGISTER:
		register_name(v, world, t, w, n);
		return true;
	default:
		return false;
	}
}

void record_nvtx_free(struct record_nvtx *v)
{
	vec_free(&v->open);
	map_free(&v->registered);
}
