/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of a process's mapped files, with those that went a short time ago. A new picture makes
 * all of the last one former; what it shows again is taken back, found by one walk since both are
 * in the order of addresses.
 */
#include "lib/attach/file_ranges.h"
#include "lib/base/bisect.h"

#include <string.h>

#define FORMER_MAX 4096 /* of one process; beyond it the oldest are forgotten */

static bool is_same(const struct file_range *a, const struct file_range *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->inode == b->inode && a->major == b->major && a->minor == b->minor;
}

static void drop_former(struct file_ranges *r, int64_t before_ns, size_t most)
{
	size_t kept = 0, skip = r->former.n > most ? r->former.n - most : 0;

	for (size_t i = skip; i < r->former.n; i++)
		if (r->former.v[i].end && r->former.v[i].until_ns >= before_ns)
			r->former.v[kept++] = r->former.v[i];
	r->former.n = kept;
	r->again = kept;
}

void file_ranges_begin(struct file_ranges *r, int64_t now_ns)
{
	drop_former(r, INT64_MIN, FORMER_MAX);
	for (size_t i = 0; i < r->now.n; i++) {
		struct file_range was = r->now.v[i];

		was.until_ns = now_ns;
		if (!vec_push(&r->former, was))
			break;
	}
	r->now.n = 0;
}

void file_ranges_add(struct file_ranges *r, const struct host_mapping *m)
{
	struct file_range new = { m->start, m->end,   m->offset, m->inode,
				  m->major, m->minor, INT64_MAX };

	if (!m->inode || m->end <= m->start || !vec_push(&r->now, new))
		return;
	while (r->again < r->former.n && r->former.v[r->again].start < new.start)
		r->again++;
	if (r->again < r->former.n && is_same(&r->former.v[r->again], &new))
		r->former.v[r->again++].end = 0; /* it never went */
}

void file_ranges_forget(struct file_ranges *r, int64_t before_ns)
{
	if (r->former.n)
		drop_former(r, before_ns, FORMER_MAX);
}

bool file_ranges_copy(struct file_ranges *to, const struct file_ranges *from)
{
	to->now.n = to->former.n = to->again = 0;
	for (size_t i = 0; i < from->now.n; i++)
		if (!vec_push(&to->now, from->now.v[i]))
			return false;
	return true;
}

void file_ranges_free(struct file_ranges *r)
{
	vec_free(&r->now);
	vec_free(&r->former);
}

static const struct file_range *find_now(const struct file_ranges *r, uint64_t address)
{
	size_t low = 0, high = r->now.n;

	bisect(i, low, high, r->now.v[i].end <= address);
	return low < r->now.n && r->now.v[low].start <= address ? &r->now.v[low] : NULL;
}

const struct file_range *file_ranges_find(const struct file_ranges *r, uint64_t address,
					  int64_t time_ns)
{
	for (size_t i = 0; i < r->former.n; i++) {
		const struct file_range *v = &r->former.v[i];

		if (v->until_ns > time_ns && address >= v->start && address < v->end)
			return v;
	}
	return find_now(r, address);
}

const struct file_range *file_ranges_former(const struct file_ranges *r, uint64_t address)
{
	for (size_t i = r->former.n; i-- > 0;) {
		const struct file_range *v = &r->former.v[i];

		if (address >= v->start && address < v->end)
			return v;
	}
	return NULL;
}
