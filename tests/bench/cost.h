/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For benches of what tracing costs the traced: a child alone on CPU 0 does a piece of work on
 * demand and says how long it took, the bench on CPU 1 drains meanwhile; both SCHED_FIFO, or
 * medians are worth nothing on a machine that does something else too. Variants take turns within a
 * round, in the other direction every other round. A figure is the median over rounds of what was
 * added to the bare work of the same round; a ratio likewise.
 */
#ifndef INGERO_TESTS_BENCH_COST_H
#define INGERO_TESTS_BENCH_COST_H

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "tests/bench/bench.h"

#define COST_VARIANTS 16
#define COST_ROUNDS   64
#define COST_TURN_MS  10 /* the recorder's own */

__attribute__((format(printf, 1, 2))) static inline void cost_skip(const char *format, ...)
{
	va_list args;

	printf("bench: SKIP cost.*: ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	exit(0);
}

static inline void cost_die(const char *what, const struct err *e)
{
	fprintf(stderr, "bench: %s: %s\n", what, e && e->text[0] ? e->text : strerror(errno));
	exit(1);
}

static inline void cost_pin(int cpu)
{
	struct sched_param fifo = { .sched_priority = 50 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) || sched_setscheduler(0, SCHED_FIFO, &fifo))
		cost_skip("cannot pin to CPU %d with SCHED_FIFO: %s", cpu, strerror(errno));
}

static inline uint64_t cost_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Any bench of the lot wanted? Some cannot know their names before they have run. */
static inline void cost_start_of(const char *lot)
{
	const char *names = getenv("NAMES");

	if (names && *names && !strstr(names, lot) && !strchr(names, '?') && names[0] != '*')
		exit(0);
	if (geteuid() != 0)
		cost_skip("needs root");
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		cost_skip("needs a kernel with BTF");
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		cost_skip("needs two CPUs");
}

static inline void cost_start(void)
{
	cost_start_of("cost");
}

struct cost_order {
	uint32_t what, depth;
	uint64_t n;
};

/* Does order->n pieces of work; returns the ns they took. */
typedef uint64_t cost_work_fn(const struct cost_order *order);

struct cost_child {
	pid_t pid;
	int orders, done;
};

static inline void cost_child_start(struct cost_child *c, cost_work_fn *work)
{
	int orders[2], done[2];
	struct cost_order order;
	uint64_t ns;

	fflush(stdout);
	if (pipe(orders) || pipe(done) || (c->pid = fork()) < 0)
		cost_die("child", NULL);
	if (c->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(orders[1]);
		cost_pin(0);
		while (read(orders[0], &order, sizeof(order)) == sizeof(order)) {
			ns = work(&order);
			if (write(done[1], &ns, sizeof(ns)) != sizeof(ns))
				break;
		}
		_exit(0);
	}
	close(orders[0]);
	close(done[1]);
	c->orders = orders[1];
	c->done = done[0];
}

static inline void cost_child_end(struct cost_child *c)
{
	close(c->orders);
	waitpid(c->pid, NULL, 0);
	close(c->done);
}

/* ns for one piece of work; meanwhile drain (may be NULL) is called every turn, and when ring is
 * readable (-1: none). */
static inline double cost_child_do(struct cost_child *c, uint32_t what, uint32_t depth, uint64_t n,
				   int ring, void (*drain)(void *), void *ctx)
{
	struct cost_order order = { .what = what, .depth = depth, .n = n };
	struct pollfd p[2] = { { .fd = c->done, .events = POLLIN },
			       { .fd = ring, .events = POLLIN } };
	uint64_t ns;

	if (write(c->orders, &order, sizeof(order)) != sizeof(order))
		cost_die("child", NULL);
	do {
		poll(p, 2, COST_TURN_MS);
		if (drain)
			drain(ctx);
	} while (!(p[0].revents & (POLLIN | POLLHUP)));
	if (read(c->done, &ns, sizeof(ns)) != sizeof(ns))
		cost_die("the workload died", NULL);
	return (double)ns / (double)n;
}

static inline int cost_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static inline double cost_median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), cost_compare);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* ns of every variant in every round; the bare work is among the variants. */
struct cost_table {
	double ns[COST_VARIANTS][COST_ROUNDS];
	unsigned rounds;
};

static inline double cost_added(const struct cost_table *t, unsigned v, unsigned bare)
{
	double d[COST_ROUNDS];

	for (unsigned i = 0; i < t->rounds; i++)
		d[i] = t->ns[v][i] - t->ns[bare][i];
	return cost_median(d, t->rounds);
}

static inline double cost_ratio(const struct cost_table *t, unsigned v, unsigned v_bare,
				unsigned to, unsigned to_bare)
{
	double d[COST_ROUNDS];

	for (unsigned i = 0; i < t->rounds; i++)
		d[i] = (t->ns[v][i] - t->ns[v_bare][i]) / (t->ns[to][i] - t->ns[to_bare][i]);
	return cost_median(d, t->rounds);
}

#endif
