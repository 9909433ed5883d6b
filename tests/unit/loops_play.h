/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is played to the search for loops: stacks written as text, a call each, and what
 * was told of its steps.
 */
#ifndef INGERO_TESTS_LOOPS_PLAY_H
#define INGERO_TESTS_LOOPS_PLAY_H

#include "lib/loops/loops.h"
#include "tests/unit/events.h"

/* Steps of one loop that follow each other. */
struct play_phase {
	int64_t begin_ns, end_ns;
	uint32_t loop;
	uint64_t steps;
};

struct play {
	struct loop_listener listener;
	struct stage s;
	struct loops *loops;
	struct actor a, b;
	int64_t now, step_ns;	  /* of every event */
	int64_t begin_ns, end_ns; /* of the first event, and of the last one */
	uint16_t op;
	struct loop_step last;
	uint64_t steps, uncertain, restarts, disorder;
	VEC(struct play_phase) phases;
	struct buf text;
};

static inline void add_phase(struct play *p, const struct loop_step *s)
{
	struct play_phase *last = p->phases.n ? &p->phases.v[p->phases.n - 1] : NULL;

	if (last && last->loop == s->loop && last->end_ns == s->begin_ns) {
		last->end_ns = s->end_ns;
		last->steps++;
	} else if (!vec_push(&p->phases,
			     ((struct play_phase){ s->begin_ns, s->end_ns, s->loop, 1 }))) {
		abort();
	}
}

static inline void on_step(struct loop_listener *l, const struct loop_step *s)
{
	struct play *p = (struct play *)l;

	p->disorder += s->thread == p->last.thread && s->begin_ns < p->last.end_ns;
	p->disorder += s->end_ns < s->begin_ns;
	p->last = *s;
	p->steps++;
	p->uncertain += !s->certain;
	add_phase(p, s);
}

static inline void on_restart(struct loop_listener *l, uint32_t thread, uint32_t loop)
{
	struct play *p = (struct play *)l;

	(void)thread, (void)loop;
	p->restarts++;
	p->last = (struct loop_step){ 0 };
	p->phases.n = 0;
}

static inline struct play play_new(void)
{
	struct play p = {
		{ on_step, on_restart }, .s = stage_new(), .step_ns = 100 * US, .op = OP_CUDA_LAUNCH
	};

	p.a = stage_actor(&p.s, 10, 10, 1, "main");
	p.b = stage_actor(&p.s, 10, 11, 1, "other");
	p.now = 1000 * MS;
	return p;
}

/* "main:5 step:7": frames, outermost first; "?" is a place where frames are missing, "!" one
 * without Python, and "std." one of Python's own library. */
static inline uint32_t stack_of(struct world *w, const char *text)
{
	static const char stdlib[] = "/usr/lib/python3.11/asyncio/base_events.py";
	uint32_t frames[64];
	unsigned n = 0;

	for (const char *at = text; *at; at += *at == ' ') {
		size_t length = strcspn(at, ": ");
		struct world_frame f = { .kind = *at == '?'   ? FRAME_GAP
						 : *at == '!' ? FRAME_NATIVE
							      : FRAME_PYTHON };

		bool own = strncmp(at, "std.", 4) != 0;

		f.name = world_string(w, own ? (struct bytes){ at, length }
					     : (struct bytes){ at + 4, length - 4 });
		if (f.kind == FRAME_PYTHON)
			f.file = world_string(w, bytes_of(own ? "loop.py" : stdlib));
		at += length;
		if (*at == ':')
			f.offset = (uint64_t)strtoul(at + 1, (char **)&at, 10);
		frames[n++] = world_frame(w, &f);
	}
	for (unsigned i = 0; i < n / 2; i++) {
		uint32_t f = frames[i];

		frames[i] = frames[n - 1 - i];
		frames[n - 1 - i] = f;
	}
	return world_stack(w, frames, n);
}

static inline void add_event(struct play *p, struct actor a, uint16_t op, const char *stack)
{
	struct event ev = { .end_ns = p->now + p->step_ns / 2,
			    .dur_ns = (uint64_t)p->step_ns / 4,
			    .op = op,
			    .ctx = a.ctx,
			    .stack = stack_of(p->s.w, stack) };

	if (!p->begin_ns)
		p->begin_ns = event_start(&ev);
	p->end_ns = ev.end_ns;
	if (loops_event(p->loops, &ev, NULL))
		abort();
	p->now += p->step_ns;
}

/* A native stack; frames of the same text are equal. NULL: none. */
static inline uint32_t native(struct world *w, const char *text)
{
	struct world_frame f = { .kind = FRAME_NATIVE };

	if (!text)
		return 0;
	for (const char *at = text; *at; at++)
		f.offset = f.offset * 131 + (uint64_t)*at;
	return world_stack(w, (uint32_t[]){ world_frame(w, &f) }, 1);
}

static inline void call_in(struct play *p, struct actor a, uint16_t op, const char *place)
{
	struct event ev = { .end_ns = p->now + p->step_ns / 2,
			    .dur_ns = (uint64_t)p->step_ns / 4,
			    .op = op,
			    .ctx = a.ctx,
			    .stack = native(p->s.w, place) };

	if (loops_event(p->loops, &ev, NULL))
		abort();
	p->now += p->step_ns;
}

static inline void call(struct play *p, const char *stack)
{
	add_event(p, p->a, p->op, stack);
}

static inline const char *summary_of(const struct play *p, uint32_t thread, char *text, size_t size)
{
	int at = loops_main(p->loops, thread);
	const struct loop *loop = at >= 0 ? loops_get(p->loops, (size_t)at) : NULL;
	const struct world_frame *f = loop ? world_get_frame(p->s.w, loop->frame) : NULL;

	*text = '\0';
	if (loop)
		snprintf(text, size, "%s%" PRIu64 " steps of %s:%u-%u", loop->uncertain ? "~" : "",
			 loop->estimate, world_text(p->s.w, f->name).p, loop->first_line,
			 loop->last_line);
	return text;
}

/* What the program's one thread did one after the other: "[function steps]", or "[]" where it made
 * none. */
static inline const char *put_phases(struct play *p)
{
	int64_t at = p->begin_ns;

	for (size_t i = 0; i < p->phases.n; i++) {
		const struct play_phase *v = &p->phases.v[i];
		const struct loop *loop = loops_get(p->loops, v->loop);

		buf_printf(&p->text, "%s[%s %" PRIu64 "]", v->begin_ns > at ? "[]" : "",
			   world_text(p->s.w, world_get_frame(p->s.w, loop->frame)->name).p,
			   v->steps);
		at = v->end_ns;
	}
	if (p->end_ns > at)
		buf_puts(&p->text, "[]");
	return buf_text(&p->text);
}

static inline void play_begin(struct play *p)
{
	p->loops = loops_new(p->s.w, &p->listener);
	if (!p->loops)
		abort();
}

static inline void play_free(struct play *p)
{
	loops_free(p->loops);
	vec_free(&p->phases);
	buf_free(&p->text);
	stage_free(&p->s);
}

#endif
