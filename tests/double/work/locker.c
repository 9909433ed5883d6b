/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locker: thread "holder" holds a mutex while it burns CPU time; thread "waiter" launches kernels,
 * wants the mutex in the middle of each hold and waits. Pin the holder next to a hog (--holder-cpu)
 * to make the chain longer: the waiter then waits for a holder that waits for a CPU. Rounds start
 * by the clock, so the only futex waited on is the mutex.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "tests/double/work/work.h"

static struct work_cuda cuda;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t rounds = 20, hold_us = 5000, period_us, holder_cpu = UINT64_MAX, start_ns;

struct side {
	long tid;
	uint64_t waited_ns, longest_ns, contended, held_ns, errors;
	struct work_sched before, after;
};

static struct side holder, waiter;

static uint64_t round_start(uint64_t i)
{
	return start_ns + i * period_us * 1000;
}

__attribute__((noinline)) static void hold_the_lock(void)
{
	uint64_t from;

	pthread_mutex_lock(&mutex);
	from = work_now();
	work_burn(hold_us * 1000);
	holder.held_ns += work_now() - from;
	pthread_mutex_unlock(&mutex);
}

static void *hold(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "holder");
	if (holder_cpu != UINT64_MAX)
		work_pin((int64_t)holder_cpu);
	holder.tid = work_tid();
	work_sched_read(&holder.before);
	for (uint64_t i = 0; i < rounds; i++) {
		work_sleep_until(round_start(i));
		hold_the_lock();
	}
	work_sched_read(&holder.after);
	return NULL;
}

__attribute__((noinline)) static void want_the_lock(void)
{
	uint64_t from, took;

	if (!pthread_mutex_trylock(&mutex)) {
		pthread_mutex_unlock(&mutex);
		return;
	}
	waiter.contended++;
	from = work_now();
	pthread_mutex_lock(&mutex);
	took = work_now() - from;
	pthread_mutex_unlock(&mutex);
	waiter.waited_ns += took;
	waiter.longest_ns = took > waiter.longest_ns ? took : waiter.longest_ns;
}

static void wait_rounds(void)
{
	struct dim3 one = { 1, 1, 1 };

	waiter.tid = work_tid();
	work_sched_read(&waiter.before);
	for (uint64_t i = 0; i < rounds; i++) {
		work_sleep_until(round_start(i) + hold_us * 1000 / 4);
		waiter.errors += cuda.cudaLaunchKernel("step", one, one, NULL, 0, NULL) != 0;
		want_the_lock();
		waiter.errors += cuda.cudaLaunchKernel("step", one, one, NULL, 0, NULL) != 0;
		waiter.errors += cuda.cudaStreamSynchronize(NULL) != 0;
	}
	work_sched_read(&waiter.after);
}

static void print_side(FILE *f, const char *name, const struct side *s)
{
	fprintf(f, ",\"%s\":{\"tid\":%ld", name, s->tid);
	work_truth_sched(f, &s->before, &s->after);
	fprintf(f, "}");
}

int main(int argc, char **argv)
{
	const struct work_option options[] = {
		{ "rounds", WORK_U64, &rounds, "times the lock is wanted while it is held [20]" },
		{ "hold-us", WORK_U64, &hold_us, "CPU time for which it is held, us [5000]" },
		{ "period-us", WORK_U64, &period_us, "from round to round, us [twice the hold]" },
		{ "holder-cpu", WORK_U64, &holder_cpu, "CPU for the holder only" },
		{ 0 },
	};
	uint64_t wall;
	pthread_t thread;
	FILE *f;

	work_options(argc, argv, "One thread holds a lock, another waits for it.", options);
	if (!period_us)
		period_us = 2 * hold_us;
	work_cuda_open(&cuda, NULL);
	cuda.cudaDeviceSynchronize();
	start_ns = work_now() + 1000000;
	if (pthread_create(&thread, NULL, hold, NULL))
		work_die("cannot start a thread");
	wait_rounds();
	pthread_join(thread, NULL);
	wall = work_now() - start_ns;
	f = work_truth_open("locker");
	fprintf(f, ",\"rounds\":%llu,\"contended\":%llu,\"waited_ns\":%llu,\"longest_ns\":%llu",
		(unsigned long long)rounds, (unsigned long long)waiter.contended,
		(unsigned long long)waiter.waited_ns, (unsigned long long)waiter.longest_ns);
	fprintf(f, ",\"held_ns\":%llu,\"errors\":%llu,\"start_ns\":%llu,\"wall_ns\":%llu",
		(unsigned long long)holder.held_ns, (unsigned long long)waiter.errors,
		(unsigned long long)start_ns, (unsigned long long)wall);
	print_side(f, "holder", &holder);
	print_side(f, "waiter", &waiter);
	fprintf(f, ",\"mutex\":\"%p\"", (void *)&mutex);
	work_truth_close(f);
	return 0;
}
