/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EVENTS blocks as arrays of the columns that the caller wants, in ids of the file: no event is put
 * together. Of a column that is not wanted only the checksum is checked: where it is wrong, the
 * block may have been cut short, and the next one must be searched inside it. Columns are checked
 * as the decoder of events checks them: both refuse the same blocks.
 */
#ifndef INGERO_IGE_COLUMNS_H
#define INGERO_IGE_COLUMNS_H

#include "lib/ige/dict_reader.h"
#include "lib/ige/reader.h"

#define IGE_WANT(id) (1u << (id))
#define IGE_WANT_OWN                                                                      \
	(IGE_WANT(IGE_END) | IGE_WANT(IGE_DUR) | IGE_WANT(IGE_CTX) | IGE_WANT(IGE_SITE) | \
	 IGE_WANT(IGE_DEPTH))
/* …and no stacks: sites and records have none then, and frames, stacks and symbols are neither kept
 * nor checked. */
#define IGE_WANT_NO_STACKS (1u << 31)
/* Sparse columns are looked at by the caller. */
#define IGE_WANT_SPARSE (1u << 30)
#define IGE_WANT_EVENTS /* what events are put together from */ \
	(IGE_WANT_OWN | IGE_WANT(IGE_ORDER) | IGE_WANT_SPARSE)

/* One block. Rows of a grouped block stand as they are stored. */
struct ige_arrays {
	struct ige_header header;
	uint32_t n;
	bool damaged; /* a column that was not wanted is; the others stand. The reason is in e */
	uint32_t dropped; /* rows whose site was never defined: no events. Known when sites are
			     wanted */
	/* By enum ige_column, n values each. NULL: not wanted, or (depth and order only) not there.
	 * Ends are relative to header.end_min. A site is an index into dict->sites; where that has
	 * op 0, the row is a dropped one. */
	const uint64_t *column[IGE_ORDER + 1];
};

struct ige_arrays_decoder {
	VEC(uint64_t) values[IGE_ORDER + 1];
};
void ige_arrays_decoder_free(struct ige_arrays_decoder *d);

/* Errors as of ige_decode_events. wanted: IGE_WANT(id), or-ed. */
int ige_arrays_decode(struct ige_arrays_decoder *d, struct ige_arrays *a,
		      struct ige_dict_reader *dict, const struct ige_view *v, uint32_t wanted,
		      struct err *e);

/* From here on ige_reader_block() gives arrays instead of events; ige_reader_items() still gives
 * all else. */
void ige_reader_want(struct ige_reader *r, uint32_t wanted);
/* Of the EVENTS block just returned; NULL: another type, or a block that could not be used. Until
 * the next call. */
const struct ige_arrays *ige_reader_arrays(const struct ige_reader *r);
/* Definitions of the segment the reader stands in. */
struct ige_dict_reader *ige_reader_dict(struct ige_reader *r);

#endif
