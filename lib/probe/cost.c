/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least of several rounds is the calibration: what disturbs it only adds. Where the kernel does not let us measure
 * (it takes CAP_SYS_ADMIN) the calibrated cost of a call with a short stack stands for all.
 */
#include "lib/probe/cost.h"

#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/host/clock.h"
#include "lib/probe/trial.h"

#define ROUNDS	    8
#define CALLS	    100
#define SECOND_NS   1000000000ll
#define INTERVAL_NS (10 * SECOND_NS)

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

/* ns of the quickest round's calls, each. */
static double calls_ns(void)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		int64_t from = host_clock_mono(), took;

		for (int k = 0; k < CALLS; k++)
			probe_trial_call();
		took = host_clock_mono() - from;
		least = took < least ? took : least;
	}
	return (double)least / CALLS;
}

/* A child that is a target calls; it waits until it is one. */
static double target_calls_ns(struct probe_session *s)
{
	struct err ignored = { 0 };
	double ns = 0;
	int go[2], told[2];
	pid_t pid;

	if (pipe(go))
		return 0;
	if (pipe(told)) {
		close(go[0]);
		close(go[1]);
		return 0;
	}
	pid = fork();
	if (pid == 0) {
		char byte;

		close(go[1]);
		if (read(go[0], &byte, 1) == 1)
			ns = calls_ns();
		_exit(write(told[1], &ns, sizeof(ns)) != sizeof(ns));
	}
	close(go[0]);
	close(told[1]);
	if (pid > 0) {
		if (probe_session_target(s, (uint32_t)pid, 0, &ignored) ||
		    write(go[1], "", 1) != 1 || read(told[0], &ns, sizeof(ns)) != sizeof(ns))
			ns = 0;
		close(go[1]);
		go[1] = -1;
		waitpid(pid, NULL, 0);
		probe_session_forget(s, (uint32_t)pid);
	}
	if (go[1] >= 0)
		close(go[1]);
	close(told[0]);
	return ns;
}

void probe_cost_start(struct probe_cost *c, struct probe_session *s)
{
	struct probe_fds fds = { 0 };
	struct run_times before, after;
	struct err ignored = { 0 };
	double free_ns = calls_ns();

	probe_meter_start(&c->meter);
	c->measures = probe_meter_on(&c->meter);
	if (probe_session_trial(s, &fds, &ignored) == 0) {
		c->skipped_ns = calls_ns() - free_ns;
		before = run_times(s);
		c->call_ns = target_calls_ns(s) - free_ns;
		after = run_times(s);
		if (c->measures)
			c->program_ns = (double)(after.ns[0] - before.ns[0]) / (ROUNDS * CALLS);
		if (c->call_ns < 0)
			c->call_ns = 0;
		if (c->program_ns > c->call_ns)
			c->program_ns = c->call_ns;
	}
	probe_link_abandon(&fds);
	probe_session_drain(s, pass_by, pass_by, NULL);
	probe_meter_off(&c->meter);
}

static void begin(struct probe_cost *c, struct probe_session *s, int64_t now_ns, uint64_t calls)
{
	struct run_times t;

	if (!probe_meter_on(&c->meter))
		return;
	t = run_times(s);
	memcpy(c->before, t.ns, sizeof(c->before));
	c->window_ns = now_ns;
	c->calls_before = calls;
	c->next_ns = now_ns + INTERVAL_NS;
}

static void end(struct probe_cost *c, struct probe_session *s, int64_t now_ns, uint64_t calls)
{
	struct run_times t = run_times(s);

	for (int i = 0; i < 2; i++)
		c->ran_ns[i] += t.ns[i] - c->before[i];
	c->measured_calls += calls - c->calls_before;
	c->measured_ns += (uint64_t)(now_ns - c->window_ns);
	probe_meter_off(&c->meter);
}

void probe_cost_look(struct probe_cost *c, struct probe_session *s, int64_t now_ns, uint64_t calls,
		     bool at_end)
{
	if (c->meter.on && (at_end || now_ns - c->window_ns >= SECOND_NS * 9 / 10))
		end(c, s, now_ns, calls);
	else if (c->measures && !c->meter.on && !at_end && now_ns >= c->next_ns)
		begin(c, s, now_ns, calls);
}

double probe_cost_call(const struct probe_cost *c)
{
	/* Few calls in a measurement: those at its ends, counted on one side only, would weigh too much. */
	if (c->call_ns > 0 && c->program_ns > 0 && c->measured_calls >= 1000)
		return c->call_ns - c->program_ns +
		       (double)c->ran_ns[0] / (double)c->measured_calls;
	return c->call_ns;
}

double probe_cost_host(const struct probe_cost *c)
{
	return c->measured_ns ? (double)c->ran_ns[1] / (double)c->measured_ns * 1e9 : -1;
}

void probe_cost_stop(struct probe_cost *c)
{
	probe_meter_stop(&c->meter);
}
