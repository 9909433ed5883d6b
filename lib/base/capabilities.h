/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drops capabilities of the calling thread irrevocably: neither the thread nor a program that it
 * executes can regain them.
 */
#ifndef INGERO_BASE_CAPABILITIES_H
#define INGERO_BASE_CAPABILITIES_H

#include <stdint.h>

/* Sets of capabilities, bit (1 << CAP_...). */
#define CAPABILITIES_NONE 0ull
/* Reading files and folders of others: what is left to a child that analyzes recordings. */
#define CAPABILITIES_READING (1ull << 2) /* CAP_DAC_READ_SEARCH */

/* The permitted set; 0 also when it cannot be read. */
uint64_t capabilities_permitted(void);

/* Reduces the permitted and effective sets to those in `keep`, clears the inheritable and ambient
 * sets and, where allowed, drops all others from the bounding set. Returns 0 or an errno. */
int capabilities_keep(uint64_t keep);

#endif
