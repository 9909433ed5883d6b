/* SPDX-License-Identifier: Apache-2.0 */
/* Options, CUDA binding, clocks and truth output of the workloads; see work.h. */
#include "tests/double/work/work.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *lib_name = "libcudart.so.13", *truth_path, *comm;
static uint64_t cpu = UINT64_MAX;

void work_die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(2);
}

void work_exec_self(char *const argv[])
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	if (n > 0) {
		path[n] = 0;
		execv(path, argv);
	}
	work_die("cannot start itself again");
}

static const struct work_option common[] = {
	{ "lib", WORK_TEXT, &lib_name, "runtime library to load [libcudart.so.13]" },
	{ "truth", WORK_TEXT, &truth_path, "file for the truth [standard output]" },
	{ "comm", WORK_TEXT, &comm, "command name to take" },
	{ "cpu", WORK_U64, &cpu, "CPU to stay on" },
	{ 0 },
};

static const struct work_option *find(const struct work_option *o, const char *name)
{
	for (; o->name; o++)
		if (!strcmp(o->name, name))
			return o;
	return NULL;
}

static void help(const char *what, const struct work_option *options)
{
	printf("usage: %s [OPTION]...\n%s\n\n", program_invocation_short_name, what);
	for (int i = 0; i < 2; i++)
		for (const struct work_option *o = i ? common : options; o->name; o++)
			printf("  --%-14s %s\n", o->name, o->help);
	exit(0);
}

static _Noreturn void wrong(const char *argument)
{
	fprintf(stderr, "%s: wrong option '%s' (see --help)\n", program_invocation_short_name,
		argument);
	exit(2);
}

void work_options(int argc, char **argv, const char *what, const struct work_option *options)
{
	for (int i = 1; i < argc; i++) {
		const char *name = argv[i];
		const struct work_option *o;
		char *end;

		if (!strcmp(name, "--help"))
			help(what, options);
		if (strncmp(name, "--", 2) ||
		    (!(o = find(options, name + 2)) && !(o = find(common, name + 2))))
			wrong(name);
		if (o->type == WORK_FLAG) {
			*(bool *)o->to = true;
			continue;
		}
		if (++i == argc)
			wrong(name);
		if (o->type == WORK_TEXT) {
			*(const char **)o->to = argv[i];
		} else if (o->type == WORK_LIST) {
			struct work_list *l = o->to;

			if (l->n == WORK_LIST_MAX)
				wrong(name);
			l->v[l->n++] = argv[i];
		} else {
			*(uint64_t *)o->to = strtoull(argv[i], &end, 10);
			if (*end || end == argv[i])
				wrong(argv[i]);
		}
	}
	if (comm)
		prctl(PR_SET_NAME, comm);
	if (cpu != UINT64_MAX)
		work_pin((int64_t)cpu);
}

#ifdef WORK_STATIC
/*
 * The runtime is linked in, as nvcc does by default: its functions are in .symtab, not among the
 * exports.
 */
#define API(name, params) __attribute__((weak)) int name params;
#include "tests/double/work/cuda.def"

void work_cuda_open(struct work_cuda *c, const char *lib)
{
#define API(name, params) c->name = name;
#include "tests/double/work/cuda.def"
}
#else
void work_cuda_open(struct work_cuda *c, const char *lib)
{
	void *runtime = dlopen(lib ? lib : lib_name, RTLD_NOW | RTLD_LOCAL), *driver = NULL;

	if (!runtime) {
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, dlerror());
		exit(2);
	}
	memset(c, 0, sizeof *c);
#define API(name, params)                                                       \
	if (!strncmp(#name, "cuda", 4)) {                                       \
		c->name = (int(*) params)dlsym(runtime, #name);                 \
	} else {                                                                \
		if (!driver)                                                    \
			driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); \
		c->name = driver ? (int(*) params)dlsym(driver, #name) : NULL;  \
	}
#include "tests/double/work/cuda.def"
}
#endif

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t work_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

long work_tid(void)
{
	return syscall(SYS_gettid);
}

uint64_t work_cpu_now(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void work_burn(uint64_t cpu_ns)
{
	uint64_t end = work_cpu_now() + cpu_ns;

	while (work_cpu_now() < end)
		for (volatile int i = 0; i < 1000; i++)
			;
}

void work_sleep_until(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000u),
			      .tv_nsec = (long)(ns % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

void work_pin(int64_t to)
{
	cpu_set_t set;

	if (to < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)to, &set);
	if (sched_setaffinity(0, sizeof set, &set))
		work_die("cannot stay on that CPU");
}

/* How long it waited for a CPU, and how many times it got one. */
static void read_schedstat(unsigned long long *run_delay_ns, unsigned long long *slices)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "re");

	if (!f || fscanf(f, "%*u %llu %llu", run_delay_ns, slices) != 2)
		*run_delay_ns = *slices = 0;
	if (f)
		fclose(f);
}

#define TRIES 100 /* under a tracer every call is a switch, and no two figures are of one moment */

void work_sched_read(struct work_sched *s)
{
	unsigned long long delay, slices, delay_after, slices_after;
	unsigned tries = 0;

	read_schedstat(&delay_after, &slices_after);
	do {
		delay = delay_after;
		slices = slices_after;
		s->at_ns = work_now();
		s->cpu_ns = work_cpu_now();
		read_schedstat(&delay_after, &slices_after);
	} while (slices_after != slices && ++tries < TRIES);
	s->run_delay_ns = delay;
	s->slices = slices;
}

FILE *work_truth_open(const char *workload)
{
	FILE *f = truth_path ? fopen(truth_path, "ae") : stdout;
	char name[17] = "";

	if (!f)
		work_die(truth_path);
	prctl(PR_GET_NAME, name);
	fprintf(f, "{\"workload\":\"%s\",\"pid\":%d,\"tid\":%ld,\"comm\":\"%s\"", workload,
		getpid(), work_tid(), name);
	return f;
}

void work_truth_sched(FILE *f, const struct work_sched *before, const struct work_sched *after)
{
	fprintf(f,
		",\"cpu_ns\":%llu,\"run_delay_ns\":%llu,\"slices\":%llu,\"life_run_delay_ns\":%llu",
		(unsigned long long)(after->cpu_ns - before->cpu_ns),
		(unsigned long long)(after->run_delay_ns - before->run_delay_ns),
		(unsigned long long)(after->slices - before->slices),
		(unsigned long long)after->run_delay_ns);
}

void work_truth_close(FILE *f)
{
	fprintf(f, "}\n");
	if (fflush(f) || (f != stdout && fclose(f)))
		work_die("cannot write the truth");
}
