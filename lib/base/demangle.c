/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Demangles C++ names through __cxa_demangle, loaded by dlopen when first needed. Its time and
 * output can explode on names made for that purpose, so that only names of ordinary length are
 * handed over and very long results are refused.
 */
#include "lib/base/demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MANGLED_MAX   1024
#define STUB	      (sizeof("__device_stub_") - 1)
#define DEMANGLED_MAX 8192

typedef char *demangle_fn(const char *name, char *out, size_t *size, int *status);

static demangle_fn *known;

static void load_demangler(void)
{
	void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

	if (!library)
		library = dlopen("libc++abi.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (library)
		*(void **)&known = dlsym(library, "__cxa_demangle");
}

static void demangle_plain(struct buf *out, const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char *text = NULL;
	int status = 0;

	if (strncmp(name, "_Z", 2) == 0 && strlen(name) <= MANGLED_MAX) {
		pthread_once(&once, load_demangler);
		if (known)
			text = known(name, NULL, NULL, &status);
	}
	buf_puts(out, text && status == 0 && strlen(text) <= DEMANGLED_MAX ? text : name);
	free(text);
}

/* How long the identifier at p in a mangled name is: the decimal number before it says so, else it
 * goes to the end. */
static size_t identifier_length(const char *name, const char *p)
{
	size_t rest = strlen(p), n = 0;
	const char *digit = p;

	while (digit > name && digit[-1] >= '0' && digit[-1] <= '9')
		digit--;
	for (; digit < p && n < MANGLED_MAX; digit++)
		n = 10 * n + (size_t)(*digit - '0');
	return n && n < rest ? n : rest;
}

/* The kernel's own mangled name inside that of the host function that nvcc makes for it:
 * __device_stub__Z6kernelPf, itself mangled (_ZL25__device_stub__Z6kernelPfPf) or not; and
 * __nv_static_NN__FILE__Z6kernelPf of a static kernel. */
static bool find_kernel(const char *name, struct buf *inner)
{
	const char *p = strstr(name, "__device_stub_"), *last = NULL;
	size_t n;

	if (p) {
		n = identifier_length(name, p);
		if (n < STUB + 3 || strncmp(p + STUB, "_Z", 2) != 0)
			return false;
		buf_add(inner, p + STUB, n - STUB);
		return true;
	}
	if (strncmp(name, "__nv_static_", 12) != 0)
		return false;
	for (p = name; (p = strstr(p, "__Z")); p++)
		last = p;
	if (last)
		buf_puts(inner, last + 1);
	return last != NULL;
}

/* Without what nvcc puts before the name of a template's or a C kernel's host function. */
static void put_without(struct buf *out, const struct buf *text)
{
	static const char *const before[] = { "__wrapper__device_stub_", "__device_stub_" };
	const char *p = buf_text(text), *at = NULL;

	for (unsigned i = 0; !at && i < 2; i++) {
		at = strstr(p, before[i]);
		if (at) {
			buf_add(out, p, (size_t)(at - p));
			p = at + strlen(before[i]);
		}
	}
	buf_puts(out, p);
}

void demangle_name(struct buf *out, const char *name)
{
	struct buf inner = { 0 }, text = { 0 };

	if (!strstr(name, "__device_stub_") && strncmp(name, "__nv_static_", 12) != 0) {
		demangle_plain(out, name);
		return;
	}
	if (find_kernel(name, &inner)) {
		demangle_plain(out, buf_text(&inner));
	} else {
		demangle_plain(&text, name);
		put_without(out, &text);
	}
	out->failed |= inner.failed || text.failed;
	buf_free(&inner);
	buf_free(&text);
}
