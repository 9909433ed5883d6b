/* SPDX-License-Identifier: Apache-2.0 */
/* Loads libarchive by dlopen: every version since 3.0 (2011) has interface version 13. */
#include "lib/bundle/library.h"

#ifdef INGERO_HAVE_ARCHIVE

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static struct pack_library library;
static bool complete;

static void load_library(void)
{
	static const struct {
		const char *name;
		size_t at;
	} functions[] = {
#define X(member, function) { #function, offsetof(struct pack_library, member) },
		PACK_FUNCTIONS(X)
#undef X
	};
	void *handle = dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		handle = dlopen("libarchive.so", RTLD_NOW | RTLD_LOCAL);
	complete = handle != NULL;
	for (size_t i = 0; handle && i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *f = dlsym(handle, functions[i].name);

		memcpy((char *)&library + functions[i].at, &f, sizeof(f));
		complete = complete && f;
	}
}

const struct pack_library *pack_library(struct err *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load_library);
	if (complete)
		return &library;
	err_set(e, ERR_CANNOT,
		"bundles need libarchive, which is not on this machine (libarchive.so.13; "
		"Debian: libarchive13)");
	return NULL;
}

#endif
