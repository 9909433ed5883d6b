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

/* inside: the frame around this one is of an event loop. */
bool event_loop_has_frame(const struct world *w, uint32_t frame, bool inside);

/* Whether the innermost Python frame of a stack is of an event loop. */
bool event_loop_waits(const struct world *w, uint32_t stack);

/* The frame of the task that an event loop runs there: its outermost line of a person's own code.
 * 0: there is none. */
uint32_t event_loop_task(const struct world *w, uint32_t stack);

#endif
