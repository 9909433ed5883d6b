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

/* Makes the folder, where it is not there and can be made. */
void kept_make(const char *folder);
/* folder: made when it is not there; one that is another user's, or open to others, is left alone.
 * state: of the files. False: nothing of it is kept. out is the caller's: query_chains_drop. */
bool kept_read(const char *folder, const char *state, struct query_chains *out);
/* Where it cannot be kept it is not. The oldest of more than 32 go. */
void kept_write(const char *folder, const char *state, const struct query_chains *a);

#endif
