/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables written once: of each value of a row what it is called for people and in JSON, what it
 * measures and where it lies. The table of the terminal and the array of the JSON value come from
 * this one list, in its order; formats/stat.schema.json is held against it
 * (tests/lint/stat_schema.t).
 */
#ifndef INGERO_REPORT_REPORT_COLUMNS_H
#define INGERO_REPORT_REPORT_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/jsonw.h"
#include "lib/base/table.h"
#include "lib/report/style.h"
#include "lib/event/ops.h"
#include "lib/world/world.h"

/* What lies in the row, and how it is written. */
enum column_kind {
	COLUMN_OWN,	 /* .cell and .json know; of .rows, where it has them */
	COLUMN_COUNT,	 /* uint64_t: a count */
	COLUMN_COUNT32,	 /* uint32_t: a count */
	COLUMN_NUMBER32, /* uint32_t: a number that is not known when it is 0: null */
	COLUMN_SIGNED,	 /* int32_t, or what .json says */
	COLUMN_REAL,	 /* double */
	COLUMN_BOOL,
	COLUMN_BYTES,	 /* uint64_t */
	COLUMN_NS,	 /* uint64_t */
	COLUMN_QUANTILE, /* uint64_t: nanoseconds, marked where .of is few (CELL_FEW) */
	COLUMN_BAD,	 /* uint64_t: a count of what should not be: red, a dash when 0 */
	COLUMN_LOST,	 /* uint64_t: nanoseconds the host took: yellow, a dash when 0 */
	COLUMN_HANDLE,	 /* uint64_t */
	COLUMN_STRING,	 /* uint32_t, string of the world; 0: .none, null */
	COLUMN_NAME,	 /* what .name says of the row; NULL: .none, null */
	COLUMN_OP,	 /* const struct op_def *; NULL: .none, null */
	COLUMN_SOURCE,	 /* the same: the source of its events */
	COLUMN_PROCESS,	 /* uint32_t, id of the world; JSON: members pid and node, without .key */
	COLUMN_NODE,	 /* uint32_t, id of the world: the name of the machine; 0: null */
	COLUMN_ESTIMATE, /* struct estimate of what .of counts: JSON, where there is one */
};

/* What the rows come with. */
struct columns_with {
	const struct world *w;
	const struct ops_summary *s;
	unsigned shown; /* of a column with .when: is it in the terminal's table? */
};

struct column {
	const char *key;  /* member in JSON; NULL: none */
	const char *head; /* for people, as in base/table.h; NULL: not in their table */
	enum column_kind kind;
	uint16_t at;	 /* offset in the row */
	uint16_t of;	 /* offset of a uint64_t, where that is 0 people see a dash; 0: none, as no
			    row begins with one */
	uint16_t people; /* offset of what people see instead, behind the mark of struct
			    columns.all; 0: the same as JSON */
	uint16_t most;	 /* of a STRING: cut to so many bytes; 0: as titles are */
	bool maybe;	 /* it may be null (a HANDLE: when it is 0); the schema says so */
	bool events;	 /* not there, and null, where events were not looked at */
	uint8_t when; /* mask: people see it where columns_with.shown has one of these; 0: always */
	uint8_t member;			 /* the same of the member */
	const char *none;		 /* for people; NULL: "-" */
	bool (*absent)(const void *row); /* people see a dash */
	const char *(*name)(const void *row);
	const char *const *names; /* all that .name says, ended by NULL, for the schema */
	/* Instead of what the kind says: one cell; the member's value, its key is written. */
	void (*cell)(struct table *t, const struct columns_with *with, const void *row);
	void (*json)(struct jsonw *j, const struct columns_with *with, const void *row);
	const struct columns *rows; /* what .json writes an array of */
};

struct columns {
	const char *key; /* member of the JSON value, an array */
	size_t size;	 /* of a row */
	const struct column *v;
	size_t n;
	uint16_t all; /* offset of the row's struct estimate; 0: it has none */
};
/* For lists of columns: ROW, defined before and undefined behind them, is whose members they
 * are. */
#define AT(member)  .at = offsetof(struct ROW, member)
#define OF(member)  .of = offsetof(struct ROW, member)
#define ALL(member) AT(member), .people = offsetof(struct ROW, all.member)
#define COLUMNS(name, columns)                                             \
	{                                                                  \
		.key = (name), .size = sizeof(struct ROW), .v = (columns), \
		.n = sizeof(columns) / sizeof((columns)[0])                \
	}
/* Of a row with a member "all", a struct estimate. */
#define COLUMNS_ESTIMATED(name, columns)                                                      \
	{                                                                                     \
		.key = (name), .size = sizeof(struct ROW), .v = (columns),                    \
		.n = sizeof(columns) / sizeof((columns)[0]), .all = offsetof(struct ROW, all) \
	}

/* What shares are of: the wall time looked at. */
double columns_wall_ns(const struct columns_with *with);

#define COLUMNS_HEADS 16 /* people see fewer */

/* The columns people see, without rows; first: above the first column, NULL: its own. NULL: no
 * memory, which the functions below take. */
struct table *columns_table(const struct columns *c, const struct columns_with *with,
			    const char *first);
void columns_cells(struct table *t, const struct columns *c, const struct columns_with *with,
		   const void *row);
/* The table of the first rows (most; 0: all), behind indent spaces; below it, how many more there
 * are. Nothing of no rows. */
void columns_text(struct buf *out, const struct columns *c, const struct columns_with *with,
		  const void *rows, size_t n, size_t most, unsigned indent,
		  const struct report_text_style *st);

/* The member of the value: an array of objects. */
void columns_json(struct jsonw *j, const struct columns *c, const struct columns_with *with,
		  const void *rows, size_t n);
/* The same without its key. */
void columns_array(struct jsonw *j, const struct columns *c, const struct columns_with *with,
		   const void *rows, size_t n);
/* The members of one object. */
void columns_members(struct jsonw *j, const struct columns *c, const struct columns_with *with,
		     const void *row);

/* Of ingero-stat's value. */
extern const struct columns columns_ops, columns_kernels, columns_by, columns_disks, columns_files,
	columns_sockets, columns_memory, columns_sites, columns_graphs, columns_comms;

#endif
