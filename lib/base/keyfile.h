/* SPDX-License-Identifier: Apache-2.0 */
/* The secret that pseudonyms are made with: from a file, or a new one each time. */
#ifndef INGERO_BASE_KEYFILE_H
#define INGERO_BASE_KEYFILE_H

#include "lib/base/err.h"
#include "lib/base/keyhash.h"

/* path NULL: a new one. ERR_CANNOT: the file is too short to be a secret. */
int keyhash_read(struct keyhash *key, const char *path, struct err *e);

#endif
