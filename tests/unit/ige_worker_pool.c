/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns encoded by several threads are those that one makes, byte for byte, block after block,
 * and in their order; any task is done once it was awaited, by whomever.
 */
#include "lib/ige/worker_pool.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "tests/tap.h"

#define ROWS 20000

static uint64_t values[IGE_WORKER_POOL_COLUMNS][ROWS];

/* One of each kind: all alike, rising, few values, noise. */
static void fill(uint64_t seed)
{
	for (unsigned k = 0; k < IGE_WORKER_POOL_COLUMNS; k++)
		for (size_t i = 0; i < ROWS; i++) {
			uint64_t noise = hash_u64(seed ^ (uint64_t)k << 32 ^ i);

			values[k][i] = k % 4 == 0   ? seed
				       : k % 4 == 1 ? i * 1000 + noise % 1000
				       : k % 4 == 2 ? noise % 5
						    : noise >> k;
		}
}

static bool same(struct ige_worker_pool *t, struct ige_builder *together, struct ige_builder *alone,
		 unsigned ncolumns, size_t n)
{
	struct ige_integers columns[IGE_WORKER_POOL_COLUMNS + 1];

	for (unsigned k = 0; k < ncolumns; k++)
		columns[k] = (struct ige_integers){ (uint16_t)(k + 1),
						    values[k % IGE_WORKER_POOL_COLUMNS], n };
	ige_builder_reset(together);
	ige_builder_reset(alone);
	ige_worker_pool_integers(t, together, columns, ncolumns);
	ige_worker_pool_integers(NULL, alone, columns, ncolumns);
	return !together->data.failed && together->ncol == ncolumns && alone->ncol == ncolumns &&
	       together->data.n == alone->data.n && together->directory.n == alone->directory.n &&
	       !memcmp(together->data.p, alone->data.p, alone->data.n) &&
	       !memcmp(together->directory.p, alone->directory.p, alone->directory.n);
}

static void blocks(struct ige_worker_pool *t, bool small, const char *who)
{
	struct ige_builder together = { .small = small }, alone = { .small = small };
	unsigned bad = 0;

	for (unsigned i = 0; i < 12; i++) {
		fill(i);
		bad += !same(t, &together, &alone, 1 + i % IGE_WORKER_POOL_COLUMNS,
			     i % 3 ? ROWS - i : ROWS / 4);
	}
	is_u64(bad, 0, "%s: blocks that differ, %s", who, small ? "in the smallest form" : "plain");
	ok(same(t, &together, &alone, IGE_WORKER_POOL_COLUMNS + 1, ROWS),
	   "%s: more columns than it takes at a time", who);
	ige_builder_free(&together);
	ige_builder_free(&alone);
}

/* ---- any work ---- */

#define TASKS 50

struct sum {
	struct ige_task task;
	uint64_t from, sum;
};

static void add_up(struct ige_task *task)
{
	struct sum *s = (struct sum *)task;

	s->sum = 0;
	for (uint64_t i = 0; i < 1000; i++)
		s->sum += s->from + i;
}

/* Awaited in another order than asked for, and each again and again. */
static void tasks(struct ige_worker_pool *t, const char *who, bool helps)
{
	static struct sum sums[TASKS];
	unsigned wrong = 0;

	is_int(ige_worker_pool_helps(t, IGE_WORKER_POOL_ROWS), helps, "%s: somebody helps", who);
	ok(!ige_worker_pool_helps(t, IGE_WORKER_POOL_ROWS - 1), "not with little");
	for (unsigned round = 0; round < 200; round++) {
		for (unsigned i = 0; i < TASKS; i++) {
			sums[i].task.run = add_up;
			sums[i].from = round * i;
			ige_worker_pool_ask(t, &sums[i].task);
		}
		for (unsigned i = 0; i < TASKS; i++) {
			struct sum *s = &sums[i * 7 % TASKS];

			ige_worker_pool_await(t, &s->task);
			wrong += s->sum != s->from * 1000 + 499500;
			ige_worker_pool_await(t, &s->task);
		}
	}
	is_u64(wrong, 0, "%s: tasks that were not done when they were awaited", who);
}

int main(void)
{
	struct ige_worker_pool *t = ige_worker_pool_new();
	struct ige_task never = { 0 };
	cpu_set_t one, before;

	ok(t != NULL, "there is a team");
	blocks(t, true, "a team");
	blocks(t, false, "a team");
	if (sched_getaffinity(0, sizeof(before), &before))
		abort();
	tasks(t, "a team", CPU_COUNT(&before) > 1);
	ige_worker_pool_await(t, &never);
	ige_worker_pool_await(NULL, &never);
	ok(!ige_worker_pool_helps(NULL, SIZE_MAX), "nobody helps without a team");
	ige_worker_pool_free(t);

	/* With one processor nobody else is called. */
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &before))
			CPU_SET(i, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		abort();
	t = ige_worker_pool_new();
	blocks(t, true, "one processor");
	tasks(t, "one processor", false);
	ige_worker_pool_free(t);
	if (sched_setaffinity(0, sizeof(before), &before))
		abort();

	ige_worker_pool_free(ige_worker_pool_new());
	ige_worker_pool_free(NULL);
	ok(true, "who was never asked, or is not there, goes away");
	return tap_done();
}
