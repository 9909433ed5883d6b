/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What attaching needs from an ELF file: defined symbols with their file offsets and first bytes, and the
 * build-id. Files come from other people's containers: every offset is checked against the file's size.
 */
#ifndef INGERO_PROBE_IMAGE_H
#define INGERO_PROBE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

struct probe_image_symbol {
	const char *name; /* borrowed during the call, without a version */
	uint64_t offset;  /* in the file */
	uint64_t value;	  /* as linked */
	uint64_t size;	  /* 0 unknown */
	bool is_function;
	const uint8_t *code;
	size_t ncode;
};

typedef void probe_image_fn(void *ctx, const struct probe_image_symbol *s);

/* Every defined symbol of .dynsym, or of .symtab when full, to fn (NULL: only the build-id is wanted).
 * build_id: room for 41, may be NULL. */
int probe_image_symbols(const char *path, bool full, probe_image_fn *fn, void *ctx, char *build_id, struct err *e);

#endif
