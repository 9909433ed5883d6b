/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest form of a column, for files that are kept: whole values or their bytes in planes,
 * deflated.
 */
#ifndef INGERO_IGE_ARCHIVE_CODEC_H
#define INGERO_IGE_ARCHIVE_CODEC_H

#include "lib/ige/block.h"

/* The smallest of all ways to write v[0..n): d and *p as given if none is smaller than *bytes, else
 * replaced by one in b's memory. */
int ige_archive_codec_integers(struct ige_builder *b, const uint64_t *v, size_t n, uint64_t any,
			       struct ige_directory *d, const void **p, size_t *bytes,
			       struct err *e);

#endif
