/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks of an event loop take turns on one thread: each goes on at the line at which it awaited
 * something. What is known of the lines of one is kept while another one has its turn. Tasks of the
 * same function count as one that goes on.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/loops/loops_internal.h"

/* NULL: they are not known. */
static struct loops_task *find_task(const struct loops_thread *th, uint32_t function)
{
	for (unsigned i = 0; th->tasks && i < LOOPS_TASKS; i++)
		if (th->tasks[i].function == function)
			return &th->tasks[i];
	return NULL;
}

static void forget_task(struct loops_thread *th, struct loops_task *t)
{
	loops_leave_levels(th, t->levels, t->nlevels, t->left_ns);
	free(t->levels);
	*t = (struct loops_task){ 0 };
}

/* A free place, or that of those that were left longest ago. */
static struct loops_task *find_place(struct loops_thread *th)
{
	struct loops_task *oldest = &th->tasks[0];

	for (unsigned i = 0; i < LOOPS_TASKS; i++) {
		if (!th->tasks[i].function)
			return &th->tasks[i];
		if (th->tasks[i].left_ns < oldest->left_ns)
			oldest = &th->tasks[i];
	}
	forget_task(th, oldest);
	return oldest;
}

/* False: out of memory. */
static bool keep_task(struct loops_thread *th, int64_t ns)
{
	const struct loop_level *levels = th->levels + th->task_at;
	unsigned n = th->nlevels - th->task_at;
	struct loops_task *t;

	if (!th->tasks)
		th->tasks = calloc(LOOPS_TASKS, sizeof(*th->tasks));
	if (!th->tasks)
		return false;
	t = find_place(th);
	t->levels = malloc(n * sizeof(*levels));
	if (!t->levels)
		return false;
	memcpy(t->levels, levels, n * sizeof(*levels));
	t->function = levels->function;
	t->nlevels = n;
	t->left_ns = ns;
	return true;
}

void loops_tasks_switch(struct loops *l, struct loops_thread *th, uint32_t function, int64_t ns)
{
	struct loop_level *levels = th->levels + th->task_at;
	struct loops_task *next;

	if (!keep_task(th, ns)) {
		l->nomem = true;
		return;
	}
	next = find_task(th, function);
	th->nlevels = th->task_at;
	if (th->ncalled > th->task_at)
		th->ncalled = th->task_at;
	if (!next) {
		memset(levels, 0, (LOOPS_DEPTH - th->task_at) * sizeof(*levels));
		return;
	}
	memcpy(levels, next->levels, next->nlevels * sizeof(*levels));
	th->nlevels += next->nlevels;
	free(next->levels);
	*next = (struct loops_task){ 0 };
}

void loops_tasks_drop(struct loops_thread *th)
{
	for (unsigned i = 0; th->tasks && i < LOOPS_TASKS; i++)
		if (th->tasks[i].function)
			forget_task(th, &th->tasks[i]);
	th->task_at = 0;
}

int64_t loops_tasks_left_ns(const struct loops_thread *th, const struct loop_row *row)
{
	unsigned at = th->task_at;
	const struct loops_task *t;

	if (!at || !th->tasks || row->depth < at || (row->caller >= 0 && row->caller < (int)at) ||
	    row->above[at - 1].path != th->levels[at - 1].path)
		return LOOPS_NEVER;
	t = find_task(th, row->above[at].function);
	return t ? t->left_ns : LOOPS_NEVER;
}

void loops_tasks_free(struct loops_thread *th)
{
	for (unsigned i = 0; th->tasks && i < LOOPS_TASKS; i++)
		free(th->tasks[i].levels);
	free(th->tasks);
	th->tasks = NULL;
}
