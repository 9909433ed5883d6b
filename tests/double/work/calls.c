/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls: exactly N calls of each op in each thread, from the first instruction after dlopen on.
 * With several threads the counts in the truth are the sums. Setup calls (a stream and an event per
 * thread) are in the truth too.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/double/work/work.h"

enum op {
#define CALL(set, name, ...) OP_##name,
#include "tests/double/work/cuda.def"
	OPS
};

/* What the argument expressions in cuda.def use. */
struct args {
	void *device, *device_async, *managed, *pinned, *stream, *event;
	const void *kernel;
	uint64_t driver_ptr;
	size_t bytes;
	int count;
	struct dim3 one;
	char *host;
};

struct thread {
	pthread_t id;
	uint64_t made[OPS], failed[OPS];
	struct work_sched before, after;
};

static struct work_cuda cuda;
static bool chosen[OPS];
static uint64_t count = 1000, threads = 1, rate, bytes = 4096;
static bool quiet_setup, waits;

static const char *const names[OPS] = {
#define CALL(set, name, ...) #name,
#include "tests/double/work/cuda.def"
};

#define DEFAULT true
#define EXTRA	false
static const bool in_default_set[OPS] = {
#define CALL(set, name, ...) set,
#include "tests/double/work/cuda.def"
};

static void iteration(struct args *a, struct thread *t)
{
#define CALL(set, name, ...)                    \
	if (chosen[OP_##name]) {                \
		t->made[OP_##name]++;           \
		if (cuda.name(__VA_ARGS__))     \
			t->failed[OP_##name]++; \
	}
#include "tests/double/work/cuda.def"
}

/* Calls come in bursts of at most a millisecond: a sleep per call would measure the sleep. */
static void pace(const struct thread *t, uint64_t done, uint64_t per_iteration)
{
	uint64_t due = t->before.at_ns + done * per_iteration * threads * 1000000000u / rate;

	if (due > work_now() + 1000000)
		work_sleep_until(due);
}

static void *run(void *arg)
{
	struct thread *t = arg;
	struct args a = { .bytes = bytes, .one = { 1, 1, 1 }, .kernel = names };
	uint64_t per_iteration = 0;

	for (int i = 0; i < OPS; i++)
		per_iteration += chosen[i];
	a.host = calloc(1, bytes);
	work_sched_read(&t->before);
	if (!quiet_setup && (cuda.cudaStreamCreate(&a.stream) || cuda.cudaEventCreate(&a.event)))
		fprintf(stderr, "calls: no stream or event: their calls will fail\n");
	for (uint64_t i = 0; i < count; i++) {
		iteration(&a, t);
		if (rate)
			pace(t, i + 1, per_iteration);
	}
	work_sched_read(&t->after);
	free(a.host);
	return NULL;
}

static void choose(const struct work_list *ops)
{
	for (int i = 0; i < OPS; i++)
		chosen[i] = !ops->n && in_default_set[i];
	for (size_t j = 0; j < ops->n; j++) {
		int i = 0;

		while (i < OPS && strcmp(names[i], ops->v[j]))
			i++;
		if (i == OPS) {
			fprintf(stderr, "calls: unknown op '%s'\n", ops->v[j]);
			exit(2);
		}
		chosen[i] = true;
	}
#define CALL(set, name, ...)                                              \
	if (chosen[OP_##name] && !cuda.name) {                            \
		fprintf(stderr, "calls: the library has no %s\n", #name); \
		exit(2);                                                  \
	}
#include "tests/double/work/cuda.def"
}

static void print(const struct thread *t)
{
	FILE *f = work_truth_open("calls");
	uint64_t start = UINT64_MAX, end = 0, total = 0;
	struct work_sched before = { 0 }, after = { 0 };
	bool first = true;

	for (uint64_t k = 0; k < threads; k++) {
		start = t[k].before.at_ns < start ? t[k].before.at_ns : start;
		end = t[k].after.at_ns > end ? t[k].after.at_ns : end;
		before.cpu_ns += t[k].before.cpu_ns, after.cpu_ns += t[k].after.cpu_ns;
		before.run_delay_ns += t[k].before.run_delay_ns,
			after.run_delay_ns += t[k].after.run_delay_ns;
		before.slices += t[k].before.slices, after.slices += t[k].after.slices;
	}
	fprintf(f, ",\"threads\":%llu,\"ops\":{", (unsigned long long)threads);
	for (int i = 0; i < OPS; i++) {
		uint64_t made = 0, failed = 0;

		for (uint64_t k = 0; k < threads; k++)
			made += t[k].made[i], failed += t[k].failed[i];
		if (!made)
			continue;
		total += made;
		fprintf(f, "%s\"%s\":{\"count\":%llu,\"errors\":%llu}", first ? "" : ",", names[i],
			(unsigned long long)made, (unsigned long long)failed);
		first = false;
	}
	fprintf(f, "},\"calls\":%llu,\"start_ns\":%llu,\"wall_ns\":%llu", (unsigned long long)total,
		(unsigned long long)start, (unsigned long long)(end - start));
	work_truth_sched(f, &before, &after);
	work_truth_close(f);
}

int main(int argc, char **argv)
{
	struct work_list ops = { .n = 0 };
	struct thread *t;
	const struct work_option options[] = {
		{ "count", WORK_U64, &count, "calls of each op in each thread [1000]" },
		{ "threads", WORK_U64, &threads, "threads [1]" },
		{ "rate", WORK_U64, &rate,
		  "calls per second over all threads and ops [as fast as possible]" },
		{ "op", WORK_LIST, &ops,
		  "op to call, may be repeated [every runtime op once per round]" },
		{ "bytes", WORK_U64, &bytes, "size of copies and allocations [4096]" },
		{ "no-setup", WORK_FLAG, &quiet_setup, "make no stream and event first" },
		{ "wait", WORK_FLAG, &waits, "begin once standard input says something" },
		{ 0 },
	};

	work_options(argc, argv, "Makes exactly N calls per op and says so.", options);
	if (!threads || threads > 1024 || !(t = calloc(threads, sizeof *t)))
		return 2;
	work_cuda_open(&cuda, NULL);
	choose(&ops);
	if (waits && getchar() == EOF)
		return 2;
	for (uint64_t k = 1; k < threads; k++)
		if (pthread_create(&t[k].id, NULL, run, &t[k]))
			work_die("cannot start a thread");
	run(&t[0]);
	for (uint64_t k = 1; k < threads; k++)
		pthread_join(t[k].id, NULL);
	print(t);
	free(t);
	return 0;
}
