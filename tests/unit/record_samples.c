/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of more processes than are sampled those are that make calls.
 */
#include "lib/record/samples.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

#define MANY	1000
#define CALLERS 8

/* The recorder was not told that it ended. */
static void lost_end(void)
{
	struct record_samples s = { 0 };
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	record_samples_process(&s, (uint32_t)getpid(), 1);
	record_samples_process(&s, (uint32_t)child, 2);
	record_samples_gone(&s);
	ok(s.alive.n == 1 && map_get(&s.alive, (uint64_t)getpid(), NULL),
	   "who is gone is forgotten");
	map_free(&s.alive);
}

int main(void)
{
	struct record_samples s = { 0 };
	struct host_target v[RECORD_SAMPLES_MAX];
	unsigned callers = 0;
	size_t n;

	for (uint32_t i = 1; i <= RECORD_SAMPLES_MAX; i++)
		record_samples_process(&s, 5000 + i, i);
	ok(!record_samples_full(&s), "as many as are sampled");
	is_u64(record_samples_choose(&s, v), RECORD_SAMPLES_MAX, "all of them");
	for (uint32_t i = RECORD_SAMPLES_MAX + 1; i <= MANY; i++)
		record_samples_process(&s, 5000 + i, i);
	for (uint32_t i = 1; i <= CALLERS; i++)
		record_samples_caller(&s, i * 100);
	record_samples_caller(&s, MANY + 1); /* has ended */
	ok(record_samples_full(&s), "and more");
	n = record_samples_choose(&s, v);
	is_u64(n, RECORD_SAMPLES_MAX, "no more of these");
	for (size_t i = 0; i < n; i++)
		callers += v[i].process % 100 == 0 && v[i].process <= CALLERS * 100;
	is_u64(callers, CALLERS, "everyone who makes calls is among them");
	record_samples_no_callers(&s);
	is_u64(record_samples_choose(&s, v), RECORD_SAMPLES_MAX, "and as many where nobody does");
	map_free(&s.alive);
	map_free(&s.callers);
	lost_end();
	return tap_done();
}
