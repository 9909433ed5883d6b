/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library with kernels as nvcc makes one: its constructor registers them by the address of a host
 * function and by a name, and nothing has read the page that the name is in. Built several times,
 * MODULE_KERNEL a kernel's name of five letters, all of one layout, so that one may lie where
 * another one lay.
 */
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include "tests/double/types.h"

#define ALONE                                                                                   \
	(2 << 20) /* bytes: more than the kernel maps around a page that is touched, a folio of \
		     the page cache */

/* Each is read by nobody but who is given its address. */
enum { FIRST, SECOND, RANGE, MARK, WIDE, TEXTS };
static const struct {
	char alone[ALONE];
	union {
		char narrow[128];
		wchar_t wide[32];
	} text;
} untouched[TEXTS + 1] = { [FIRST] = { .text.narrow = "_Z6" MODULE_KERNEL "1Pf" },
			   [SECOND] = { .text.narrow = "_Z6" MODULE_KERNEL "2Pf" },
			   [RANGE] = { .text.narrow = MODULE_KERNEL " range" },
			   [MARK] = { .text.narrow = MODULE_KERNEL " mark" },
			   [WIDE] = { .text.wide = L"wide range" } };

void **__cudaRegisterFatBinary(const void *wrapper) __attribute__((weak));
void __cudaRegisterFatBinaryEnd(void **handle) __attribute__((weak));
void __cudaUnregisterFatBinary(void **handle) __attribute__((weak));
void __cudaRegisterFunction(void **handle, const char *host, char *device_name, const char *name,
			    int limit, void *tid, void *bid, void *block, void *grid, int *warp);
int cudaLaunchKernel(const void *func, struct dim3 grid, struct dim3 block, void **args,
		     size_t shared, void *stream);

static const uint64_t image[2]; /* no code for any device */
static const struct {
	int magic, version;
	const void *image, *unused;
} wrapper = { 0x466243b1, 1, image, NULL };
static void **binary;
static volatile int sink;

/* Host functions: the kernel's own name, and that of a static kernel's stub. */
void first(float *x) __asm__("_Z6" MODULE_KERNEL "1Pf");
void second(float *x) __asm__("_ZL25__device_stub__Z6" MODULE_KERNEL "2PfPf");

__attribute__((noinline, visibility("hidden"))) void first(float *x)
{
	sink += x != NULL;
}

__attribute__((noinline, visibility("hidden"))) void second(float *x)
{
	sink += 2 + (x != NULL);
}

__attribute__((constructor)) static void begin(void)
{
	if (__cudaRegisterFatBinary)
		binary = __cudaRegisterFatBinary(&wrapper);
	__cudaRegisterFunction(binary, (const char *)first, (char *)untouched[FIRST].text.narrow,
			       untouched[FIRST].text.narrow, -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(binary, (const char *)second, (char *)untouched[SECOND].text.narrow,
			       untouched[SECOND].text.narrow, -1, NULL, NULL, NULL, NULL, NULL);
	if (__cudaRegisterFatBinaryEnd)
		__cudaRegisterFatBinaryEnd(binary);
}

__attribute__((destructor)) static void end(void)
{
	if (__cudaUnregisterFatBinary)
		__cudaUnregisterFatBinary(binary);
}

/* Launches the first kernel so often, and the second one time more. Where the first one's host
 * function is. */
__attribute__((visibility("default"))) const void *module_launch(unsigned n);
__attribute__((visibility("default"))) const char *module_text(unsigned which);

const void *module_launch(unsigned n)
{
	struct dim3 one = { 1, 1, 1 };

	for (unsigned i = 0; i < n; i++)
		cudaLaunchKernel((const void *)first, one, one, NULL, 0, NULL);
	for (unsigned i = 0; i < n + 1; i++)
		cudaLaunchKernel((const void *)second, one, one, NULL, 0, NULL);
	return (const void *)first;
}

/* Names of a range, of a mark, and of a range in wide characters. */
const char *module_text(unsigned which)
{
	return untouched[RANGE + which].text.narrow;
}
