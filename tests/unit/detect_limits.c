/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits behind waits for files, made by hand: of a cgroup's memory, and before the disk.
 */
#include "tests/tap.h"

#include "lib/base/buf.h"
#include "lib/tracks/io_limits.h"
#include "tests/unit/events.h"

static void sample(struct stage *s, uint32_t metric, uint32_t cgroup, double value)
{
	struct record *r = stage_record(s, RECORD_SAMPLE);

	REC_SET(r, SAMPLE, metric, metric);
	REC_SET(r, SAMPLE, cgroup, cgroup);
	REC_SET(r, SAMPLE, value, value);
}

static void block(struct stage *s, struct actor a, int64_t start, int64_t end)
{
	stage_event(s, OP_IO_BLOCK, a.ctx, 0, start, end);
}

static struct io_limits feed(struct stage *s)
{
	struct io_limits l = { .w = s->w };

	for (size_t i = 0; i < s->rec.n; i++)
		if (!io_limits_record(&l, &s->rec.v[i]))
			abort();
	for (size_t i = 0; i < s->ev.n; i++)
		if (!io_limits_event(&l, &s->ev.v[i]))
			abort();
	return l;
}

/* 1,000 faults, each of 1 ms, for which the disk takes 50 us: an I/O limit lets the next one wait. */
static void before_device(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"),
		     b = stage_actor(&s, 11, 11, 1, "other");
	struct path_cause c = { .class = PATH_FAULT, .ns = 1000 * MS, .pieces = 2000 };
	struct track_names names;
	struct io_limits l;
	struct io_limit found;
	struct buf out = { 0 };

	for (int64_t i = 0; i < 1000; i++)
		block(&s, a, i * MS + 900 * US, i * MS + 950 * US);
	l = feed(&s);
	track_names_init(&names, s.w);
	found = io_limits_of(&l, &c, a.thread, 2000 * MS);
	ok(found.before_device && found.device_ns == 50 * MS, "held back before the disk");
	io_limit_print_device(&out, &names, &found);
	is_str(buf_text(&out),
	       "of the 1.00 s that main (pid 10) waited for pages, its requests were at the disk "
	       "for "
	       "50.0 ms at most: before it they were held back, as by an I/O limit of its cgroup",
	       "and said so");
	ok(!io_limits_of(&l, &c, b.thread, 2000 * MS).before_device,
	   "nothing is known of who made no request: a network file system");
	c.ns = 90 * MS;
	ok(!io_limits_of(&l, &c, a.thread, 100 * MS).before_device, "the disk took half of it");
	c.ns = 1000 * MS;
	ok(!io_limits_of(&l, &c, a.thread, 100000 * MS).before_device, "a small part of the phase");
	c.class = PATH_SLEEP;
	ok(!io_limits_of(&l, &c, a.thread, 2000 * MS).before_device, "no wait for a file");
	buf_free(&out);
	track_names_free(&names);
	io_limits_free(&l);
	stage_free(&s);
}

static void memory(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main");
	uint32_t cgroup = world_get_ctx(s.w, a.ctx)->cgroup;
	struct path_cause c = { .class = PATH_FAULT, .ns = 1000 * MS, .pieces = 2000 };
	struct track_names names;
	struct io_limits l;
	struct io_limit found;
	struct buf out = { 0 };
	struct record *r;

	sample(&s, METRIC_CGROUP_MEM_USED, cgroup, 536870912.0);
	r = &s.rec.v[0];
	REC_SET(r, SAMPLE, process, a.process);
	sample(&s, METRIC_CGROUP_MEM_USED, cgroup, 536870912.0);
	sample(&s, METRIC_CGROUP_MEM_LIMIT, cgroup, 536870912.0);
	sample(&s, METRIC_CGROUP_MEM_MAX, cgroup, 1000);
	l = feed(&s);
	track_names_init(&names, s.w);
	ok(!io_limits_of(&l, &c, a.thread, 2000 * MS).memory, "a limit that was not hit is none");
	io_limits_free(&l);
	sample(&s, METRIC_CGROUP_MEM_MAX, cgroup, 2234);
	l = feed(&s);
	found = io_limits_of(&l, &c, a.thread, 2000 * MS);
	ok(found.memory && found.hits == 1234, "a limit that was hit while it was recorded");
	io_limit_print_memory(&out, &names, &found);
	is_str(buf_text(&out),
	       "main (pid 10) is in the cgroup /job, whose memory limit of 512 MiB was hit 1,234 "
	       "times: pages of files are dropped there, and read again",
	       "and said so");
	c.class = PATH_DISK;
	ok(!io_limits_of(&l, &c, a.thread, 2000 * MS).memory, "a read by a call may be the first");
	buf_free(&out);
	track_names_free(&names);
	io_limits_free(&l);
	stage_free(&s);
}

int main(void)
{
	before_device();
	memory();
	return done_testing();
}
