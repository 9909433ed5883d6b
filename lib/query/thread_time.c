/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up the states of threads that make calls. A thread may make its first call late, so that the
 * time of every thread is stored, and shown once it has made one. */
#include "lib/query/sections_internal.h"

#include "lib/base/map.h"

static struct query_thread_time_entry *thread_of(struct query_thread_time *s,
						 const struct line_piece *p)
{
	struct query_thread_time_entry *th;

	if (!vec_reach(&s->by_thread, p->thread))
		return NULL;
	th = s->by_thread.v[p->thread];
	if (!th) {
		th = calloc(1, sizeof(*th));
		if (!th)
			return NULL;
		th->process = p->process;
		s->by_thread.v[p->thread] = th;
	}
	return th;
}

bool query_thread_time_piece(struct query_thread_time *s, const struct line_piece *p, bool call)
{
	struct query_thread_time_entry *th;
	uint64_t *into;

	if (p->depth || p->open || !p->parts)
		return true;
	th = thread_of(s, p);
	if (!th)
		return false;
	into = call ? th->in_calls : th->outside;
	th->calls |= call;
	for (uint32_t left = p->parts->mask; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);

		into[i] += p->parts->ns[i];
	}
	if (p->overlap_ns) /* counted before: a nanosecond is counted once */
		into[PART_UNKNOWN] -=
			p->overlap_ns < into[PART_UNKNOWN] ? p->overlap_ns : into[PART_UNKNOWN];
	return true;
}

bool query_thread_time_makes_calls(const struct query_thread_time *s, uint32_t thread)
{
	return thread < s->by_thread.n && s->by_thread.v[thread] && s->by_thread.v[thread]->calls;
}

static int compare_by_time(const void *a, const void *b)
{
	const struct view_time *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

static struct view_time *row_of(struct view *v, struct map *by, uint32_t process)
{
	uint64_t at;

	if (map_get(by, process, &at))
		return &v->times.v[at];
	at = v->times.n;
	if (!vec_push(&v->times, (struct view_time){ .process = process }) ||
	    !map_put(by, process, at))
		return NULL;
	return &v->times.v[at];
}

bool query_thread_time_rows(const struct query_thread_time *s, struct view *v)
{
	struct map by = { 0 };
	bool good = true;

	v->times.n = 0;
	for (size_t i = 0; good && i < s->by_thread.n; i++) {
		const struct query_thread_time_entry *th = s->by_thread.v[i];
		struct view_time *row;

		if (!th || !th->calls)
			continue;
		row = row_of(v, &by, th->process);
		if (!row) {
			good = false;
			break;
		}
		row->threads++;
		for (unsigned k = 0; k < PART_COUNT; k++) {
			row->in_calls[k] += th->in_calls[k];
			row->outside[k] += th->outside[k];
			row->ns += th->in_calls[k] + th->outside[k];
		}
	}
	if (v->times.n)
		qsort(v->times.v, v->times.n, sizeof(*v->times.v), compare_by_time);
	map_free(&by);
	return good;
}

void query_thread_time_free(struct query_thread_time *s)
{
	for (size_t i = 0; i < s->by_thread.n; i++)
		free(s->by_thread.v[i]);
	vec_free(&s->by_thread);
}
