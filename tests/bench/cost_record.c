/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder itself uses: ingero-record writes a file while a child calls the double's
 * runtime (with the driver calls inside), first at a given rate, then as fast as it can. CPU time
 * is that of the recorder's process from before the calls until they have been written, less what
 * it uses in the same time when nothing happens; events are those it says it recorded.
 */
#include <dlfcn.h>
#include <fcntl.h>

#include "tests/bench/cost.h"

#define RATE	100000 /* calls a second */
#define RATE_S	5
#define FULL	1500000 /* calls at full speed */
#define IDLE_MS 1500	/* longer than it keeps events to itself */
/* Calls of one turn of the child's loop: five of the runtime and, in each, one of the driver, which
 * is counted and folded into it: one event for two calls. */
#define PER_ROUND	10
#define CALLS_PER_EVENT 2

static struct {
	int (*malloc)(void **, size_t);
	int (*free)(void *);
	int (*copy)(void *, const void *, size_t, int, void *);
	int (*set)(void *, int, size_t, void *);
	int (*sync)(void *);
} cuda;

enum { FULL_SPEED, AT_RATE };

static uint64_t call(const struct cost_order *o)
{
	uint64_t from = cost_now();

	for (uint64_t i = 0; i < o->n; i++) {
		void *p = NULL;

		while (o->what == AT_RATE &&
		       (cost_now() - from) < i * PER_ROUND * (1000000000 / RATE)) {
			struct timespec t = { .tv_nsec = 200000 };

			nanosleep(&t, NULL);
		}
		cuda.malloc(&p, 4096 + (i & 7) * 512);
		cuda.copy(p, NULL, 4096 + (i & 3) * 64, 1, NULL);
		cuda.set(p, 0, 4096, NULL);
		cuda.sync(NULL);
		cuda.free(p);
	}
	return cost_now() - from;
}

static const char *in_build(char out[600], const char *name)
{
	snprintf(out, 600, "%s/%s", getenv("BUILD") ? getenv("BUILD") : "build", name);
	return out;
}

static void load(void)
{
	char path[600];
	void *driver = dlopen(in_build(path, "double/libcuda.so.1"), RTLD_NOW | RTLD_GLOBAL), *lib;

	lib = driver ? dlopen(in_build(path, "double/libcudart.so.13"), RTLD_NOW) : NULL;
	if (!lib)
		cost_skip("%s", dlerror());
	*(void **)&cuda.malloc = dlsym(lib, "cudaMalloc");
	*(void **)&cuda.free = dlsym(lib, "cudaFree");
	*(void **)&cuda.copy = dlsym(lib, "cudaMemcpyAsync");
	*(void **)&cuda.set = dlsym(lib, "cudaMemsetAsync");
	*(void **)&cuda.sync = dlsym(lib, "cudaStreamSynchronize");
	if (!cuda.malloc || !cuda.free || !cuda.copy || !cuda.set || !cuda.sync)
		cost_skip("the double lacks a function");
}

struct recorder {
	pid_t pid;
	clockid_t clock;
	int said; /* what it writes to standard error */
};

static void recorder_start(struct recorder *r, pid_t target)
{
	char program[600], pid[16];

	r->said = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	snprintf(pid, sizeof(pid), "%d", target);
	in_build(program, "bin/ingero-record");
	r->pid = fork();
	if (r->said < 0 || r->pid < 0)
		cost_die("recorder", NULL);
	if (r->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGINT);
		dup2(r->said, 2);
		execl(program, program, "--budget", "none", "--no-sched", "--no-gpu", "-o",
		      "/dev/null", "-p", pid, (char *)NULL);
		_exit(127);
	}
	if (clock_getcpuclockid(r->pid, &r->clock))
		cost_die("recorder", NULL);
}

static double cpu_s(const struct recorder *r)
{
	struct timespec t;

	if (clock_gettime(r->clock, &t))
		cost_die("the recorder is gone", NULL);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The text after key, which it has said. */
static bool said(const struct recorder *r, const char *key, char *out, size_t size)
{
	char text[4096];
	ssize_t n = pread(r->said, text, sizeof(text) - 1, 0);
	const char *at;

	text[n > 0 ? n : 0] = 0;
	at = strstr(text, key);
	if (!at)
		return false;
	snprintf(out, size, "%s", at + strlen(key));
	return true;
}

static void wait_ms(long ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static double memory_mb(pid_t pid)
{
	char path[64], line[256];
	double kb = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %lf", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb / 1024;
}

static double recorder_end(struct recorder *r)
{
	double events = 0;
	char text[4096], *at;

	kill(r->pid, SIGINT);
	waitpid(r->pid, NULL, 0);
	if (!said(r, "\nrecorded ", text, sizeof(text))) {
		errno = ENODATA;
		cost_die("the recorder did not say what it recorded", NULL);
	}
	for (at = text; (*at >= '0' && *at <= '9') || *at == ','; at++)
		if (*at != ',')
			events = events * 10 + (*at - '0');
	close(r->said);
	return events;
}

/* CPU seconds of the recorder for n turns of the child; events: how many it recorded. */
static double record(struct cost_child *child, uint32_t what, uint64_t n, double *events,
		     double *mb)
{
	struct recorder r;
	char text[4096];
	double idle, from, took;

	recorder_start(&r, child->pid);
	for (unsigned i = 0; !said(&r, "driver ", text, sizeof(text)); i++) {
		if (i == 1000 || waitpid(r.pid, NULL, WNOHANG))
			cost_skip("the recorder does not come up: %s",
				  pread(r.said, text, 200, 0) > 0 ? text : "");
		wait_ms(10);
	}
	wait_ms(IDLE_MS);
	idle = cpu_s(&r);
	wait_ms(IDLE_MS);
	from = cpu_s(&r);
	idle = (from - idle) / (IDLE_MS / 1e3);
	took = cost_child_do(child, what, 0, n, -1, NULL, NULL) * (double)n / 1e9;
	wait_ms(IDLE_MS);
	from = cpu_s(&r) - from - idle * (took + IDLE_MS / 1e3);
	*mb = memory_mb(r.pid);
	*events = recorder_end(&r);
	return from;
}

int main(void)
{
	struct cost_child child;
	struct cost_order one = { .n = 1 };
	double events, mb, s;

	cost_start();
	load();
	cost_child_start(&child, call);
	call(&one);
	s = record(&child, AT_RATE, (uint64_t)RATE * RATE_S / PER_ROUND, &events, &mb);
	if (events * CALLS_PER_EVENT < (double)RATE * RATE_S)
		printf("# %.0f events were recorded of %d calls\n", events, RATE * RATE_S);
	bench_say("cost.recorder_share_100k", s / RATE_S * 100, "%");
	bench_say("cost.recorder_100k_ns", s * 1e9 / (RATE * RATE_S), "ns");
	bench_say("cost.recorder_rss", mb, "MB");
	s = record(&child, FULL_SPEED, FULL / PER_ROUND, &events, &mb);
	bench_say("cost.recorder_ns", s * 1e9 / FULL, "ns");
	bench_say("cost.recorder_full_rss", mb, "MB");
	s = (double)FULL - events * CALLS_PER_EVENT; /* samples and the like are events, too */
	bench_say("cost.recorder_lost", s > 0 ? s : 0, "calls");
	cost_child_end(&child);
	return 0;
}
