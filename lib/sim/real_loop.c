/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs real GPU work through the driver API, and a hog beside it. It uses only what every
 * libcuda.so.1 has: a context, copies, a small kernel in PTX that the driver compiles (memsets
 * where it does not), and waits for a stream.
 */
#include "lib/sim/real_loop.h"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#define BYTES	  (32u << 20) /* on the device */
#define BATCH	  (256u << 10)
#define LAUNCHES  8
#define ROUNDS	  2000u	   /* of the kernel: some ten microseconds */
#define HOST_NS	  300000   /* work of the host in a step */
#define PERIOD_NS 40000000 /* of the hog */

/* As the driver's interface declares them; results are CUresult, 0 is success. */
struct driver {
	void *handle;
	int (*init)(unsigned);
	int (*count)(int *);
	int (*device)(int *, int);
	int (*retain)(void **, int);
	int (*set_current)(void *);
	int (*alloc)(uint64_t *, size_t);
	int (*host_alloc)(void **, size_t);
	int (*stream)(void **, unsigned);
	int (*load)(void **, const void *);
	int (*function)(void **, void *, const char *);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		      void *, void **, void **);
	int (*copy_in)(uint64_t, const void *, size_t, void *);
	int (*set)(uint64_t, unsigned, size_t, void *);
	int (*wait)(void *);
};

static const char kernel[] = ".version 6.4\n.target sm_52\n.address_size 64\n"
			     ".visible .entry work(.param .u64 data, .param .u32 rounds)\n{\n"
			     "\t.reg .pred %p<2>;\n\t.reg .b32 %r<6>;\n\t.reg .b64 %rd<4>;\n"
			     "\t.reg .f32 %f<3>;\n"
			     "\tld.param.u64 %rd1, [data];\n\tld.param.u32 %r1, [rounds];\n"
			     "\tmov.u32 %r2, %ctaid.x;\n\tmov.u32 %r3, %ntid.x;\n"
			     "\tmov.u32 %r4, %tid.x;\n\tmad.lo.s32 %r5, %r2, %r3, %r4;\n"
			     "\tcvta.to.global.u64 %rd2, %rd1;\n\tmul.wide.u32 %rd3, %r5, 4;\n"
			     "\tadd.s64 %rd2, %rd2, %rd3;\n\tld.global.f32 %f1, [%rd2];\n"
			     "again:\n\tfma.rn.f32 %f1, %f1, 0f3F000000, 0f3F800000;\n"
			     "\tadd.s32 %r1, %r1, -1;\n\tsetp.ne.s32 %p1, %r1, 0;\n"
			     "\t@%p1 bra again;\n\tst.global.f32 [%rd2], %f1;\n\tret;\n}\n";

static int load_from(struct driver *d, const char *path, struct err *e)
{
	struct {
		const char *name;
		void *to;
	} names[] = { { "cuInit", &d->init },
		      { "cuDeviceGetCount", &d->count },
		      { "cuDeviceGet", &d->device },
		      { "cuDevicePrimaryCtxRetain", &d->retain },
		      { "cuCtxSetCurrent", &d->set_current },
		      { "cuMemAlloc_v2", &d->alloc },
		      { "cuMemAllocHost_v2", &d->host_alloc },
		      { "cuStreamCreate", &d->stream },
		      { "cuModuleLoadData", &d->load },
		      { "cuModuleGetFunction", &d->function },
		      { "cuLaunchKernel", &d->launch },
		      { "cuMemcpyHtoDAsync_v2", &d->copy_in },
		      { "cuMemsetD32Async", &d->set },
		      { "cuStreamSynchronize", &d->wait } };
	int count = 0, rc = 0;

	d->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!d->handle)
		return err_set(e, ERR_CANNOT, "no NVIDIA driver here: %s", dlerror());
	for (size_t i = 0; !rc && i < sizeof(names) / sizeof(names[0]); i++) {
		void *f = dlsym(d->handle, names[i].name);

		memcpy(names[i].to, &f, sizeof(f));
		if (!f)
			rc = err_set(e, ERR_CANNOT, "%s has no %s", path, names[i].name);
	}
	if (!rc && (rc = d->init(0)))
		rc = err_set(e, ERR_CANNOT, "%s: cuInit returned %d", path, rc);
	else if (!rc && (d->count(&count) || count < 1))
		rc = err_set(e, ERR_CANNOT, "%s finds no GPU", path);
	if (rc) {
		dlclose(d->handle);
		d->handle = NULL;
	}
	return rc;
}

static int load_driver(struct driver *d, const char *double_folder, bool *is_double, struct err *e)
{
	struct err none;
	char path[4096];
	int rc = load_from(d, "libcuda.so.1", e);

	*is_double = false;
	if (rc == 0)
		return 0;
	snprintf(path, sizeof(path), "%s/libcuda.so.1", double_folder);
	if (load_from(d, path, &none))
		return rc;
	*is_double = true;
	return 0;
}

int sim_live_find(const char *double_folder, bool *is_double, struct err *e)
{
	struct driver d = { 0 };
	int rc = load_driver(&d, double_folder, is_double, e);

	if (d.handle)
		dlclose(d.handle);
	return rc;
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

__attribute__((noinline)) static void burn_to(int64_t cpu_ns, const volatile sig_atomic_t *stop)
{
	while (!(stop && *stop) && now_ns(CLOCK_THREAD_CPUTIME_ID) < cpu_ns)
		for (volatile int i = 0; i < 200; i++)
			;
}

/* Pins the process to the last CPU it may use, so that the other CPUs are not disturbed. */
static void pin_to_last_cpu(void)
{
	cpu_set_t set;
	int cpu = CPU_SETSIZE - 1;

	if (sched_getaffinity(0, sizeof(set), &set))
		return;
	while (cpu > 0 && !CPU_ISSET(cpu, &set))
		cpu--;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

struct loop {
	struct driver d;
	uint64_t data;
	void *batch, *stream, *function;
};

static int prepare_device(struct loop *l)
{
	struct driver *d = &l->d;
	void *ctx = NULL, *module = NULL;
	int device = 0, rc;

	rc = d->device(&device, 0);
	rc = rc ? rc : d->retain(&ctx, device);
	rc = rc ? rc : d->set_current(ctx);
	rc = rc ? rc : d->alloc(&l->data, BYTES);
	rc = rc ? rc : d->host_alloc(&l->batch, BATCH);
	rc = rc ? rc : d->stream(&l->stream, 0);
	if (!rc && (d->load(&module, kernel) || d->function(&l->function, module, "work")))
		l->function = NULL;
	return rc;
}

__attribute__((noinline)) static int forward_pass(struct loop *l)
{
	uint32_t rounds = ROUNDS;
	void *args[] = { &l->data, &rounds };
	int rc = 0;

	for (unsigned i = 0; !rc && i < LAUNCHES; i++)
		rc = l->function ? l->d.launch(l->function, 128, 1, 1, 256, 1, 1, 0, l->stream,
					       args, NULL)
				 : l->d.set(l->data, i, BYTES / 4, l->stream);
	return rc;
}

__attribute__((noinline)) static int train_step(struct loop *l)
{
	int rc;

	burn_to(now_ns(CLOCK_THREAD_CPUTIME_ID) + HOST_NS, NULL);
	rc = l->d.copy_in(l->data, l->batch, BATCH, l->stream);
	rc = rc ? rc : forward_pass(l);
	return rc ? rc : l->d.wait(l->stream);
}

int sim_live_loop(const char *double_folder, unsigned seconds, struct err *e)
{
	struct loop l = { 0 };
	int64_t end = now_ns(CLOCK_MONOTONIC) + (int64_t)seconds * 1000000000;
	bool is_double;
	int rc;

	pin_to_last_cpu();
	rc = load_driver(&l.d, double_folder, &is_double, e);
	if (rc)
		return rc;
	rc = prepare_device(&l);
	while (!rc && now_ns(CLOCK_MONOTONIC) < end)
		rc = train_step(&l);
	return rc ? err_set(e, ERR_CANNOT, "the driver returned error %d", rc) : 0;
}

static volatile sig_atomic_t ended;

static void on_end(int number)
{
	ended = number;
}

void sim_live_hog(unsigned percent)
{
	struct sigaction action = { .sa_handler = on_end };
	int64_t start = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_NAME, SIM_LIVE_HOG);
	/* It gets its share on a busy machine too; without the right to that, what it can get. */
	setpriority(PRIO_PROCESS, 0, -10);
	pin_to_last_cpu();
	for (int64_t period = 1; !ended; period++) {
		int64_t until = start + period * PERIOD_NS;
		struct timespec t = { until / 1000000000, until % 1000000000 };

		burn_to(cpu + period * (PERIOD_NS / 100) * (int64_t)percent, &ended);
		if (!ended)
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	}
}
