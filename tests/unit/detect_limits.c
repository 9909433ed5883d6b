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
	struct event *sync;

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
	c.class = PATH_DISK;
	ok(io_limits_of(&l, &c, a.thread, 2000 * MS).before_device, "reads that are held back");
	sync = stage_event(&s, OP_IO_FILE, a.ctx, 0, 0, 600 * MS);
	stage_set(sync, COL_SYSCALL, 74);
	if (!io_limits_event(&l, sync))
		abort();
	ok(!io_limits_of(&l, &c, a.thread, 2000 * MS).before_device,
	   "nor where most of it was for what the file system writes");
	c.class = PATH_SLEEP;
	ok(!io_limits_of(&l, &c, a.thread, 2000 * MS).before_device, "no wait for a file");
	buf_free(&out);
	track_names_free(&names);
	io_limits_free(&l);
	stage_free(&s);
}

/* What a phase of 2 s lost to a limit that was hit so often, and how it is said. */
static void memory(void)
{
	static const struct {
		const char *what, *text; /* text: behind the cgroup; NULL: no note */
		double hits;
		struct path_cause v[3];
		uint64_t ns;
	} all[] = {
		{ "a limit that was not hit is none", NULL, 0, { { PATH_FAULT, .ns = 1000 } }, 0 },
		{ "pages of files are read again",
		  "hit 1,234 times: pages of files are dropped there, and read again",
		  1234,
		  { { PATH_FAULT, .ns = 1000, .pieces = 2000 } },
		  1000 },
		{ "a read by a call may be the first",
		  NULL,
		  1234,
		  { { PATH_DISK, .ns = 1000 } },
		  0 },
		{ "memory is freed for new pages",
		  "hit 9,000 times: it frees memory for each page that it needs",
		  9000,
		  { { PATH_OWN, .ns = 1500 },
		    { PATH_RECLAIM, .ns = 400, .pieces = 5000 },
		    { PATH_COMPACT, .ns = 50, .pieces = 10 } },
		  450 },
		{ "both, each of which is little",
		  "hit 9,000 times: it frees memory for each page that it needs, and pages of "
		  "files are dropped there, and read again",
		  9000,
		  { { PATH_OWN, .ns = 1800 },
		    { PATH_RECLAIM, .ns = 60, .pieces = 5000 },
		    { PATH_FAULT, .ns = 60, .pieces = 10 } },
		  120 },
		{ "the whole host's want of memory",
		  NULL,
		  100,
		  { { PATH_RECLAIM, .ns = 400, .pieces = 5000 } },
		  0 },
		{ "a small part of the phase", NULL, 9000, { { PATH_RECLAIM, .ns = 90 } }, 0 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct stage s = stage_new();
		struct actor a = stage_actor(&s, 10, 10, 1, "main");
		uint32_t cgroup = world_get_ctx(s.w, a.ctx)->cgroup;
		struct path_causes causes = { .ns = 2000 * MS };
		struct track_names names;
		struct io_limits l;
		struct memory_limit found;
		struct buf out = { 0 }, want = { 0 };

		sample(&s, METRIC_CGROUP_MEM_USED, cgroup, 536870912.0);
		REC_SET(&s.rec.v[0], SAMPLE, process, a.process);
		sample(&s, METRIC_CGROUP_MEM_LIMIT, cgroup, 536870912.0);
		sample(&s, METRIC_CGROUP_MEM_MAX, cgroup, 1000);
		sample(&s, METRIC_CGROUP_MEM_MAX, cgroup, 1000 + all[i].hits);
		for (unsigned k = 0; k < 3 && all[i].v[k].ns; k++) {
			struct path_cause c = all[i].v[k];

			c.ns *= MS;
			if (!vec_push(&causes.v, c))
				abort();
		}
		l = feed(&s);
		track_names_init(&names, s.w);
		found = memory_limit_of(&l, &causes, a.thread);
		is_u64(found.ns, all[i].ns * MS, "%s", all[i].what);
		if (found.ns)
			memory_limit_print(&out, &names, &found);
		if (all[i].text)
			buf_printf(&want,
				   "main (pid 10) is in the cgroup /job, whose memory limit "
				   "of 512 MiB was %s",
				   all[i].text);
		is_str(buf_text(&out), buf_text(&want), "%s: and said so", all[i].what);
		buf_free(&out);
		buf_free(&want);
		path_causes_free(&causes);
		track_names_free(&names);
		io_limits_free(&l);
		stage_free(&s);
	}
}

int main(void)
{
	before_device();
	memory();
	return done_testing();
}
