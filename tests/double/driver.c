/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcuda.so.1 of the double: the exported functions of driver.def on top of the device model.
 * cuGetProcAddress hands out the exported addresses, as the real driver does, so a probe on an
 * exported symbol also sees calls made through pointers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "types.h"
#include "stub.h"
#include "truth.h"

/* The table names every parameter for the reader; most results need few of them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* What the prologues compare and where they would jump; see stub.h. */
__attribute__((used, visibility("hidden"))) uint32_t double_gate = 0x321cba00;

static int shut(void)
{
	return 999;
}

__attribute__((used, visibility("hidden"))) int (*double_shut)(void) = shut;

#define DEVICES_MAX 16
#define NESTED_MAX  16
static char contexts[DEVICES_MAX], module_of_all;
static __thread void *current[NESTED_MAX];
static __thread unsigned ncurrent;

static int device_count(void)
{
	const char *s = getenv("DOUBLE_DEVICES");
	long n = s ? strtol(s, NULL, 10) : 1;

	return n < 1 ? 1 : n > DEVICES_MAX ? DEVICES_MAX : (int)n;
}

/* Which board a device is: the place of that number in $CUDA_VISIBLE_DEVICES, if that is set. */
static int board_of(int device)
{
	const char *s = getenv("CUDA_VISIBLE_DEVICES");

	for (int i = 0; s && i < device && *s; i++) {
		s = strchr(s, ',');
		s = s ? s + 1 : "";
	}
	return s && *s ? (int)strtol(s, NULL, 10) : device;
}

static int give_int(int *p, int v)
{
	if (!p)
		return CU_INVALID_VALUE;
	*p = v;
	return CU_OK;
}

static int give_handle(void **p, void *v)
{
	if (!p)
		return CU_INVALID_VALUE;
	*p = v;
	return CU_OK;
}

static int give_u64(uint64_t *p, uint64_t v)
{
	if (!p)
		return CU_INVALID_VALUE;
	*p = v;
	return CU_OK;
}

/* A handle nobody had before. It stands for something that is not modelled. */
static void *next_handle(void)
{
	static _Atomic uintptr_t last = 0x7e0000000000;

	return (void *)(last += 64);
}

static int give_text(char *p, int n, const char *text)
{
	if (!p || n <= 0)
		return CU_INVALID_VALUE;
	snprintf(p, (size_t)n, "%s", text);
	return CU_OK;
}

static int give_error(int error, const char **text)
{
	if (!text)
		return CU_INVALID_VALUE;
	*text = error == CU_OK		     ? "CUDA_SUCCESS"
		: error == CU_INVALID_VALUE  ? "CUDA_ERROR_INVALID_VALUE"
		: error == CU_OUT_OF_MEMORY  ? "CUDA_ERROR_OUT_OF_MEMORY"
		: error == CU_INVALID_HANDLE ? "CUDA_ERROR_INVALID_HANDLE"
		: error == CU_NOT_FOUND	     ? "CUDA_ERROR_NOT_FOUND"
		: error == CU_NOT_READY	     ? "CUDA_ERROR_NOT_READY"
					     : "CUDA_ERROR_UNKNOWN";
	return CU_OK;
}

static int alloc_pitch(uint64_t *p, size_t *pitch, size_t width, size_t height)
{
	if (!pitch)
		return CU_INVALID_VALUE;
	*pitch = (width + 511) & ~(size_t)511;
	return device_alloc(p, *pitch * height);
}

/* As nvml.c has it: 00000000-0000-0000-0000-00000000000N. */
static int give_uuid(unsigned char *uuid, int device)
{
	if (!uuid || device < 0 || device >= device_count())
		return 101;
	memset(uuid, 0, 16);
	uuid[15] = (unsigned char)board_of(device);
	return CU_OK;
}

static int primary(void **ctx, int device)
{
	return device < 0 || device >= device_count() ? 101 : give_handle(ctx, &contexts[device]);
}

static int push_context(void *ctx)
{
	if (ncurrent < NESTED_MAX)
		current[ncurrent++] = ctx;
	return CU_OK;
}

static int set_context(void *ctx)
{
	if (ncurrent == 0)
		ncurrent = 1;
	current[ncurrent - 1] = ctx;
	return CU_OK;
}

static int current_context(void **ctx, bool pop)
{
	void *top = ncurrent ? current[ncurrent - 1] : &contexts[0];

	ncurrent -= pop && ncurrent;
	return give_handle(ctx, top);
}

static int create_context(void **ctx, int device)
{
	int rc = device < 0 || device >= device_count() ? 101 : give_handle(ctx, next_handle());

	return rc ? rc : push_context(*ctx);
}

/* A kernel's handle is a place in this table: the same name gives the same handle. */
static int find_kernel(void **out, const char *name)
{
	static char kernels[4096];
	uint32_t h = 2166136261u;

	if (!out || !name)
		return CU_INVALID_VALUE;
	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	*out = &kernels[h % sizeof kernels];
	return CU_OK;
}

/*
 * The real driver runs it on a thread of its own; here the stream's work so far is waited for and
 * it runs at once.
 */
static int launch_host(void *stream, int pt, void (*f)(void *), void *data)
{
	if (!f)
		return CU_INVALID_VALUE;
	device_stream_sync(stream, pt);
	f(data);
	return CU_OK;
}

static int find_address(const char *name, void **address, uint64_t flags, int *status);

#define ENTRY(variants, name, stack, params, result) \
	VARIANTS_##variants(name, stack, params, result)
#define ENTRY_BODY(api, per_thread, stack, params, result)      \
	static struct counter api##_counter = { .name = #api }; \
	extern const char api##_entry[] __asm__(#api);          \
	STUB(DRIVER, api, stack);                               \
	STUB_BODY int api##_body params                         \
	{                                                       \
		enum { pt = per_thread };                       \
		struct call call = truth_enter(&api##_counter); \
		int rc = call.failed ? call.failed : (result);  \
                                                                \
		truth_leave(&call, rc);                         \
		return rc;                                      \
	}
#include "driver.def"

static const struct export
{
	const char *name;
	const char *address;
	struct counter *counter;
}
exports[] = {
#define ENTRY(variants, name, ...) VARIANTS_##variants(name, )
#undef ENTRY_BODY
#define ENTRY_BODY(api, ...) { #api, api##_entry, &api##_counter },
#include "driver.def"
};

/*
 * "cuMemAlloc" means its newest generation; flag 2 asks for the per-thread-stream twin where there
 * is one.
 */
static int find_address(const char *name, void **address, uint64_t flags, int *status)
{
	static const char *const suffixes[] = {
		"_v2_ptsz", "_v2_ptds", "_ptsz", "_ptds", "_v2", ""
	};
	char full[64];

	if (!name || !address)
		return CU_INVALID_VALUE;
	*address = NULL;
	for (size_t i = flags & 2 ? 0 : 4; i < sizeof suffixes / sizeof *suffixes && !*address;
	     i++) {
		snprintf(full, sizeof full, "%s%s", name, suffixes[i]);
		for (size_t j = 0; j < sizeof exports / sizeof *exports; j++)
			if (!strcmp(exports[j].name, full))
				*address = (void *)(uintptr_t)exports[j].address;
	}
	if (status)
		*status = *address ? 0 : 1;
	return *address ? CU_OK : CU_NOT_FOUND;
}

__attribute__((constructor)) static void driver_start(void)
{
	for (size_t i = 0; i < sizeof exports / sizeof *exports; i++)
		truth_register(exports[i].counter);
	device_start();
}
