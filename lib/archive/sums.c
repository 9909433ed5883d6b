/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes event_aggregates: sums per minute, op and process. Sums are kept per minute of the event's
 * end, too, until it is known which minutes are left out.
 */
#include "lib/archive/archive_internal.h"
#include "lib/base/hash.h"

static struct archive_sum *find_sum(struct archive_writer *a, int64_t end_minute, int64_t minute,
				    struct archive_code code, uint32_t pid, struct err *e)
{
	uint64_t key = hash_u64((uint64_t)minute << 32 | pid) ^
		       ((uint64_t)code.source << 16 | (uint64_t)code.op) ^
		       hash_u64((uint64_t)end_minute),
		 at;

	for (;; key = hash_u64(key + 1)) {
		struct archive_sum *s;

		if (!map_get(&a->sum_by, key, &at))
			break;
		s = &a->sums.v[at];
		if (s->end_minute == end_minute && s->minute == minute && s->pid == pid &&
		    s->code.source == code.source && s->code.op == code.op)
			return s;
	}
	at = a->sums.n;
	if (!vec_push(&a->sums, (struct archive_sum){ .end_minute = end_minute,
						      .minute = minute,
						      .code = code,
						      .pid = pid,
						      .min = UINT64_MAX }) ||
	    !map_put(&a->sum_by, key, at)) {
		err_nomem(e);
		return NULL;
	}
	return &a->sums.v[at];
}

int archive_sums_add(struct archive_writer *a, int64_t utc_ns, int64_t end_utc_ns,
		     struct archive_code code, uint32_t pid, uint64_t dur_ns, uint64_t arg0,
		     struct err *e)
{
	struct archive_sum *s =
		find_sum(a, end_utc_ns / MINUTE_NS, utc_ns / MINUTE_NS, code, pid, e);

	if (!s)
		return ERR_NOMEM;
	s->count++;
	s->stored++;
	s->dur += dur_ns;
	s->arg0 += arg0;
	s->min = dur_ns < s->min ? dur_ns : s->min;
	s->max = dur_ns > s->max ? dur_ns : s->max;
	return 0;
}

/* Adds calls that were left out; their process is unknown: pid 0. */
int archive_sums_left_out(struct archive_writer *a, const struct record *r, struct err *e)
{
	struct event ev = { .op = (uint16_t)r->u.SAMPLED.op };
	const struct op_def *def = world_op(a->w, ev.op);
	int64_t minute = archive_utc(a, r->u.SAMPLED.since_ns) / MINUTE_NS;
	struct archive_sum *s;

	if (!def || !r->u.SAMPLED.left_out)
		return 0;
	s = find_sum(a, minute, minute, archive_code_of(&ev, def), 0, e);
	if (!s)
		return ERR_NOMEM;
	s->count += r->u.SAMPLED.left_out;
	return 0;
}

int archive_sums_write(struct archive_writer *a, struct err *e)
{
	sqlite3_stmt *s = NULL;
	int rc = archive_prepare(
		a, &s,
		"INSERT INTO event_aggregates VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE "
		"SET"
		" count = count + excluded.count, stored = stored + excluded.stored,"
		" sum_dur = sum_dur + excluded.sum_dur, sum_arg0 = sum_arg0 + excluded.sum_arg0,"
		" min_dur = CASE WHEN stored = 0 THEN excluded.min_dur WHEN excluded.stored = 0"
		" THEN min_dur ELSE min(min_dur, excluded.min_dur) END,"
		" max_dur = max(max_dur, excluded.max_dur)",
		e);

	for (size_t i = 0; i < a->sums.n && !rc; i++) {
		const struct archive_sum *sum = &a->sums.v[i];
		const int64_t values[] = { sum->minute * MINUTE_NS,
					   sum->code.source,
					   sum->code.op,
					   sum->pid,
					   (int64_t)sum->count,
					   (int64_t)sum->stored,
					   (int64_t)sum->dur,
					   sum->stored ? (int64_t)sum->min : 0,
					   (int64_t)sum->max,
					   (int64_t)sum->arg0 };

		if (sum->end_minute * MINUTE_NS < a->keep_from_ns)
			continue;
		for (int k = 0; k < 10; k++)
			sqlite3_bind_int64(s, k + 1, values[k]);
		rc = archive_step(a, s, e);
	}
	sqlite3_finalize(s);
	return rc;
}
