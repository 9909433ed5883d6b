/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least of several rounds is the calibration: what disturbs it only adds. Where the kernel does
 * not let us measure (it takes CAP_SYS_ADMIN) the calibrated cost of a call with a short stack
 * stands for all.
 */
#include "lib/record/cost.h"

#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/host/clock.h"
#include "lib/attach/selftest_target.h"

#define ROUNDS	    8
#define CALLS	    100
#define SECOND_NS   1000000000ll
#define INTERVAL_NS (10 * SECOND_NS)

/* Behind each trap a real program is slower for a while: caches, translations and branch
 * predictions are no longer its own. A loop of nothing but calls does not show that. Found by
 * alternation (tests/bench/real.sh, AMD EPYC guest, Linux 6.18) as the CPU time outside the kernel
 * that each trap adds: 1.4 us in an eager PyTorch step, 1.2 in a compiled one; 0.2 in llama.cpp's
 * tokens without a graph, where with one traps in the kernel take as much more than calibrated. */
#define AFTERMATH_NS	    1500.0 /* of Python's */
#define AFTERMATH_NATIVE_NS 500.0

struct run_times {
	uint64_t ns[2]; /* of calls, of others */
};

static void add_run_time(void *ctx, int fd, bool calls)
{
	struct run_times *sum = ctx;
	struct bpf_prog_info info;
	union bpf_attr a;

	memset(&info, 0, sizeof(info));
	memset(&a, 0, sizeof(a));
	a.info.bpf_fd = (uint32_t)fd;
	a.info.info_len = sizeof(info);
	a.info.info = (uintptr_t)&info;
	if (syscall(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, &a, sizeof(a)) == 0)
		sum->ns[!calls] += info.run_time_ns;
}

static struct run_times run_times(struct probe_session *s)
{
	struct run_times t = { { 0, 0 } };

	probe_session_each(s, add_run_time, &t);
	return t;
}

static void pass_by(void *ctx, const void *p, size_t n)
{
	(void)ctx;
	(void)p;
	(void)n;
}

static int64_t round_ns(void)
{
	int64_t from = host_clock_mono();

	for (int k = 0; k < CALLS; k++)
		selftest_target_call();
	return host_clock_mono() - from;
}

/* ns of a call of ours, in the quickest round. */
static double own_call_ns(void)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		int64_t took = round_ns();

		least = took < least ? took : least;
	}
	return (double)least / CALLS;
}

/* A child makes a round of calls for each byte that it reads, and says how long it took. */
static void serve_rounds(int go, int told)
{
	int64_t ns;
	char byte;

	while (read(go, &byte, 1) == 1) {
		ns = round_ns();
		if (write(told, &ns, sizeof(ns)) != sizeof(ns))
			break;
	}
	_exit(0);
}

/* Sets the time of a call and of the BPF programs in it, in ns, from the child's fastest round.
 * Both come from the same round, since a disturbance slows both. */
static void time_rounds(struct record_cost *c, struct probe_session *s, int go, int told)
{
	int64_t least = INT64_MAX, ns;

	for (int i = 0; i < ROUNDS; i++) {
		struct run_times before = run_times(s);

		if (write(go, "", 1) != 1 || read(told, &ns, sizeof(ns)) != sizeof(ns))
			return;
		if (ns >= least)
			continue;
		least = ns;
		c->call_ns = (double)ns / CALLS;
		if (c->measures)
			c->program_ns = (double)(run_times(s).ns[0] - before.ns[0]) / CALLS;
	}
}

/* Measures the cost of a probed call in a child process that is a target. */
static void calibrate_call(struct record_cost *c, struct probe_session *s)
{
	struct err ignored = { 0 };
	int go[2], told[2];
	pid_t pid;

	if (pipe(go))
		return;
	if (pipe(told)) {
		close(go[0]);
		close(go[1]);
		return;
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		close(told[0]);
		serve_rounds(go[0], told[1]);
	}
	close(go[0]);
	close(told[1]);
	if (pid > 0 && probe_session_target(s, (uint32_t)pid, 0, &ignored) == 0)
		time_rounds(c, s, go[1], told[0]);
	close(go[1]);
	close(told[0]);
	if (pid > 0) {
		waitpid(pid, NULL, 0);
		probe_session_forget(s, (uint32_t)pid);
	}
}

void record_cost_start(struct record_cost *c, struct probe_session *s)
{
	struct probe_fds fds = { 0 };
	struct err ignored = { 0 };
	double free_ns = own_call_ns();

	record_meter_start(&c->meter);
	c->measures = record_meter_on(&c->meter);
	if (probe_session_trial(s, &fds, &ignored) == 0) {
		c->skipped_ns = own_call_ns() - free_ns;
		calibrate_call(c, s);
		c->call_ns = c->call_ns > free_ns ? c->call_ns - free_ns : 0;
		if (c->program_ns > c->call_ns)
			c->program_ns = c->call_ns;
	}
	probe_link_abandon(&fds);
	probe_session_drain(s, pass_by, pass_by, NULL);
	record_meter_off(&c->meter);
}

static void begin_window(struct record_cost *c, struct probe_session *s, int64_t now_ns,
			 uint64_t calls)
{
	struct run_times t;

	if (!record_meter_on(&c->meter))
		return;
	t = run_times(s);
	memcpy(c->before, t.ns, sizeof(c->before));
	c->window_ns = now_ns;
	c->calls_before = calls;
	c->next_ns = now_ns + INTERVAL_NS;
}

static void end_window(struct record_cost *c, struct probe_session *s, int64_t now_ns,
		       uint64_t calls)
{
	struct run_times t = run_times(s);

	for (int i = 0; i < 2; i++)
		c->ran_ns[i] += t.ns[i] - c->before[i];
	c->measured_calls += calls - c->calls_before;
	c->measured_ns += (uint64_t)(now_ns - c->window_ns);
	record_meter_off(&c->meter);
}

void record_cost_look(struct record_cost *c, struct probe_session *s, int64_t now_ns,
		      uint64_t calls, bool at_end)
{
	if (c->meter.on && (at_end || now_ns - c->window_ns >= SECOND_NS * 9 / 10))
		end_window(c, s, now_ns, calls);
	else if (c->measures && !c->meter.on && !at_end && now_ns >= c->next_ns)
		begin_window(c, s, now_ns, calls);
}

static double aftermath_ns(const struct record_cost *c)
{
	return c->interpreted ? AFTERMATH_NS : AFTERMATH_NATIVE_NS;
}

double record_cost_call(const struct record_cost *c)
{
	double ns = c->call_ns;

	/* Few calls in a measurement: those at its ends, counted on one side only, would weigh too
	 * much. */
	if (c->call_ns > 0 && c->program_ns > 0 && c->measured_calls >= 1000)
		ns += (double)c->ran_ns[0] / (double)c->measured_calls - c->program_ns;
	return ns > 0 ? ns + 2 * aftermath_ns(c) : 0; /* entry and return */
}

double record_cost_skipped(const struct record_cost *c)
{
	return c->skipped_ns > 0 ? c->skipped_ns + aftermath_ns(c) : 0;
}

double record_cost_host(const struct record_cost *c)
{
	return c->measured_ns ? (double)c->ran_ns[1] / (double)c->measured_ns * 1e9 : -1;
}

void record_cost_stop(struct record_cost *c)
{
	record_meter_stop(&c->meter);
}
