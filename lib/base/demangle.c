/* SPDX-License-Identifier: Apache-2.0 */
/*
 * __cxa_demangle by dlopen. Its time and output can explode on names made for that purpose, so that only names
 * of ordinary length are handed over and very long results are refused.
 */
#include "lib/base/demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MANGLED_MAX   1024
#define DEMANGLED_MAX 8192

typedef char *demangle_fn(const char *name, char *out, size_t *size, int *status);

static demangle_fn *known;

static void find(void)
{
	void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

	if (!library)
		library = dlopen("libc++abi.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (library)
		*(void **)&known = dlsym(library, "__cxa_demangle");
}

void demangle_name(struct buf *out, const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char *text = NULL;
	int status = 0;

	if (strncmp(name, "_Z", 2) == 0 && strlen(name) <= MANGLED_MAX) {
		pthread_once(&once, find);
		if (known)
			text = known(name, NULL, NULL, &status);
	}
	buf_puts(out, text && status == 0 && strlen(text) <= DEMANGLED_MAX ? text : name);
	free(text);
}
