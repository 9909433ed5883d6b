/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What following a thread on and off the CPU costs: two threads of one CPU hand a byte to and fro
 * through pipes, every switch is of a target and ends one interval. Against programs that do
 * nothing: on sched_switch alone, and on the three tracepoints the recorder needs for an interval
 * (switch, waking, wakeup).
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>

#include "lib/attach/session.h"
#include "tests/bench/cost.bpf.skel.h"
#include "tests/bench/cost.h"

#define ROUNDS 15
#define TURNS  20000

static int to[2], fro[2];

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static void *answer(void *arg)
{
	char c;

	(void)arg;
	while (read(to[0], &c, 1) == 1 && write(fro[1], &c, 1) == 1)
		;
	return NULL;
}

/* Two switches a piece. */
static uint64_t ping(const struct cost_order *o)
{
	static bool started;
	pthread_t other;
	uint64_t from;
	char c = 0;

	if (!started) {
		if (pipe(to) || pipe(fro) || pthread_create(&other, NULL, answer, NULL))
			return 0;
		started = true;
	}
	from = cost_now();
	for (uint64_t i = 0; i < o->n; i++)
		if (write(to[1], &c, 1) != 1 || read(fro[0], &c, 1) != 1)
			return 0;
	return cost_now() - from;
}

enum { BARE, EMPTY_SWITCH, EMPTY_THREE, OTHER, TARGET, TARGET_STACK, NVARIANTS };
static const int walker_of[NVARIANTS] = { [TARGET_STACK] = WALKER_LOOP };

static struct cost_bpf *empty;
static struct probe_session *sessions[NVARIANTS];
static uint64_t records[WIRE_NAME + 1];

static void count(void *ctx, const void *p, size_t n)
{
	uint8_t kind = *(const uint8_t *)p;

	(void)ctx;
	(void)n;
	records[kind <= WIRE_NAME ? kind : 0]++;
}

static void drain(void *s)
{
	probe_session_drain(s, count, count, NULL);
}

static double run(struct cost_child *child, unsigned v)
{
	struct bpf_program *programs[] = { empty->progs.empty_switch, empty->progs.empty_waking,
					   empty->progs.empty_wakeup };
	struct bpf_link *links[3] = { NULL };
	struct probe_session *s = sessions[v];
	unsigned nlinks = v == EMPTY_SWITCH ? 1 : v == EMPTY_THREE ? 3 : 0;
	struct err e = { 0 };
	double ns;

	for (unsigned i = 0; i < nlinks; i++)
		if (!(links[i] = bpf_program__attach(programs[i])))
			cost_die("attach", NULL);
	if (s && probe_session_start(s, &e))
		cost_die("attach", &e);
	cost_child_do(child, 0, 0, 500, -1, s ? drain : NULL, s);
	memset(records, 0, sizeof(records));
	ns = cost_child_do(child, 0, 0, TURNS, -1, s ? drain : NULL, s) / 2;
	if (s) {
		drain(s);
		probe_session_stop(s);
	}
	for (unsigned i = 0; i < nlinks; i++)
		bpf_link__destroy(links[i]);
	/* Every switch ended one interval, or this measured something else. */
	if ((v == TARGET || v == TARGET_STACK) && records[WIRE_OFFCPU] < 2 * TURNS)
		cost_skip("%s: %llu intervals of %u switches", "cost_sched",
			  (unsigned long long)records[WIRE_OFFCPU], 2 * TURNS);
	return ns;
}

int main(void)
{
	static struct cost_table t = { .rounds = ROUNDS };
	struct cost_child child;
	struct err e = { 0 };

	cost_start();
	libbpf_set_print(quiet);
	empty = cost_bpf__open();
	if (!empty)
		cost_die("open", NULL);
	bpf_program__set_autoload(empty->progs.empty_call, false);
	bpf_program__set_autoload(empty->progs.common_call, false);
	bpf_program__set_autoload(empty->progs.stackid_call, false);
	if (cost_bpf__load(empty))
		cost_skip("cannot load programs: %s", strerror(errno));
	cost_child_start(&child, ping);
	for (unsigned v = OTHER; v < NVARIANTS; v++) {
		struct probe_options opt = { .walker = walker_of[v], .sched = true };

		if (probe_session_open(&sessions[v], &opt, &e))
			cost_skip("%s", e.text);
		/* Without targets, our own process stands in. */
		if (probe_session_target(sessions[v], (uint32_t)(v == OTHER ? getpid() : child.pid),
					 0, &e))
			cost_die("target", &e);
	}
	cost_pin(1);
	cost_child_do(&child, 0, 0, TURNS, -1, NULL, NULL);
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned i = 0; i < NVARIANTS; i++) {
			unsigned v = round % 2 ? NVARIANTS - 1 - i : i;

			t.ns[v][round] = run(&child, v);
		}
	bench_say("cost.switch_empty_ns", cost_added(&t, EMPTY_SWITCH, BARE), "ns");
	bench_say("cost.switch_empty_three_ns", cost_added(&t, EMPTY_THREE, BARE), "ns");
	bench_say("cost.switch_other_ns", cost_added(&t, OTHER, BARE), "ns");
	bench_say("cost.switch_target_ns", cost_added(&t, TARGET, BARE), "ns");
	bench_say("cost.switch_target_stack_ns", cost_added(&t, TARGET_STACK, BARE), "ns");
	bench_say("cost.switch_other_x", cost_ratio(&t, OTHER, BARE, EMPTY_THREE, BARE), "x");
	bench_say("cost.switch_target_x", cost_ratio(&t, TARGET, BARE, EMPTY_THREE, BARE), "x");
	bench_say("cost.switch_target_stack_x",
		  cost_ratio(&t, TARGET_STACK, BARE, EMPTY_THREE, BARE), "x");
	bench_say("cost.switch_target_vs_switch_x",
		  cost_ratio(&t, TARGET, BARE, EMPTY_SWITCH, BARE), "x");
	cost_child_end(&child);
	for (unsigned v = OTHER; v < NVARIANTS; v++)
		probe_session_free(sessions[v]);
	cost_bpf__destroy(empty);
	return 0;
}
