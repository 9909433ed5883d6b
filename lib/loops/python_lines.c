/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes stacks into the functions and lines of their Python frames, once for each stack. */
#include "lib/loops/python_lines.h"

#include "lib/world/event_loop.h"

#define NOT_PYTHON UINT32_MAX

void python_lines_init(struct python_lines *p, const struct world *w)
{
	*p = (struct python_lines){ .w = w };
}

void python_lines_free(struct python_lines *p)
{
	map_free(&p->functions);
	vec_free(&p->function_frames);
	vec_free(&p->of_frames);
	vec_free(&p->lines);
	vec_free(&p->stacks);
}

uint32_t python_lines_frame(const struct python_lines *p, uint32_t function)
{
	return function && function <= p->function_frames.n ? p->function_frames.v[function - 1]
							    : 0;
}

/* 0: out of memory. */
static uint32_t number_function(struct python_lines *p, const struct world_frame *f, uint32_t frame)
{
	uint64_t key = (uint64_t)f->name << 32 | f->file, number;

	if (map_get(&p->functions, key, &number))
		return (uint32_t)number;
	number = p->function_frames.n + 1;
	if (!vec_push(&p->function_frames, frame) || !map_put(&p->functions, key, number))
		return 0;
	return (uint32_t)number;
}

/* NULL: out of memory. */
static const struct python_line *decode_frame(struct python_lines *p, uint32_t frame)
{
	struct python_line *out;
	const struct world_frame *f;

	if (!vec_reach(&p->of_frames, frame))
		return NULL;
	out = &p->of_frames.v[frame];
	if (out->function)
		return out;
	f = world_get_frame(p->w, frame);
	if (!f || f->kind != FRAME_PYTHON) {
		out->function = NOT_PYTHON;
		return out;
	}
	out->line = (uint32_t)f->offset;
	out->function = number_function(p, f, frame);
	return out->function ? out : NULL;
}

/* An event loop that is in the stack has no lines, and what it runs is a task. */
static void find_task(struct python_lines *p, struct python_stack *s)
{
	enum event_loop_place place = EVENT_LOOP_NONE;

	for (uint32_t i = 0; i < s->n; i++) {
		struct python_line *line = &p->lines.v[s->first + i];

		place = event_loop_enter(p->w, python_lines_frame(p, line->function), place);
		if (place) {
			line->line = 0;
			s->task = i + 1;
		} else if (s->task) {
			break;
		}
	}
	if (s->task && s->task == s->n)
		s->n = s->task = 0;
}

static bool decode_stack(struct python_lines *p, uint32_t stack)
{
	unsigned n = 0;
	const uint32_t *frames = world_get_stack(p->w, stack, &n);
	uint32_t first = (uint32_t)p->lines.n;

	if (!vec_reach(&p->stacks, stack))
		return false;
	for (unsigned i = frames ? n : 0; i-- > 0;) {
		const struct world_frame *f = world_get_frame(p->w, frames[i]);
		const struct python_line *line = decode_frame(p, frames[i]);

		/* Of functions that are further out, and how many they are, nothing is known. */
		if (f && f->kind == FRAME_GAP && p->lines.n == first)
			break;

		if (!line || (line->function != NOT_PYTHON && !vec_push(&p->lines, *line)))
			return false;
	}
	p->stacks.v[stack] =
		(struct python_stack){ first, (uint32_t)(p->lines.n - first), .decoded = true };
	find_task(p, &p->stacks.v[stack]);
	return true;
}

bool python_lines_get(struct python_lines *p, uint32_t stack, const struct python_line **v,
		      unsigned *n, unsigned *task)
{
	if ((stack >= p->stacks.n || !p->stacks.v[stack].decoded) && !decode_stack(p, stack))
		return false;
	*v = p->lines.v + p->stacks.v[stack].first;
	*n = p->stacks.v[stack].n;
	*task = p->stacks.v[stack].task;
	return true;
}
