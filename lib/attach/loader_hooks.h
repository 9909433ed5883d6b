/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks in dynamic loaders: the empty function that a loader calls for debuggers when its list of
 * libraries changes (<link.h>, struct r_debug). Each loader file is hooked once, for all processes.
 */
#ifndef INGERO_ATTACH_LOADER_HOOKS_H
#define INGERO_ATTACH_LOADER_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/attach/link.h"
#include "lib/attach/session.h"
#include "lib/base/vec.h"
#include "lib/host/maps.h"

/* A file as the kernel numbers it. */
struct mapped_file {
	uint32_t major, minor;
	uint64_t inode;
};

/* Zero-initialised but for the session, which is borrowed; the caller detaches and abandons fds. */
struct loader_hooks {
	struct probe_session *session;
	VEC(struct mapped_file) files; /* looked at, also those that could not be hooked */
	struct probe_fds fds;
	bool any;
	struct err error; /* why one could not, the first */
};

bool mapped_file_is(const struct mapped_file *f, const struct host_mapping *m);

bool loader_hooks_is_loader(const char *path);
bool loader_hooks_has(const struct loader_hooks *h, const struct host_mapping *m);
/* Hooks the loader that tgid maps there, if that has not been done. */
void loader_hooks_add(struct loader_hooks *h, uint32_t tgid, const struct host_mapping *m);

#endif
