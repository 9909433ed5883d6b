/* SPDX-License-Identifier: Apache-2.0 */
/* Two looks at /proc, told apart by process id: a process that has fewer bytes than before is
 * another one. */
#include "lib/record/disk_users.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/io.h"
#include "lib/host/clock.h"
#include "lib/host/proc.h"
#include "lib/host/sample_memory.h"
#include "lib/record/metadata_records.h"

/* A look of so long is followed by that many times as long without one: half a percent of a CPU. */
#define REST	   200
#define TOLD_LEAST 1048576 /* B that a process moved since the last look */

struct moved {
	struct disk_user was, is;
};

static uint64_t moved_bytes(const struct moved *m)
{
	return m->is.read_bytes - m->was.read_bytes + m->is.write_bytes - m->was.write_bytes;
}

static int compare_users(const void *x, const void *y)
{
	const struct disk_user *a = x, *b = y;

	return (a->tgid > b->tgid) - (a->tgid < b->tgid);
}

static struct disk_user find_user(const struct disk_users *u, uint32_t tgid)
{
	struct disk_user key = { .tgid = tgid }, *found;

	found = u->v.n ? bsearch(&key, u->v.v, u->v.n, sizeof(key), compare_users) : NULL;
	return found ? *found : key;
}

static bool read_user(struct disk_user *u, struct buf *room)
{
	struct err ignored = { 0 };
	char path[40];

	snprintf(path, sizeof(path), "/proc/%u/io", u->tgid);
	room->n = 0;
	return read_file(path, room, 4096, &ignored) == 0 &&
	       host_io_parse(buf_bytes(room), &u->read_bytes, &u->write_bytes);
}

/* Kept in place of the one with least, if it moved more. */
static void keep_most(struct moved *most, const struct moved *m)
{
	size_t least = 0;

	for (size_t i = 1; i < DISK_USERS_MOST; i++)
		if (moved_bytes(&most[i]) < moved_bytes(&most[least]))
			least = i;
	if (moved_bytes(m) > moved_bytes(&most[least]))
		most[least] = *m;
}

/* most: DISK_USERS_MOST, emptied; NULL: a first look. */
static void look_at_all(struct disk_users *u, struct moved *most)
{
	struct host_pids pids = { 0 };
	struct err ignored = { 0 };
	struct disk_users is = { 0 };
	struct buf room = { 0 };

	if (host_proc_all(&pids, &ignored))
		pids.n = 0;
	for (size_t i = 0; i < pids.n; i++) {
		struct moved m = { .is.tgid = pids.v[i] };

		if (m.is.tgid == (uint32_t)getpid() || u->is_known(u->ctx, m.is.tgid) ||
		    !read_user(&m.is, &room) || !vec_push(&is.v, m.is))
			continue;
		m.was = find_user(u, m.is.tgid);
		if (m.was.read_bytes > m.is.read_bytes || m.was.write_bytes > m.is.write_bytes)
			m.was = (struct disk_user){ .tgid = m.is.tgid };
		if (most && moved_bytes(&m) >= TOLD_LEAST)
			keep_most(most, &m);
	}
	buf_free(&room);
	host_pids_free(&pids);
	vec_free(&u->v);
	u->v.v = is.v.v;
	u->v.n = is.v.n;
	u->v.cap = is.v.cap;
	if (u->v.n)
		qsort(u->v.v, u->v.n, sizeof(*u->v.v), compare_users);
}

static void look_within(struct disk_users *u, struct moved *most, int64_t now_ns)
{
	int64_t began = host_clock_mono();

	look_at_all(u, most);
	u->looked_ns = now_ns;
	u->next_ns = now_ns + REST * (host_clock_mono() - began);
}

void disk_users_init(struct disk_users *u, struct world *w,
		     bool (*is_known)(void *ctx, uint32_t tgid),
		     uint32_t (*process)(void *ctx, uint32_t tgid), void *ctx)
{
	*u = (struct disk_users){
		.world = w, .is_known = is_known, .process = process, .ctx = ctx
	};
	look_within(u, NULL, host_clock_mono());
}

void disk_users_free(struct disk_users *u)
{
	vec_free(&u->v);
}

static int write_value(struct disk_users *u, struct ige_writer *wr, int64_t time_ns,
		       uint32_t process, uint32_t metric, uint64_t value, struct err *e)
{
	struct record r = { .kind = RECORD_SAMPLE };

	REC_SET(&r, SAMPLE, time_ns, time_ns);
	REC_SET(&r, SAMPLE, metric, metric);
	REC_SET(&r, SAMPLE, value, (double)value);
	REC_SET(&r, SAMPLE, process, process);
	u->samples++;
	return ige_writer_record(wr, &r, e);
}

/* As it was at the last look, and is now. */
static int write_moved(struct disk_users *u, struct ige_writer *wr, const struct moved *m,
		       int64_t since_ns, int64_t now_ns, struct err *e)
{
	uint32_t process = u->process(u->ctx, m->is.tgid);
	int rc = metadata_write_name(wr, u->world, now_ns, m->is.tgid, process, e);

	if (rc == 0 && m->is.read_bytes > m->was.read_bytes) {
		rc = write_value(u, wr, since_ns, process, METRIC_PROC_READ_BYTES, m->was.read_bytes,
				 e);
		if (rc == 0)
			rc = write_value(u, wr, now_ns, process, METRIC_PROC_READ_BYTES,
					 m->is.read_bytes, e);
	}
	if (rc == 0 && m->is.write_bytes > m->was.write_bytes) {
		rc = write_value(u, wr, since_ns, process, METRIC_PROC_WRITE_BYTES,
				 m->was.write_bytes, e);
		if (rc == 0)
			rc = write_value(u, wr, now_ns, process, METRIC_PROC_WRITE_BYTES,
					 m->is.write_bytes, e);
	}
	return rc;
}

int disk_users_say(struct disk_users *u, struct ige_writer *wr, uint64_t others_bytes,
		   int64_t now_ns, bool last, struct err *e)
{
	struct moved most[DISK_USERS_MOST] = { 0 };
	int64_t since_ns = u->looked_ns;
	int rc = 0;

	if ((now_ns < u->next_ns && !last) || others_bytes < u->others_bytes + DISK_USERS_LEAST)
		return 0;
	u->others_bytes = others_bytes;
	look_within(u, most, now_ns);
	for (size_t i = 0; rc == 0 && i < DISK_USERS_MOST; i++)
		if (most[i].is.tgid)
			rc = write_moved(u, wr, &most[i], since_ns, now_ns, e);
	return rc;
}
