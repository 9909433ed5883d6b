/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in vocabulary, unfolded from formats/ops.def. A number leads to its row by a switch the
 * compiler makes, so that the text may keep the order that reads best.
 */
#include "lib/event/op.h"

#include <stddef.h>

/* COLUMNS(A, B) -> { COL_A, COL_B }, and how many: up to OP_COLUMNS_MAX names. */
#define COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, count, ...) count
#define COUNT(...)                                                                                 \
	COUNT_(__VA_OPT__(__VA_ARGS__, ) 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, \
	       0)
#define EACH_0()
#define EACH_1(a)	COL_##a
#define EACH_2(a, ...)	COL_##a, EACH_1(__VA_ARGS__)
#define EACH_3(a, ...)	COL_##a, EACH_2(__VA_ARGS__)
#define EACH_4(a, ...)	COL_##a, EACH_3(__VA_ARGS__)
#define EACH_5(a, ...)	COL_##a, EACH_4(__VA_ARGS__)
#define EACH_6(a, ...)	COL_##a, EACH_5(__VA_ARGS__)
#define EACH_7(a, ...)	COL_##a, EACH_6(__VA_ARGS__)
#define EACH_8(a, ...)	COL_##a, EACH_7(__VA_ARGS__)
#define EACH_9(a, ...)	COL_##a, EACH_8(__VA_ARGS__)
#define EACH_10(a, ...) COL_##a, EACH_9(__VA_ARGS__)
#define EACH_11(a, ...) COL_##a, EACH_10(__VA_ARGS__)
#define EACH_12(a, ...) COL_##a, EACH_11(__VA_ARGS__)
#define EACH_13(a, ...) COL_##a, EACH_12(__VA_ARGS__)
#define EACH_14(a, ...) COL_##a, EACH_13(__VA_ARGS__)
#define EACH_15(a, ...) COL_##a, EACH_14(__VA_ARGS__)
#define EACH_16(a, ...) COL_##a, EACH_15(__VA_ARGS__)
#define PASTE_(a, b)	a##b
#define PASTE(a, b)	PASTE_(a, b)
#define COLUMNS(...) \
	.ncols = COUNT(__VA_ARGS__), .cols = { PASTE(EACH_, COUNT(__VA_ARGS__))(__VA_ARGS__) }

#define SOURCE(number, id, name, layer) [number] = { name, layer },
static const struct {
	const char *name, *layer;
} sources[256] = {
#include "formats/ops.def"
};

#define SOURCE(number, id, name, layer) static const char source_name_##id[] = name;
#include "formats/ops.def"

static const struct op_def ops[] = {
#define OP(src, number, id_, name_, track_, flags_, columns) \
	{ .id = OP_##id_,                                    \
	  .source = SOURCE_##src,                            \
	  .name = name_,                                     \
	  .source_name = source_name_##src,                  \
	  .track = track_,                                   \
	  .flags = flags_,                                   \
	  columns },
#include "formats/ops.def"
};

static const struct column_def columns[] = {
#define COLUMN(number, id_, name_, role_, unit_) { number, name_, role_, unit_ },
#include "formats/ops.def"
};

/* Where a column stands in columns: index + 1, 0 none. Asked for every number there may be, by each
 * segment. */
enum {
#define COLUMN(number, id_, name_, role_, unit_) COLUMN_AT_##id_,
#include "formats/ops.def"
};

static const uint16_t column_at[] = {
#define COLUMN(number, id_, name_, role_, unit_) [number] = COLUMN_AT_##id_ + 1,
#include "formats/ops.def"
};

#define OPS_N	  (sizeof(ops) / sizeof(ops[0]))
#define COLUMNS_N (sizeof(columns) / sizeof(columns[0]))

enum op_index {
#define OP(src, number, id_, name_, track_, flags_, columns) OP_INDEX_##id_,
#include "formats/ops.def"
};

const struct op_def *op_builtin(uint16_t id)
{
	switch (id) {
#define OP(src, number, id_, name_, track_, flags_, columns) \
	case OP_##id_:                                       \
		return &ops[OP_INDEX_##id_];
#include "formats/ops.def"
	default:
		return NULL;
	}
}

const struct column_def *column_builtin(uint16_t id)
{
	unsigned at = id < sizeof(column_at) / sizeof(column_at[0]) ? column_at[id] : 0;

	return at ? &columns[at - 1] : NULL;
}

const struct op_def *op_builtin_all(unsigned *n)
{
	*n = OPS_N;
	return ops;
}

const char *source_name(uint8_t source)
{
	return sources[source].name;
}

const char *source_layer(uint8_t source)
{
	return sources[source].layer;
}
