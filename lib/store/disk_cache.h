/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes that took long to find, stored in a folder of the user's for the next server of the same
 * files. An entry is valid only if it names the present state of the files and the same version of
 * the program; it can be removed any time.
 */
#ifndef INGERO_STORE_DISK_CACHE_H
#define INGERO_STORE_DISK_CACHE_H

#include <stdbool.h>

#include "lib/query/chains.h"

/* Creates the folder if it does not exist; errors are ignored. */
void disk_cache_create(const char *folder);
/* folder: created if it does not exist; one that belongs to another user, or is open to others, is
 * not used. state: of the files. False: nothing is stored for it. out is the caller's:
 * query_chains_clear. */
bool disk_cache_read(const char *folder, const char *state, struct query_chains *out);
/* Errors are ignored. Of more than 32 entries the oldest are removed. */
void disk_cache_write(const char *folder, const char *state, const struct query_chains *a);

#endif
