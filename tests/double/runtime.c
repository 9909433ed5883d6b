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

#include "registry.h"
#include "stub.h"
#include "truth.h"
#include "types.h"

/* The table names every parameter for the reader; some results need fewer. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define NO_DRIVER     35 /* cudaErrorInsufficientDriver */
#define INVALID_VALUE 1
#define NOT_SUPPORTED 801

#ifndef RUNTIME_VERSION
#define RUNTIME_VERSION 13000 /* rules.mk says another for libcudart.so.12 */
#endif

/* The driver's functions, typed by its own table. */
struct drivers {
#define ENTRY(variants, name, stack, params, ...) int(*name) params;
#include "driver.def"
};

static struct drivers drivers[2];  /* legacy and per-thread default stream */
static atomic_bool started, asked; /* asked: bind_driver() has been called */
static bool bound, usable;
static __thread int last_error, current_device;

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
	current_device = device;
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

static int load_library(void **library, void *image)
{
	return drivers[0].cuLibraryLoadData(library, image, NULL, NULL, 0, NULL, NULL, 0);
}

static int find_kernel(void **kernel, void *library, const char *name)
{
	return drivers[0].cuLibraryGetKernel(kernel, library, name);
}

/* The driver's handle of what a program launches; its own address where nobody has registered that.
 */
static void *kernel_of(const void *stub)
{
	static const struct registry_loader loader = { load_library, find_kernel };
	int rc;

	return registry_kernel(stub, &loader, &rc);
}

static int give_kernel(void **kernel, const void *stub)
{
	if (!kernel)
		return INVALID_VALUE;
	*kernel = kernel_of(stub);
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
	return d->cuLaunchKernelEx(&config, kernel_of(f), args, NULL);
}

/* The driver finds out by itself what is host and what is device memory. */
static int copy_rows(const struct drivers *d, void *dst, size_t dpitch, const void *src,
		     size_t spitch, size_t w, size_t h, int async, void *stream)
{
	struct copy2d c = { .src_type = 4,
			    .src_device = (uintptr_t)src,
			    .src_pitch = spitch,
			    .dst_type = 4,
			    .dst_device = (uintptr_t)dst,
			    .dst_pitch = dpitch,
			    .width = w,
			    .height = h };

	return async ? d->cuMemcpy2DAsync(&c, stream) : d->cuMemcpy2D(&c);
}

static int attribute_of(int number)
{
	switch (number) {
#define ATTRIBUTE(n, value, name) \
	case n:                   \
		return value;
#include "attributes.def"
#undef ATTRIBUTE
	}
	return 0;
}

/* struct cudaDeviceProp as CUDA 13 has it, or as CUDA 12. */
static int give_properties(char *out, int device)
{
	const bool is_13 = RUNTIME_VERSION >= 13000;
	size_t total = 0;
	int rc;

	if (!out)
		return INVALID_VALUE;
	memset(out, 0, is_13 ? 1008 : 1032);
	rc = drivers[0].cuDeviceGetName(out, 256, device);
	if (!rc)
		rc = drivers[0].cuDeviceGetUuid(out + 256, device);
	if (!rc)
		rc = drivers[0].cuDeviceTotalMem(&total, device);
	memcpy(out + 288, &total, sizeof total);
#define PROPERTY(type, at13, at12, attribute, member) \
	*(type *)(out + (is_13 ? at13 : at12)) = (type)attribute_of(attribute);
#include "properties.def"
#undef PROPERTY
	return rc;
}

/* struct cudaFuncAttributes of the public driver_types.h: 144 bytes, as far as somebody reads them.
 */
struct function_attributes {
	size_t shared, constant, local;
	int max_threads, registers, ptx, binary, cache_mode, max_shared, preferred_shared;
	int rest[22];
};

static int function_attributes(struct function_attributes *a, const void *f)
{
	int (*get)(int *, int, void *) = drivers[0].cuFuncGetAttribute;
	void *kernel = kernel_of(f);

	if (!a)
		return INVALID_VALUE;
	memset(a, 0, sizeof *a);
	return get(&a->max_threads, 0, kernel) || get(&a->registers, 4, kernel) ||
	       get(&a->ptx, 5, kernel) || get(&a->binary, 6, kernel) ||
	       get(&a->max_shared, 8, kernel);
}

/* struct cudaPointerAttributes of the public driver_types.h, up to what CUDA 13 added. */
struct pointer_attributes {
	int type, device; /* type: 0 unregistered, 1 host, 2 device, 3 managed */
	void *device_pointer, *host_pointer;
};

static int pointer_attributes(struct pointer_attributes *a, const void *p)
{
	static const int asked_for[] = { 2, 3, 4, 8, 9 }; /* see driver.c */
	unsigned type = 0;
	bool managed = false;
	int rc;

	if (!a)
		return INVALID_VALUE;
	memset(a, 0, sizeof *a);
	rc = drivers[0].cuPointerGetAttributes(5, asked_for,
					       (void *[]){ &type, &a->device_pointer,
							   &a->host_pointer, &managed, &a->device },
					       (uintptr_t)p);
	a->type = managed ? 3 : (int)type;
	if (!type)
		a->host_pointer = (void *)(uintptr_t)p;
	return rc;
}

/* Whether there is a function is an answer, no error. */
static int entry_point(const char *symbol, void **f, unsigned version, uint64_t flags, int *result)
{
	int rc = drivers[0].cuGetProcAddress_v2(symbol, f, (int)version, flags, NULL);

	if (result)
		*result = rc ? 1 : 0;
	return rc == 500 ? 0 : rc;
}

/* What <<<>>> leaves for the host stub that it calls next. */
static __thread struct configuration {
	struct dim3 grid, block;
	size_t shared;
	void *stream;
} configurations[16];
static __thread unsigned nconfigurations;

static unsigned push_configuration(struct dim3 grid, struct dim3 block, size_t shared, void *stream)
{
	if (nconfigurations == sizeof configurations / sizeof *configurations)
		return INVALID_VALUE;
	configurations[nconfigurations++] = (struct configuration){ grid, block, shared, stream };
	return 0;
}

static int pop_configuration(struct dim3 *grid, struct dim3 *block, size_t *shared, void **stream)
{
	const struct configuration *c;

	if (!nconfigurations)
		return INVALID_VALUE;
	c = &configurations[--nconfigurations];
	*grid = c->grid;
	*block = c->block;
	*shared = c->shared;
	*stream = c->stream;
	return 0;
}

static int take_last_error(void)
{
	int rc = last_error;

	last_error = 0;
	return rc;
}

static const char *error_text(int error, bool name)
{
	static const struct {
		int code;
		const char *name, *text;
	} errors[] = {
		{ 0, "cudaSuccess", "no error" },
		{ INVALID_VALUE, "cudaErrorInvalidValue", "invalid argument" },
		{ 2, "cudaErrorMemoryAllocation", "out of memory" },
		{ NO_DRIVER, "cudaErrorInsufficientDriver",
		  "CUDA driver version is insufficient for CUDA runtime version" },
		{ 101, "cudaErrorInvalidDevice", "invalid device ordinal" },
		{ 400, "cudaErrorInvalidResourceHandle", "invalid resource handle" },
		{ 401, "cudaErrorIllegalState",
		  "the operation cannot be performed in the present state" },
		{ 500, "cudaErrorSymbolNotFound", "named symbol not found" },
		{ 600, "cudaErrorNotReady", "device not ready" },
		{ NOT_SUPPORTED, "cudaErrorNotSupported", "operation not supported" },
		{ 900, "cudaErrorStreamCaptureUnsupported",
		  "operation not permitted when stream is capturing" },
	};

	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].code == error)
			return name ? errors[i].name : errors[i].text;
	return name ? "cudaErrorUnknown" : "unknown error";
}

static void bind(void);

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
		if (!usable)                                                 \
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
/* What does not start the driver, cannot fail and returns what it returns. */
#define PLAIN(type, api, stack, params, result)                          \
	static struct counter *api##_counter;                            \
	STUB(RUNTIME, api, stack);                                       \
	STUB_BODY type api##_body params                                 \
	{                                                                \
		struct call call;                                        \
		type answer;                                             \
                                                                         \
		if (!atomic_load_explicit(&asked, memory_order_acquire)) \
			bind();                                          \
		if (!bound)                                              \
			return result;                                   \
		call = truth_enter(api##_counter);                       \
		answer = result;                                         \
		truth_leave(&call, 0);                                   \
		return answer;                                           \
	}
#define JUMP(name, to) STUB_JUMP(name, to);
#include "runtime.def"

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
#define PLAIN(type, api, ...)	   { #api, &api##_counter },
#define JUMP(name, to)
#include "runtime.def"
};

static bool bind_driver(void)
{
	int (*address_of)(const char *, void **, int, uint64_t, int *);
	struct counter *(*counter_of)(const char *);
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

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
	return true;
}

static void bind_once(void)
{
	bound = bind_driver();
	atomic_store_explicit(&asked, true, memory_order_release);
}

static void bind(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, bind_once);
}

static bool start_driver(void)
{
	unsigned char uuid[16];
	int device;

	if (drivers[0].cuInit(0) || drivers[0].cuDeviceGetCount(&ndevices))
		return false;
	for (int i = 0; i < ndevices && i < DEVICES_MAX; i++)
		if (drivers[0].cuDeviceGet(&device, i) ||
		    (ndevices > 1 && drivers[0].cuDeviceGetUuid(uuid, device)) ||
		    drivers[0].cuDevicePrimaryCtxRetain(&primary[i], device))
			return false;
	/* With several, each thread is on the first until it says otherwise; nobody has to be told.
	 */
	return ndevices > 1 || !drivers[0].cuCtxSetCurrent(primary[0]);
}

static void start_once(void)
{
	bind();
	usable = bound && start_driver();
	atomic_store_explicit(&started, true, memory_order_release);
}

static void start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, start_once);
}
