/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of uncovered intervals of each process: UNCOVERED records, and what COVERAGE records of
 * recordings without those say. Rows of one process are linked, newest first, so that a question
 * costs as much as the process has rows.
 */
#include "lib/event/uncovered.h"

#include <string.h>

#include "lib/base/fmt.h"

#define ROWS_MAX 65536 /* libraries of processes; of more it is not known */

static void copy_tail(char *to, size_t size, struct bytes from)
{
	size_t n = from.n < size ? from.n : size - 1;

	if (n)
		memcpy(to, from.p + from.n - n, n);
	to[n] = '\0';
}

static void copy_head(char *to, size_t size, struct bytes from)
{
	size_t n = from.n < size ? from.n : size - 1;

	if (n)
		memcpy(to, from.p, n);
	to[n] = '\0';
}

static uint32_t newest_of(const struct uncovered *u, uint32_t process)
{
	uint64_t at = 0;

	map_get(&u->newest, process, &at);
	return (uint32_t)at;
}

/* Files of one recording repeat what holds in all of them. */
static bool has_row(const struct uncovered *u, const struct uncovered_row *row, bool any_time)
{
	for (uint32_t i = newest_of(u, row->process); i; i = u->v.v[i - 1].before) {
		const struct uncovered_row *v = &u->v.v[i - 1];

		if (strcmp(v->path, row->path) == 0 && strcmp(v->layer, row->layer) == 0 &&
		    (any_time || v->since_ns == row->since_ns))
			return true;
	}
	return false;
}

static bool add_row(struct uncovered *u, struct uncovered_row *row)
{
	if (u->v.n >= ROWS_MAX)
		return true;
	row->before = newest_of(u, row->process);
	return vec_push(&u->v, *row) && map_put(&u->newest, row->process, u->v.n);
}

static bool add_uncovered(struct uncovered *u, const struct record *r)
{
	const struct rec_UNCOVERED *c = &r->u.UNCOVERED;
	struct uncovered_row row = { .process = c->process,
				     .since_ns = c->since_ns,
				     .until_ns = UNCOVERED_END,
				     .from_start = c->from_start };

	if (REC_HAS(r, UNCOVERED, until_ns))
		row.until_ns = c->until_ns;
	if (row.until_ns != UNCOVERED_END && row.until_ns > row.since_ns)
		row.ns = (uint64_t)row.until_ns - (uint64_t)row.since_ns;
	copy_head(row.layer, sizeof(row.layer), c->layer);
	copy_tail(row.path, sizeof(row.path), c->path);
	copy_head(row.reason, sizeof(row.reason), c->reason);
	return has_row(u, &row, false) || add_row(u, &row);
}

/* What recorders before UNCOVERED said of it, at the end of a recording. */
static bool add_coverage(struct uncovered *u, const struct record *r)
{
	const struct rec_COVERAGE *c = &r->u.COVERAGE;
	struct uncovered_row row = { .process = c->process,
				     .since_ns = INT64_MIN,
				     .until_ns = INT64_MIN,
				     .ns = c->gap_ns,
				     .from_start = true };
	bool none = c->requested && c->attached == 0;

	if (!REC_HAS(r, COVERAGE, process) || !REC_HAS(r, COVERAGE, gap_ns) ||
	    (!none && c->gap_ns == 0))
		return true;
	if (none) {
		row.since_ns = c->time_ns;
		row.until_ns = UNCOVERED_END;
		row.ns = 0;
	}
	copy_head(row.layer, sizeof(row.layer), c->layer);
	copy_tail(row.path, sizeof(row.path), c->path);
	if (none)
		copy_head(row.reason, sizeof(row.reason), c->reason);
	else
		copy_head(row.reason, sizeof(row.reason),
			  bytes_of("it was loaded before the probes were in place"));
	return has_row(u, &row, true) || add_row(u, &row);
}

bool uncovered_record(struct uncovered *u, const struct record *r)
{
	if (r->kind == RECORD_UNCOVERED)
		return add_uncovered(u, r);
	return r->kind != RECORD_COVERAGE || add_coverage(u, r);
}

void uncovered_free(struct uncovered *u)
{
	vec_free(&u->v);
	map_free(&u->newest);
}

bool uncovered_within(const struct uncovered *u, uint32_t process, int64_t from_ns, int64_t to_ns)
{
	if (u->v.n == 0)
		return false;
	for (uint32_t i = newest_of(u, process); i; i = u->v.v[i - 1].before) {
		const struct uncovered_row *v = &u->v.v[i - 1];

		if (v->since_ns <= to_ns && v->until_ns >= from_ns)
			return true;
	}
	return false;
}

void uncovered_text(struct buf *out, const struct uncovered_row *row, uint32_t pid,
		    struct bytes comm)
{
	const char *file = strrchr(row->path, '/');
	const char *reason = row->reason;

	if (row->ns)
		buf_printf(out, "calls of %s%s of process %u", row->from_start ? "the first " : "",
			   fmt_ns(row->ns).s, pid);
	else
		buf_printf(out, "calls of process %u", pid);
	if (comm.n) {
		buf_puts(out, " (");
		fmt_safe(out, comm);
		buf_putc(out, ')');
	}
	if (!row->layer[0]) {
		buf_puts(out, " were not recorded, if it made any");
	} else {
		buf_puts(out, " were not recorded: its ");
		fmt_safe(out, bytes_of(file ? file + 1 : row->path));
		/* "it was loaded …": of the library, which stands here. */
		if (strncmp(reason, "it ", 3) == 0) {
			buf_puts(out, reason + 2);
			return;
		}
	}
	if (*reason) {
		buf_puts(out, ": ");
		fmt_safe(out, bytes_of(reason));
	}
}

void uncovered_json(struct jsonw *j, const struct uncovered_row *row, int64_t start_ns)
{
	jsonw_key_str(j, "layer", row->layer[0] ? row->layer : NULL);
	jsonw_key_str(j, "path", row->path[0] ? row->path : NULL);
	jsonw_key_bool(j, "from_start", row->from_start);
	jsonw_key(j, "since_ns");
	if (row->since_ns == INT64_MIN)
		jsonw_null(j);
	else
		jsonw_i64(j, row->since_ns - start_ns);
	jsonw_key(j, "ns");
	if (row->ns)
		jsonw_u64(j, row->ns);
	else
		jsonw_null(j);
	jsonw_key_str(j, "reason", row->reason);
}
