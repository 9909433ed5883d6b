/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints: what a thread did over a short stretch long ago, as sums by kind of segment. Sums of
 * the stretch stay exact; a part of it is cut out in proportion, so that the parts of any cuts
 * still sum to it.
 */
#ifndef INGERO_PATH_MIXES_H
#define INGERO_PATH_MIXES_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/vec.h"
#include "lib/path/segment_log.h"

struct mix_part {
	uint64_t ns;
	uint32_t key; /* segment_keys.h */
};

struct mix {
	VEC(struct mix_part) parts;
	uint32_t next_free;
};

/* Zero-initialised is empty. */
struct mixes {
	VEC(struct mix) v;	/* number 1 is v[0] */
	VEC(uint16_t) position; /* by key: scratch */
	uint32_t free;		/* number of the first that is not in use; 0: none */
	size_t parts;		/* held in all */
};

void mixes_free(struct mixes *m);

/* Folds what of the log ended by until_ns: segments that end in one cell of cell_ns, and are
 * shorter than that, become one. False: out of memory, and the log is as it was but for cells
 * that were folded. */
bool mixes_fold(struct mixes *m, struct segment_log *log, int64_t until_ns, int64_t cell_ns);

/* Gives back what a log holds here. */
void mixes_release(struct mixes *m, const struct segment_log *log);

/* Calls each for every part of [from, to) of the mix of this number, which is [start, end). */
typedef void mixes_each_fn(void *ctx, int64_t from_ns, int64_t to_ns, uint32_t key);
void mixes_cut(const struct mixes *m, uint32_t number, int64_t start_ns, int64_t end_ns,
	       int64_t from_ns, int64_t to_ns, mixes_each_fn *each, void *ctx);

#endif
