/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of asyncio that stand between a program and the tasks of its event loop, by the
 * names and files of Python frames. What a task does stands below them on a stack; where nothing
 * does, the event loop waits until a task can go on.
 */
#ifndef INGERO_WORLD_EVENT_LOOP_H
#define INGERO_WORLD_EVENT_LOOP_H

#include <stdbool.h>

#include "lib/world/world.h"

enum event_loop_place {
	EVENT_LOOP_NONE, /* what a task does, or there is no event loop */
	EVENT_LOOP_RUNS, /* whoever stands below is a task */
	EVENT_LOOP_TURNS, /* between two tasks: what stands below is the event loop's own */
};

/* Where a frame is, by where the one around it is; of a frame that is no Python, the latter. */
enum event_loop_place event_loop_enter(const struct world *w, uint32_t frame,
				       enum event_loop_place around);

/* Whether the innermost Python frame of a stack is of an event loop. */
bool event_loop_waits(const struct world *w, uint32_t stack);

/* The frame of the task that an event loop runs there: its outermost line of a person's own code.
 * 0: there is none. */
uint32_t event_loop_task(const struct world *w, uint32_t stack);

#endif
