/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash under a secret key (SipHash-2-4): who does not have the key can neither compute it nor
 * find out by trying what it was made of. The same on every machine and in every version.
 */
#ifndef INGERO_BASE_KEYHASH_H
#define INGERO_BASE_KEYHASH_H

#include <stddef.h>
#include <stdint.h>

struct keyhash {
	uint64_t key[2];
};

/* A key from any number of secret bytes. It is as hard to guess as they are, 128 bits at most. */
struct keyhash keyhash_from(const void *secret, size_t n);

uint64_t keyhash_bytes(const struct keyhash *k, const void *p, size_t n);

#endif
