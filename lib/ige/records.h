/* SPDX-License-Identifier: Apache-2.0 */
/* RECORDS blocks: one kind per block; a column's id is kind << 8 | field number. */
#ifndef INGERO_IGE_RECORDS_H
#define INGERO_IGE_RECORDS_H

#include "lib/base/arena.h"
#include "lib/ige/dict_reader.h"
#include "lib/ige/dict_writer.h"

/* Seal n records of one kind into a block appended to out. dict NULL: references to subjects are
 * refused (a filter mints no ids). h's type, n, ncol, length and CRITICAL flag are set here. */
int ige_records_seal(const struct record *r, size_t n, struct ige_dict_writer *dict,
		     struct ige_builder *b, struct ige_header *h, struct buf *out, struct err *e);

/* How many of r[0..n) go into one block: of one kind, and well below the block limit. */
size_t ige_records_fit(const struct record *r, size_t n);
/* Upper bound of what one record takes in a block. */
size_t ige_record_bytes(const struct record *r);
#define IGE_RECORD_BYTES_MAX (2u << 20) /* larger ones are refused */

/* Decode a RECORDS block. Texts are borrowed from texts. Fields this program does not know are
 * passed by. ERR_TOO_NEW: an unknown kind or field that is critical. ERR_CANNOT: an unknown kind
 * otherwise; it gives no records. */
struct ige_record_list {
	VEC(struct record) list;
	struct arena texts;
	VEC(uint64_t) values;
};
void ige_record_list_free(struct ige_record_list *l);
int ige_records_decode(struct ige_record_list *l, const struct ige_view *v,
		       struct ige_dict_reader *dict, bool *partial, struct err *e);

/* Kind of a RECORDS block from its first column; 0 when it has none. */
uint16_t ige_records_kind(const struct ige_view *v);

#endif
