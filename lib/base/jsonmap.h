/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A struct as a JSON object, by a table of its members: the same table writes it and reads it back,
 * so that the two cannot disagree. Members are written in the order of the table.
 */
#ifndef INGERO_BASE_JSONMAP_H
#define INGERO_BASE_JSONMAP_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/bytes.h"
#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/base/list.h"

/* What the member of the struct is, and when it has no value. */
enum jsonmap_type {
	JSONMAP_TEXT,	 /* struct bytes; p is NULL */
	JSONMAP_U32,	 /* 0 */
	JSONMAP_U64,	 /* 0 */
	JSONMAP_I64,	 /* 0 */
	JSONMAP_I64TEXT, /* int64_t, in JSON a text: it may be more than a number holds there; 0 */
	JSONMAP_DOUBLE,	 /* below 0 */
	JSONMAP_BOOL,	 /* false */
	JSONMAP_OBJECT,	 /* a struct; never */
	JSONMAP_OBJECTS, /* LIST of a struct; v is NULL */
	JSONMAP_TEXTS,	 /* struct jsonmap_texts; v is NULL */
	JSONMAP_NUMBERS, /* struct jsonmap_numbers; v is NULL */
	JSONMAP_NAMED	 /* struct jsonmap_names, in JSON an object; never */
};

/* LISTs (base/list.h) of what is no object. */
struct jsonmap_texts {
	struct bytes *v;
	size_t n;
};

struct jsonmap_numbers {
	uint32_t *v;
	size_t n;
};

struct jsonmap_named {
	struct bytes name;
	uint64_t value;
};

struct jsonmap_names {
	struct jsonmap_named *v;
	size_t n;
};

/* What is written for a member that has no value. */
enum jsonmap_absent {
	JSONMAP_AS_IS,	 /* the value that stands for none; null for a text, [] for a list */
	JSONMAP_NULL,	 /* null */
	JSONMAP_LEFT_OUT /* nothing */
};

struct jsonmap_member {
	const char *key;
	enum jsonmap_type type;
	enum jsonmap_absent absent;
	uint16_t offset; /* of the member in the struct */
	/* Offset of the bool that says whether there is a value, plus 1; 0: the value itself shows
	 * it. */
	uint16_t flag;
	const struct jsonmap *of; /* of objects */
};

struct jsonmap {
	const char *schema; /* value of a member "schema" that comes first; NULL: none */
	const struct jsonmap_member *members;
	unsigned n;
	size_t size; /* of the struct */
};

/* One value. */
void jsonmap_write(const struct jsonmap *map, const void *from, struct jsonw *j);

/*
 * Reads an object, of text that json_check found good, into a zeroed struct. What it allocates is
 * in memory; texts without escapes are parts of text. Members that the table does not know are
 * ignored, null is no value. ERR_DAMAGED: a member has not its type, the first such one is named;
 * all others were read. ERR_NOMEM: nothing is whole.
 */
int jsonmap_read(const struct jsonmap *map, struct bytes text, void *to, struct arena *memory,
		 struct err *e);

#endif
