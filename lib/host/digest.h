/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256, for identities that are written into files: the same on every machine and in every
 * version, and not to be turned back into what they were made of.
 */
#ifndef INGERO_HOST_DIGEST_H
#define INGERO_HOST_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define HOST_DIGEST 32

void host_digest(const void *p, size_t n, uint8_t out[HOST_DIGEST]);

#endif
