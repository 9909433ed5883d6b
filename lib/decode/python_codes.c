/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assembles Python code objects from their records. A record with the first part of a line table is
 * followed by the rest before any stack has the number, so a table is complete when it is first
 * used; one with a lost part is never used.
 */
#include "lib/decode/python_codes.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/base/utf8.h"
#include "lib/base/vec.h"
#include "lib/symbols/lines.h"

#define INDEX	      ((1ull << 40) - 1)
#define AT_FIRST_LINE (1u << 28) /* the walker's word for a frame that has not begun */

struct code {
	uint32_t file, name, first_line; /* strings of the world */
	uint32_t bytes, have;		 /* of the line table; have < bytes: more is to come */
	uint8_t minor;
	unsigned char *lines;
};

struct python_codes {
	struct world *world;
	VEC(struct code) v;
	struct map by_number;  /* -> tgid << 40 | index */
	struct map by_content; /* hash -> index, complete ones only */
};

int python_codes_new(struct python_codes **out, struct world *w, struct err *e)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return err_nomem(e);
	(*out)->world = w;
	return 0;
}

void python_codes_free(struct python_codes *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->v.n; i++)
		free(c->v.v[i].lines);
	vec_free(&c->v);
	map_free(&c->by_number);
	map_free(&c->by_content);
	free(c);
}

static void put_char(struct buf *b, uint32_t c)
{
	if (c >= 0xdc80 && c <= 0xdcff)
		buf_putc(b, (char)(c - 0xdc00)); /* a byte of a file name that is no text */
	else
		utf8_put(b, c);
}

/* "?" for what could not be read; of a file the front was cut, of a name the end. */
static uint32_t text_of(struct python_codes *c, const char *p, size_t n, unsigned width, bool file)
{
	bool cut = width & WIRE_TEXT_CUT;
	struct buf b = { 0 };
	uint32_t id;

	width &= 7;
	if (cut && file)
		buf_puts(&b, "...");
	for (size_t i = 0; width && i + width <= n; i += width) {
		uint32_t v = 0;

		memcpy(&v, p + i, width); /* both machines we trace on are little-endian */
		put_char(&b, v);
	}
	if (!width)
		buf_puts(&b, "?");
	if (cut && !file)
		buf_puts(&b, "...");
	id = world_string(c->world, buf_bytes(&b));
	buf_free(&b);
	return id;
}

static bool is_same_code(const struct code *a, const struct code *b)
{
	return a->file == b->file && a->name == b->name && a->first_line == b->first_line &&
	       a->bytes == b->bytes && a->minor == b->minor &&
	       (a->bytes == 0 || memcmp(a->lines, b->lines, a->bytes) == 0);
}

static uint64_t hash_content(const struct code *c)
{
	uint64_t h = hash_u64((uint64_t)c->file << 32 | c->name) ^ c->first_line;

	return hash_bytes(c->lines ? (const void *)c->lines : "", c->bytes, h);
}

/* Code i is complete: enters it, or an equal code that is known already, under its number. */
static void complete_code(struct python_codes *c, uint32_t number, uint64_t tgid, size_t i)
{
	uint64_t hash = hash_content(&c->v.v[i]), known;

	if (map_get(&c->by_content, hash, &known) && is_same_code(&c->v.v[known], &c->v.v[i])) {
		if (i == c->v.n - 1) {
			free(c->v.v[i].lines);
			c->v.n--;
		}
		i = (size_t)known;
	} else {
		map_put(&c->by_content, hash, i);
	}
	map_put(&c->by_number, number, tgid << 40 | i);
}

bool python_codes_take(struct python_codes *c, const struct wire_code *r, size_t n)
{
	struct code v = { 0 };
	size_t here;

	if (n < WIRE_CODE_HEAD || r->file_bytes > WIRE_FILE_MAX || r->name_bytes > WIRE_NAME_MAX ||
	    r->lines_bytes > WIRE_CODE_LINES_MAX || (r->file_width & 0x7f) > 4 ||
	    (r->name_width & 0x7f) > 4)
		return false;
	here = r->lines_bytes < WIRE_LINES_MAX ? r->lines_bytes : WIRE_LINES_MAX;
	if (n < WIRE_CODE_HEAD + here)
		return false;
	v.first_line = r->first_line;
	v.bytes = r->lines_bytes;
	v.minor = r->minor;
	v.file = text_of(c, r->file, r->file_bytes, r->file_width, true);
	v.name = text_of(c, r->name, r->name_bytes, r->name_width, false);
	v.lines = malloc(v.bytes ? v.bytes : 1);
	if (!v.lines)
		return true;
	memcpy(v.lines, r->lines, here);
	v.have = (uint32_t)here;
	if (!vec_push(&c->v, v)) {
		free(v.lines);
		return true;
	}
	if (v.have == v.bytes)
		complete_code(c, r->id, r->tgid, c->v.n - 1);
	else
		map_put(&c->by_number, r->id, (uint64_t)r->tgid << 40 | (c->v.n - 1));
	return true;
}

bool python_codes_more(struct python_codes *c, const struct wire_lines *r, size_t n)
{
	struct code *v;
	uint64_t known;

	if (n < WIRE_LINES_HEAD || r->n > WIRE_LINES_MAX || n < WIRE_LINES_HEAD + r->n ||
	    !map_get(&c->by_number, r->id, &known))
		return false;
	v = &c->v.v[known & INDEX];
	if (r->offset != v->have || r->n > v->bytes - v->have)
		return false;
	memcpy(v->lines + v->have, r->data, r->n);
	v->have += r->n;
	if (v->have == v->bytes)
		complete_code(c, r->id, known >> 40, known & INDEX);
	return true;
}

uint32_t python_codes_frame(struct python_codes *c, const struct wire_python_frame *f, bool *entry)
{
	const struct code *v;
	uint32_t line;
	uint64_t known;

	*entry = f->at & 1;
	if (!map_get(&c->by_number, f->code, &known))
		return 0;
	v = &c->v.v[known & INDEX];
	line = f->at >> 1 == AT_FIRST_LINE
		       ? v->first_line
		       : sym_lines_find(v->minor, v->first_line, v->lines, v->have, f->at >> 1);
	return world_frame(c->world, &(struct world_frame){ .kind = FRAME_PYTHON,
							    .offset = line,
							    .name = v->name,
							    .file = v->file });
}

static bool has_live_process(void *ctx, uint64_t number, uint64_t known)
{
	const struct gone_processes *const *gone = ctx;

	(void)number;
	return !map_get(&(*gone)->numbers, known >> 40, NULL);
}

void python_codes_gone(struct python_codes *c, const struct gone_processes *gone)
{
	map_prune(&c->by_number, has_live_process, &gone);
}

size_t python_codes_count(const struct python_codes *c)
{
	return c->v.n;
}
