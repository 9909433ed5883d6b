/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files a process has mapped where, now and until a moment ago: what a record of the ring
 * says of an address was so when the record was made, and by the time it is read another library
 * may lie there.
 */
#ifndef INGERO_ATTACH_FILE_RANGES_H
#define INGERO_ATTACH_FILE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/host/maps.h"

struct file_range {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* in the file */
	uint64_t inode;
	uint32_t major, minor;
	int64_t until_ns; /* CLOCK_MONOTONIC: not mapped any more then, at the latest; INT64_MAX:
			     mapped now */
};

/* Zero-initialised is empty. */
struct file_ranges {
	VEC(struct file_range) now;    /* ascending */
	VEC(struct file_range) former; /* in the order of until_ns */
	size_t again;		       /* of former: the next that may be mapped still */
};

/* A new picture begins, taken at that time: every mapping of it is added in the order of addresses.
 */
void file_ranges_begin(struct file_ranges *r, int64_t now_ns);
void file_ranges_add(struct file_ranges *r, const struct host_mapping *m);
/* Forgets what was mapped until before that time. */
void file_ranges_forget(struct file_ranges *r, int64_t before_ns);
bool file_ranges_copy(struct file_ranges *to,
		      const struct file_ranges *from); /* false: no memory */
void file_ranges_free(struct file_ranges *r);

/* What was mapped at the address at that time: borrowed until the next change; NULL: no file that
 * is known. */
const struct file_range *file_ranges_find(const struct file_ranges *r, uint64_t address,
					  int64_t time_ns);

/* What was mapped there last of what is not any more. */
const struct file_range *file_ranges_former(const struct file_ranges *r, uint64_t address);

#endif
