/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving capabilities of the calling thread away, for good: it cannot get them again, nor can a
 * program that it executes.
 */
#ifndef INGERO_BASE_CAPABILITIES_H
#define INGERO_BASE_CAPABILITIES_H

#include <stdint.h>

/* Sets of capabilities, bit (1 << CAP_...). */
#define CAPABILITIES_NONE 0ull
/* Reading files and folders of others: what is left to a child that analyzes recordings. */
#define CAPABILITIES_READING (1ull << 2) /* CAP_DAC_READ_SEARCH */

/* Those in use; 0 also where that cannot be told. */
uint64_t capabilities_permitted(void);

/* Of these stays what is there; the inheritable and ambient sets are emptied, and so is, where it
 * may be changed, the bounding set of all others. 0, or errno. */
int capabilities_keep(uint64_t keep);

#endif
