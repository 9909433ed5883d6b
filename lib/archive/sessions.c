/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the sessions table: when each recorder began and ended. A recorder that was killed has no
 * end record: it ended before the next one on its machine began, where fewer ended than began.
 * Recorders that ran side by side all have one.
 */
#include <stdlib.h>

#include "lib/archive/archive_internal.h"

int archive_sessions_add(struct archive_writer *a, const struct record *r, struct err *e)
{
	const struct rec_SESSION *s = &r->u.SESSION;
	const struct rec_CLOCK *c = &r->u.CLOCK;
	uint64_t at = 0;

	if (r->kind == RECORD_SESSION) {
		map_get(&a->session_of, s->node, &at);
		return vec_push(&a->sessions, (struct archive_session){ .row = (int64_t)a->records,
									.node = s->node,
									.before = (uint32_t)at,
									.start_ns = s->start_ns,
									.end_ns = s->start_ns }) &&
				       map_put(&a->session_of, s->node, a->sessions.n)
			       ? 0
			       : err_nomem(e);
	}
	if (r->kind != RECORD_CLOCK || !REC_HAS(r, CLOCK, mono_ns))
		return 0;
	/* The newest that had begun ran still. */
	for (map_get(&a->session_of, c->node, &at); at; at = a->sessions.v[at - 1].before) {
		struct archive_session *of = &a->sessions.v[at - 1];

		if (of->start_ns > c->mono_ns)
			continue;
		of->end_ns = c->mono_ns > of->end_ns ? c->mono_ns : of->end_ns;
		break;
	}
	if (!bytes_equal(c->source, bytes_of("end")))
		return 0;
	return vec_push(&a->ends, (struct archive_end){ .node = c->node, .ns = c->mono_ns })
		       ? 0
		       : err_nomem(e);
}

static int by_start(const void *p, const void *q)
{
	const struct archive_session *a = p, *b = q;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int by_row(const void *p, const void *q)
{
	const struct archive_session *a = p, *b = q;

	return (a->row > b->row) - (a->row < b->row);
}

static int by_end(const void *p, const void *q)
{
	const struct archive_end *a = p, *b = q;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return (a->ns > b->ns) - (a->ns < b->ns);
}

/* Those of one machine, and when it says that they ended. */
static void end_machine(struct archive_writer *a, struct archive_session *s, size_t n,
			const struct archive_end *ends, size_t nends)
{
	size_t began = 0, at = 0;

	for (size_t i = 0; i < n; i++)
		began += i == 0 || s[i].start_ns != s[i - 1].start_ns;
	for (size_t i = 0, next; i < n; i = next) {
		int64_t end_ns = s[i].end_ns;
		bool last;

		for (next = i + 1; next < n && s[next].start_ns == s[i].start_ns; next++)
			end_ns = s[next].end_ns > end_ns ? s[next].end_ns : end_ns;
		last = next == n || nends >= began;
		while (at < nends && ends[at].ns < s[i].start_ns)
			at++;
		if (at < nends && (last || ends[at].ns < s[next].start_ns))
			end_ns = ends[at].ns;
		else if (last)
			end_ns = a->last_ns;
		for (size_t k = i; k < next; k++)
			s[k].end_ns = end_ns;
	}
}

static void end_of(sqlite3_context *to, int n, sqlite3_value **row)
{
	const struct archive_writer *a = sqlite3_user_data(to);
	const struct archive_session key = { .row = sqlite3_value_int64(row[0]) },
				     *found = a->sessions.n
						      ? bsearch(&key, a->sessions.v, a->sessions.n,
								sizeof(key), by_row)
						      : NULL;

	(void)n;
	if (found)
		sqlite3_result_int64(to, found->end_ns);
}

int archive_sessions_end(struct archive_writer *a, struct err *e)
{
	struct archive_session *s = a->sessions.v;
	size_t n = a->sessions.n, at = 0, next;

	for (size_t i = 0; i < n; i++)
		s[i].node = s[i].node ? s[i].node : a->node;
	for (size_t i = 0; i < a->ends.n; i++)
		a->ends.v[i].node = a->ends.v[i].node ? a->ends.v[i].node : a->node;
	if (n)
		qsort(s, n, sizeof(*s), by_start);
	if (a->ends.n)
		qsort(a->ends.v, a->ends.n, sizeof(a->ends.v[0]), by_end);
	for (size_t i = 0; i < n; i = next) {
		size_t from;

		for (next = i + 1; next < n && s[next].node == s[i].node; next++)
			;
		while (at < a->ends.n && a->ends.v[at].node < s[i].node)
			at++;
		for (from = at; at < a->ends.n && a->ends.v[at].node == s[i].node; at++)
			;
		end_machine(a, &s[i], next - i, a->ends.v + from, at - from);
	}
	if (n)
		qsort(s, n, sizeof(*s), by_row);
	return sqlite3_create_function_v2(a->db, "ingero_session_end", 1, SQLITE_UTF8, a, end_of,
					  NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : archive_failed(a, e);
}

void archive_sessions_free(struct archive_writer *a)
{
	map_free(&a->session_of);
	vec_free(&a->sessions);
	vec_free(&a->ends);
}
