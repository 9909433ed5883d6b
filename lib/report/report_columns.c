/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the rows of a table for people and as JSON. A value that does not exist is a dash for
 * people and null in JSON, never zero. */
#include "lib/report/report_columns.h"

#include <string.h>

#include "lib/base/fmt.h"
#include "lib/report/table_cells.h"
#include "lib/report/view_json_parts.h"
#include "lib/report/view_lines.h"

static const void *place_of(const struct column *c, const void *row)
{
	return (const char *)row + c->at;
}

static uint64_t read_number(const void *row, unsigned offset)
{
	uint64_t x;

	memcpy(&x, (const char *)row + offset, sizeof(x));
	return x;
}

static uint64_t column_number(const struct column *c, const void *row)
{
	return read_number(row, c->at);
}

static uint32_t column_id(const struct column *c, const void *row)
{
	uint32_t x;

	memcpy(&x, place_of(c, row), sizeof(x));
	return x;
}

static const struct op_def *column_op(const struct column *c, const void *row)
{
	const struct op_def *x;

	memcpy(&x, place_of(c, row), sizeof(x));
	return x;
}

/* NULL: it is none of these kinds, or there is none. */
static const char *column_text(const struct column *c, const void *row)
{
	switch (c->kind) {
	case COLUMN_NAME:
		return c->name(row);
	case COLUMN_OP:
		return column_op(c, row) ? column_op(c, row)->name : NULL;
	case COLUMN_SOURCE:
		return column_op(c, row) ? column_op(c, row)->source_name : NULL;
	default:
		return NULL;
	}
}

double columns_wall_ns(const struct columns_with *with)
{
	return (double)(with->s->end_ns - with->s->start_ns);
}

static bool is_shown(const struct column *c, const struct columns_with *with)
{
	return c->head && (!c->when || c->when & with->shown) && !(c->events && with->s->brief);
}

struct table *columns_table(const struct columns *c, const struct columns_with *with,
			    const char *first)
{
	const char *heads[COLUMNS_HEADS + 1] = { 0 };
	unsigned n = 0;

	for (size_t i = 0; i < c->n && n < COLUMNS_HEADS; i++)
		if (is_shown(&c->v[i], with))
			heads[n++] = c->v[i].head;
	if (first)
		heads[0] = first;
	return table_new(heads);
}

static void string_cell(struct table *t, const struct column *c, const struct world *w,
			const void *row)
{
	struct bytes string = world_text(w, column_id(c, row));
	struct buf title = { 0 };

	if (string.n && c->most) {
		table_cell_long(t, string, c->most);
		return;
	}
	if (string.n)
		buf_add(&title, string.p, string.n);
	else
		buf_puts(&title, c->none ? c->none : "-");
	cell_title(t, &title);
	buf_free(&title);
}

static void process_cell(struct table *t, const struct world *w, uint32_t process)
{
	struct buf title = { 0 };

	view_process(&title, w, process);
	cell_title(t, &title);
	buf_free(&title);
}

static void append_cell(struct table *t, const struct columns *all, const struct column *c,
			const struct columns_with *with, const void *row)
{
	const char *about =
		c->people ? estimate_mark((const void *)((const char *)row + all->all)) : "";
	uint64_t x = c->people ? read_number(row, c->people) : column_number(c, row);
	struct fmt_text quantile;

	if (c->cell) {
		c->cell(t, with, row);
		return;
	}
	if ((c->of && read_number(row, c->of) == 0) || (c->absent && c->absent(row))) {
		table_cell(t, "-");
		return;
	}
	switch (c->kind) {
	case COLUMN_COUNT:
		table_cell(t, "%s%s", about, fmt_count(x).s);
		break;
	case COLUMN_BYTES:
		table_cell(t, "%s", fmt_bytes(x).s);
		break;
	case COLUMN_NS:
		table_cell(t, "%s%s", about, fmt_ns(x).s);
		break;
	case COLUMN_QUANTILE:
		table_cell(t, "%s", cell_quantile(&quantile, x, read_number(row, c->of)));
		break;
	case COLUMN_BAD:
		cell_errors_about(t, x, about);
		break;
	case COLUMN_LOST:
		cell_lost_about(t, x, about);
		break;
	case COLUMN_HANDLE:
		table_cell(t, "0x%llx", (unsigned long long)x);
		break;
	case COLUMN_STRING:
		string_cell(t, c, with->w, row);
		break;
	case COLUMN_PROCESS:
		process_cell(t, with->w, column_id(c, row));
		break;
	default:
		table_cell(t, "%s",
			   column_text(c, row) ? column_text(c, row)
			   : c->none	       ? c->none
					       : "-");
	}
}

void columns_cells(struct table *t, const struct columns *c, const struct columns_with *with,
		   const void *row)
{
	for (size_t i = 0; t && i < c->n; i++)
		if (is_shown(&c->v[i], with))
			append_cell(t, c, &c->v[i], with, row);
}

void columns_text(struct buf *out, const struct columns *c, const struct columns_with *with,
		  const void *rows, size_t n, size_t most, unsigned indent,
		  const struct report_text_style *st)
{
	struct table *t = n ? columns_table(c, with, NULL) : NULL;
	size_t shown = most && most < n ? most : n;

	out->failed |= n && !t;
	for (size_t i = 0; i < shown; i++)
		columns_cells(t, c, with, (const char *)rows + i * c->size);
	if (t)
		table_fold(out, t, indent, st->color, st->columns);
	if (n > shown)
		cell_more(out, n - shown, st->columns);
	table_free(t);
}

static void append_value(struct jsonw *j, const struct column *c, const struct columns_with *with,
			 const void *row)
{
	double real;
	int32_t code;

	switch (c->kind) {
	case COLUMN_COUNT:
	case COLUMN_BYTES:
	case COLUMN_NS:
	case COLUMN_QUANTILE:
	case COLUMN_BAD:
	case COLUMN_LOST:
		jsonw_u64(j, column_number(c, row));
		break;
	case COLUMN_NUMBER32:
		if (column_id(c, row) == 0) {
			jsonw_null(j);
			break;
		}
		/* fallthrough */
	case COLUMN_COUNT32:
		jsonw_u64(j, column_id(c, row));
		break;
	case COLUMN_SIGNED:
		memcpy(&code, place_of(c, row), sizeof(code));
		jsonw_i64(j, code);
		break;
	case COLUMN_REAL:
		memcpy(&real, place_of(c, row), sizeof(real));
		jsonw_double(j, real);
		break;
	case COLUMN_BOOL:
		jsonw_bool(j, *(const bool *)place_of(c, row));
		break;
	case COLUMN_HANDLE:
		if (c->maybe && column_number(c, row) == 0)
			jsonw_null(j);
		else
			jsonw_hex(j, column_number(c, row));
		break;
	case COLUMN_STRING:
		if (column_id(c, row))
			jsonw_bytes(j, world_text(with->w, column_id(c, row)));
		else
			jsonw_null(j);
		break;
	default:
		jsonw_str(j, column_text(c, row));
	}
}

static void append_member(struct jsonw *j, const struct column *c, const struct columns_with *with,
			  const void *row)
{
	const struct world_node *n;

	if (c->kind == COLUMN_PROCESS) {
		view_json_process(j, with->w, column_id(c, row));
		return;
	}
	if (c->kind == COLUMN_NODE) {
		n = world_get_node(with->w, column_id(c, row));
		view_json_text(j, with->w, c->key, n ? n->name : 0);
		return;
	}
	if (c->kind == COLUMN_ESTIMATE) {
		view_json_estimate(j, read_number(row, c->of), place_of(c, row));
		return;
	}
	jsonw_key(j, c->key);
	if (c->events && with->s->brief)
		jsonw_null(j);
	else if (c->json)
		c->json(j, with, row);
	else
		append_value(j, c, with, row);
}

void columns_members(struct jsonw *j, const struct columns *c, const struct columns_with *with,
		     const void *row)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct column *x = &c->v[i];

		if ((x->key || x->kind == COLUMN_PROCESS || x->kind == COLUMN_ESTIMATE) &&
		    (!x->member || x->member & with->shown))
			append_member(j, x, with, row);
	}
}

void columns_json(struct jsonw *j, const struct columns *c, const struct columns_with *with,
		  const void *rows, size_t n)
{
	jsonw_key(j, c->key);
	columns_array(j, c, with, rows, n);
}

void columns_array(struct jsonw *j, const struct columns *c, const struct columns_with *with,
		   const void *rows, size_t n)
{
	jsonw_array_begin(j);
	for (size_t i = 0; i < n; i++) {
		jsonw_object_begin(j);
		columns_members(j, c, with, (const char *)rows + i * c->size);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}
