/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcuda.so.1 of the double: the exported functions of driver.def on top of the device model.
 * cuGetProcAddress hands out the exported addresses, as the real driver does, so a probe on an
 * exported symbol also sees calls made through pointers.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "graph.h"
#include "memory.h"
#include "stub.h"
#include "truth.h"
#include "types.h"
#include "vmm.h"

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
		: error == CU_INVALID_DEVICE ? "CUDA_ERROR_INVALID_DEVICE"
		: error == CU_NOT_SUPPORTED  ? "CUDA_ERROR_NOT_SUPPORTED"
					     : "CUDA_ERROR_UNKNOWN";
	return CU_OK;
}

static int alloc_pitch(uint64_t *p, size_t *pitch, size_t width, size_t height)
{
	if (!pitch)
		return CU_INVALID_VALUE;
	*pitch = (width + 511) & ~(size_t)511;
	return memory_alloc(p, *pitch * height, MEMORY_DEVICE);
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

/* A kernel's handle is an entry of this table: the same name gives the same handle, different names
 * different ones. */
static int find_kernel(void **out, const char *name)
{
	static struct kernel {
		struct kernel *next;
		char name[];
	} * _Atomic table[1 << 16];
	struct kernel *_Atomic *head, *first, *k, *made = NULL;
	uint32_t h = 2166136261u;

	if (!out || !name)
		return CU_INVALID_VALUE;
	for (const char *s = name; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	head = &table[(h ^ h >> 16) % (1 << 16)];
	do {
		first = *head;
		for (k = first; k && strcmp(k->name, name); k = k->next)
			;
		if (k)
			break;
		if (!made) {
			made = malloc(sizeof *made + strlen(name) + 1);
			if (!made)
				return CU_OUT_OF_MEMORY;
			memcpy(made->name, name, strlen(name) + 1);
		}
		made->next = first;
	} while (!atomic_compare_exchange_weak(head, &first, made));
	if (k)
		free(made);
	*out = k ? k : made;
	return CU_OK;
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

/* The public cuda.h's CU_FUNC_ATTRIBUTE_*. */
static int function_attribute(int number)
{
	switch (number) {
	case 0: /* MAX_THREADS_PER_BLOCK */
		return 1024;
	case 4: /* NUM_REGS */
		return 64;
	case 5: /* PTX_VERSION */
	case 6: /* BINARY_VERSION */
		return 86;
	case 8: /* MAX_DYNAMIC_SHARED_SIZE_BYTES */
		return attribute_of(97);
	}
	return 0;
}

static int occupancy(int *blocks, int block_size)
{
	if (block_size < 1)
		return CU_INVALID_VALUE;
	return give_int(blocks, attribute_of(39) / block_size);
}

/* One of CU_POINTER_ATTRIBUTE_*; what is not known of the memory is 0. */
static void pointer_attribute(void *out, int attribute, uint64_t p)
{
	struct memory_range r = memory_find_any(p);

	switch (attribute) {
	case 1: /* CONTEXT */
		*(void **)out = r.kind ? &contexts[0] : NULL;
		break;
	case 2: /* MEMORY_TYPE: host 1, device 2 */
		*(unsigned *)out = !r.kind ? 0 : r.kind == MEMORY_PINNED ? 1 : 2;
		break;
	case 3: /* DEVICE_POINTER */
		*(uint64_t *)out = r.kind ? p : 0;
		break;
	case 4: /* HOST_POINTER */
		*(uint64_t *)out = r.kind == MEMORY_PINNED || r.kind == MEMORY_MANAGED ? p : 0;
		break;
	case 7:	 /* BUFFER_ID */
	case 11: /* RANGE_START_ADDR */
		*(uint64_t *)out = r.start;
		break;
	case 8: /* IS_MANAGED */
		*(unsigned char *)out = r.kind == MEMORY_MANAGED;
		break;
	case 9: /* DEVICE_ORDINAL */
		*(int *)out = r.kind ? 0 : -2;
		break;
	case 12: /* RANGE_SIZE */
		*(uint64_t *)out = r.bytes;
		break;
	case 13: /* MAPPED */
		*(unsigned char *)out = r.kind != MEMORY_NONE;
		break;
	default: /* the others are numbers or flags of 4 bytes */
		*(int *)out = 0;
	}
}

static int pointer_attributes(unsigned n, const int *attributes, void **out, uint64_t p)
{
	if (!attributes || !out)
		return CU_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++)
		pointer_attribute(out[i], attributes[i], p);
	return CU_OK;
}

static int range_of(uint64_t *start, size_t *bytes, uint64_t p)
{
	struct memory_range r = memory_find_any(p);

	if (!r.kind)
		return CU_NOT_FOUND;
	if (start)
		*start = r.start;
	if (bytes)
		*bytes = r.bytes;
	return CU_OK;
}

static int host_register(void *p, size_t n)
{
	memory_register((uintptr_t)p, n);
	return CU_OK;
}

static int host_unregister(void *p)
{
	memory_unregister((uintptr_t)p);
	return CU_OK;
}

/* cuMemFree waits for the device where allocations cost time, as the real one does. */
static int free_memory(uint64_t p)
{
	static int waits = -1;

	if (waits < 0)
		waits = getenv("DOUBLE_ALLOC_NS") != NULL;
	if (p && waits)
		device_sync();
	return memory_free(p);
}

/* Pools have no limits and no state: CU_MEMPOOL_ATTR_* up to 3 are int, the others 64 bits. */
static int pool_attribute(int attribute, void *value)
{
	if (!value)
		return CU_INVALID_VALUE;
	memset(value, 0, attribute <= 3 ? 4 : 8);
	return CU_OK;
}

enum { QUEUE, WAIT };

static int copy(uint64_t dst, uint64_t src, size_t n, void *stream, int pt, bool wait)
{
	struct work w = { .kind = WORK_COPY, .dst = dst, .src = src, .width = n, .height = 1 };

	return device_work(stream, pt, &w, wait);
}

/* Arrays have no contents. */
static int copy_rows(const struct copy2d *c, void *stream, int pt, bool wait)
{
	struct work w = { .kind = WORK_COPY };

	if (!c)
		return CU_INVALID_VALUE;
	if (c->src_type == 3 || c->dst_type == 3 || !memory_has_contents())
		return CU_OK;
	w.width = c->width;
	w.height = c->height;
	w.src_pitch = c->src_pitch;
	w.dst_pitch = c->dst_pitch;
	w.src = (c->src_type == 1 ? (uintptr_t)c->src_host : c->src_device) +
		c->src_y * c->src_pitch + c->src_x;
	w.dst = (c->dst_type == 1 ? (uintptr_t)c->dst_host : c->dst_device) +
		c->dst_y * c->dst_pitch + c->dst_x;
	return device_work(stream, pt, &w, wait);
}

/* n values of so many bytes a row. */
static int set_rows(uint64_t p, uint32_t value, unsigned bytes, size_t pitch, size_t n,
		    size_t height, void *stream, int pt)
{
	struct work w = { .kind = WORK_SET,
			  .dst = p,
			  .dst_pitch = pitch,
			  .width = n * bytes,
			  .height = height,
			  .value = value,
			  .value_bytes = bytes };

	return device_work(stream, pt, &w, false);
}

static int give_nodes(void *graph, void **nodes, size_t *n)
{
	if (!n)
		return CU_INVALID_VALUE;
	graph_nodes(graph, nodes, n);
	return CU_OK;
}

/* What captured work would depend on is not modelled: a capture is a set of nodes. */
static int capture_info(void *stream, int pt, int *active, uint64_t *id, void **graph,
			const void ***dependencies, const void **edges, size_t *n)
{
	if (dependencies)
		*dependencies = NULL;
	if (edges)
		*edges = NULL;
	if (n)
		*n = 0;
	return device_capture_info(stream, pt, active, id, graph);
}

static int exchange_capture_mode(int *mode)
{
	static __thread int current_mode;
	int old = current_mode;

	if (!mode)
		return CU_INVALID_VALUE;
	current_mode = *mode;
	*mode = old;
	return CU_OK;
}

/* Which device a context is of. */
static int device_of_context(void)
{
	void *top = NULL;

	current_context(&top, false);
	return (char *)top >= contexts && (char *)top < contexts + DEVICES_MAX
		       ? (int)((char *)top - contexts)
		       : 0;
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

static const struct export_ctx {
	const char *name;
	const char *address;
	struct counter *counter;
} exports[] = {
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
