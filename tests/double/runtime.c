/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcudart of the double: the exported functions of runtime.def. Like the real one it finds the
 * driver at its first call by dlopen("libcuda.so.1") and takes every driver function's address from
 * cuGetProcAddress_v2. Built under several sonames to stand for several copies in one process; each
 * copy binds for itself.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "stub.h"
#include "truth.h"
#include "types.h"

/* The table names every parameter for the reader; some results need fewer. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define NO_DRIVER     35 /* cudaErrorInsufficientDriver */
#define INVALID_VALUE 1

/* The driver's functions, typed by its own table. */
struct drivers {
#define ENTRY(variants, name, stack, params, ...) int(*name) params;
#include "driver.def"
};

static struct drivers drivers[2]; /* legacy and per-thread default stream */
static atomic_bool started;
static bool bound;
static __thread int last_error;

#define DRIVERS(pt)  (&drivers[pt])
#define driver(name) drivers[pt].name

static void start(void);

#define DEVICES_MAX 16
static void *primary[DEVICES_MAX];
static int ndevices;

/* One device needs no telling apart. */
static int set_device(int device)
{
	if (device < 0 || device >= ndevices)
		return 101; /* cudaErrorInvalidDevice */
	return ndevices > 1 ? drivers[0].cuCtxSetCurrent(primary[device]) : 0;
}

static int copy(const struct drivers *d, void *dst, const void *src, size_t n, int kind)
{
	uint64_t to = (uint64_t)(uintptr_t)dst, from = (uint64_t)(uintptr_t)src;

	switch (kind) {
	case 1:
		return d->cuMemcpyHtoD(to, src, n);
	case 2:
		return d->cuMemcpyDtoH(dst, from, n);
	case 3:
		return d->cuMemcpyDtoD(to, from, n);
	case 0:
	case 4:
		return d->cuMemcpy(to, from, n);
	}
	return 21; /* cudaErrorInvalidMemcpyDirection */
}

static int copy_async(const struct drivers *d, void *dst, const void *src, size_t n, int kind,
		      void *stream)
{
	uint64_t to = (uint64_t)(uintptr_t)dst, from = (uint64_t)(uintptr_t)src;

	switch (kind) {
	case 1:
		return d->cuMemcpyHtoDAsync(to, src, n, stream);
	case 2:
		return d->cuMemcpyDtoHAsync(dst, from, n, stream);
	case 3:
		return d->cuMemcpyDtoDAsync(to, from, n, stream);
	case 0:
	case 4:
		return d->cuMemcpyAsync(to, from, n, stream);
	}
	return 21;
}

static int give_handle(void **out)
{
	static _Atomic uintptr_t last = 0x7d0000000000;

	if (!out)
		return INVALID_VALUE;
	*out = (void *)(last += 64);
	return 0;
}

static int launch_ex(const struct drivers *d, const struct launch_config_runtime *c, const void *f,
		     void **args)
{
	struct launch_config_driver config;

	if (!c)
		return INVALID_VALUE;
	config = (struct launch_config_driver){
		.grid = { c->grid.x, c->grid.y, c->grid.z },
		.block = { c->block.x, c->block.y, c->block.z },
		.shared_bytes = (unsigned)c->shared_bytes,
		.stream = c->stream,
	};
	return d->cuLaunchKernelEx(&config, (void *)(uintptr_t)f, args, NULL);
}

#define ENTRY(variants, name, stack, params, result) \
	VARIANTS_##variants(name, stack, params, result)
#define ENTRY_BODY(api, per_thread, stack, params, result)                   \
	static struct counter *api##_counter;                                \
	STUB(RUNTIME, api, stack);                                           \
	STUB_BODY int api##_body params                                      \
	{                                                                    \
		enum { pt = per_thread };                                    \
		uint64_t start_ns = 0;                                       \
		struct call call;                                            \
		int rc;                                                      \
                                                                             \
		if (!atomic_load_explicit(&started, memory_order_acquire)) { \
			start_ns = truth_now();                              \
			start();                                             \
		}                                                            \
		if (!bound)                                                  \
			return NO_DRIVER;                                    \
		call = truth_enter(api##_counter);                           \
		if (start_ns)                                                \
			call.start_ns = start_ns;                            \
		rc = call.failed ? call.failed : (result);                   \
		if (rc)                                                      \
			last_error = rc;                                     \
		truth_leave(&call, rc);                                      \
		return rc;                                                   \
	}
#include "runtime.def"

/* These speak about the last error itself, so they are no rows of the table. */
#define SPECIAL(name)                          \
	static struct counter *name##_counter; \
	STUB(RUNTIME, name, 0);

SPECIAL(cudaGetLastError)
STUB_BODY int cudaGetLastError_body(void)
{
	int rc = last_error;

	last_error = 0;
	if (cudaGetLastError_counter)
		atomic_fetch_add(&cudaGetLastError_counter->count, 1);
	return rc;
}

SPECIAL(cudaPeekAtLastError)
STUB_BODY int cudaPeekAtLastError_body(void)
{
	if (cudaPeekAtLastError_counter)
		atomic_fetch_add(&cudaPeekAtLastError_counter->count, 1);
	return last_error;
}

SPECIAL(cudaGetErrorString)
STUB_BODY const char *cudaGetErrorString_body(int error)
{
	if (cudaGetErrorString_counter)
		atomic_fetch_add(&cudaGetErrorString_counter->count, 1);
	switch (error) {
	case 0:
		return "no error";
	case INVALID_VALUE:
		return "invalid argument";
	case 2:
		return "out of memory";
	case NO_DRIVER:
		return "CUDA driver version is insufficient for CUDA runtime version";
	}
	return "unknown error";
}

/* Binding: the addresses of the driver's functions and of this copy's counters. */
static const struct driver_slot {
	const char *name;
	size_t offset;
} driver_slots[] = {
#define ENTRY(variants, name, ...) { #name, offsetof(struct drivers, name) },
#include "driver.def"
};

static const struct counter_slot {
	const char *name;
	struct counter **counter;
} counter_slots[] = {
#undef ENTRY_BODY
#define ENTRY(variants, name, ...) VARIANTS_##variants(name, )
#define ENTRY_BODY(api, ...)	   { #api, &api##_counter },
#include "runtime.def"
	{ "cudaGetLastError", &cudaGetLastError_counter },
	{ "cudaPeekAtLastError", &cudaPeekAtLastError_counter },
	{ "cudaGetErrorString", &cudaGetErrorString_counter },
};

static bool bind_driver(void)
{
	int (*address_of)(const char *, void **, int, uint64_t, int *);
	struct counter *(*counter_of)(const char *);
	unsigned char uuid[16];
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int device;

	if (!lib)
		return false;
	address_of = (int (*)(const char *, void **, int, uint64_t,
			      int *))dlsym(lib, "cuGetProcAddress_v2");
	counter_of = (struct counter * (*)(const char *)) dlsym(lib, "double_counter");
	if (!address_of || !counter_of)
		return false; /* NVIDIA's own driver: this runtime only works with the double's */
	for (size_t i = 0; i < sizeof counter_slots / sizeof *counter_slots; i++)
		*counter_slots[i].counter = counter_of(counter_slots[i].name);
	for (size_t i = 0; i < sizeof driver_slots / sizeof *driver_slots; i++) {
		for (int pt = 0; pt < 2; pt++) {
			void **slot = (void **)((char *)&drivers[pt] + driver_slots[i].offset);

			if (address_of(driver_slots[i].name, slot, 13000, pt ? 2 : 1, NULL))
				return false;
		}
	}
	if (drivers[0].cuInit(0) || drivers[0].cuDeviceGetCount(&ndevices))
		return false;
	for (int i = 0; i < ndevices && i < DEVICES_MAX; i++)
		if (drivers[0].cuDeviceGet(&device, i) ||
		    (ndevices > 1 && drivers[0].cuDeviceGetUuid(uuid, device)) ||
		    drivers[0].cuDevicePrimaryCtxRetain(&primary[i], device))
			return false;
	/* With several, each thread is on the first until it says otherwise; nobody has to be told. */
	return ndevices > 1 || !drivers[0].cuCtxSetCurrent(primary[0]);
}

static void start_once(void)
{
	bound = bind_driver();
	atomic_store_explicit(&started, true, memory_order_release);
}

static void start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, start_once);
}
