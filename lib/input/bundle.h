/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles: one file with a recording and the names of the functions in its stacks, so that a
 * machine without the recorded libraries can show these names. Members, in this order
 * (formats/igb.md): BUNDLE, symbols/BUILD-ID for each library, recording.ige.
 */
#ifndef INGERO_INPUT_BUNDLE_H
#define INGERO_INPUT_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/bundle/bundle_archive.h"
#include "lib/world/world.h"

/* Opens the bundle in fd. *recording becomes a descriptor of its recording, a nameless file that
 * the caller owns. Frames of w get their names from the bundle until w is freed, and from bundles
 * opened before it. ERR_DAMAGED, ERR_LIMIT, ERR_CANNOT (no libarchive, no room). */
int input_bundle_open(int *recording, struct world *w, int fd, const char *name, struct err *e);

/* Opens a file with code that the recording names and returns its descriptor, which the bundle then
 * owns; negative: it cannot be opened. The bundle checks the build-id later. */
typedef int input_bundle_find_fn(void *ctx, const char *path, const char *build_id);

struct input_bundle_told {
	char path[4096];	   /* of the bundle, "-" for standard output */
	uint64_t bytes;		   /* its size */
	unsigned modules, missing; /* whose names are in the bundle; that stacks go through, and
				      whose are not */
	uint64_t functions;
	int verdict; /* as input_verdict: ERR_DAMAGED when the recording is not whole; it is bundled
			as it is */
	struct buf damage; /* what is wrong with it, a line each; the caller's */
};

/* The recording in the file fd, with the symbols of what its stacks go through, to put. find NULL:
 * opened by path. Which could not be had, and why, is appended to notes, a line each. ERR_DAMAGED:
 * no recording. */
int input_bundle_write(int fd, const char *name, input_bundle_find_fn *find, void *find_ctx,
		       pack_put_fn *put, void *put_ctx, struct input_bundle_told *told,
		       struct buf *notes, struct err *e);

/* The same from file to file: out NULL is the recording's name with .igb for .ige, "-" is standard
 * output. A file that is there is replaced when the new one is whole. owner_uid: whose the file
 * becomes, with owner_gid; 0: ours. */
int input_bundle_file(const char *recording, const char *out, uint32_t owner_uid,
		      uint32_t owner_gid, input_bundle_find_fn *find, void *find_ctx,
		      struct input_bundle_told *told, struct buf *notes, struct err *e);

#endif
