/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses CPU time in two functions, and says how much in each: "burn SECONDS" prints one JSON line
 * per thread. stalls is the time in steps in which the thread got on less than its clock: its CPU
 * was with somebody who keeps no account of it.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STALL_NS 1000000

struct spent {
	uint64_t a_ns, b_ns, stalls_ns;
	volatile uint64_t sum;
};

static uint64_t clock_ns(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline __attribute__((always_inline)) uint64_t burn(struct spent *s, uint64_t for_ns,
							   uint64_t add)
{
	uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID), at = from, x = s->sum;

	while (at - from < for_ns) {
		uint64_t before = at;

		for (int i = 0; i < 20000; i++)
			x = x * 6364136223846793005u + add;
		at = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		if (at - before > STALL_NS)
			s->stalls_ns += at - before;
	}
	s->sum = x;
	return at - from;
}

__attribute__((noinline)) static void burn_a(struct spent *s, uint64_t for_ns)
{
	s->a_ns += burn(s, for_ns, 1);
}

__attribute__((noinline)) static void burn_b(struct spent *s, uint64_t for_ns)
{
	s->b_ns += burn(s, for_ns, 3);
}

static void *work(void *seconds)
{
	uint64_t wanted = (uint64_t)(*(double *)seconds * 1e9), chance = 88172645463325252u, begin,
		 from;
	struct spent s = { 0 };

	begin = clock_ns(CLOCK_MONOTONIC);
	from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) - from < wanted) {
		/* Pieces of any length, so that no rhythm meets the samples'. */
		chance ^= chance << 13;
		chance ^= chance >> 7;
		chance ^= chance << 17;
		burn_a(&s, 2000000 + chance % 12000000);
		burn_b(&s, 1000000 + (chance >> 32) % 5000000);
	}
	from = clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
	flockfile(stdout);
	printf("{\"tid\": %ld, \"begin\": %" PRIu64 ", \"end\": %" PRIu64 ", \"cpu\": %" PRIu64
	       ", \"burn_a\": %" PRIu64 ", \"burn_b\": %" PRIu64 ", \"stalls\": %" PRIu64 "}\n",
	       (long)syscall(SYS_gettid), begin, clock_ns(CLOCK_MONOTONIC), from, s.a_ns, s.b_ns,
	       s.stalls_ns);
	funlockfile(stdout);
	return NULL;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	pthread_t other;

	if (pthread_create(&other, NULL, work, &seconds))
		return 1;
	work(&seconds);
	pthread_join(other, NULL);
	return 0;
}
