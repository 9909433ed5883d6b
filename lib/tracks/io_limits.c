/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits behind waits: those for memory and pages are added up where a memory limit was hit, and
 * what a thread waited for files is compared with the time that the block requests of its process
 * took. These are added up over the whole recording, overlapping or not, so that they are more than
 * what lies in the wait rather than less.
 */
#include "lib/tracks/io_limits.h"

#include <inttypes.h>

#include "lib/base/fmt.h"
#include "lib/base/timetext.h"
#include "lib/event/syscall.h"
#include "lib/world/who.h"

static bool is_sync(const struct io_limits *l, const struct event *ev)
{
	uint64_t number;

	return event_get(ev, world_op(l->w, ev->op), COL_SYSCALL, &number) && syscall_syncs(number);
}

bool io_limits_event(struct io_limits *l, const struct event *ev)
{
	bool file = ev->op == OP_IO_FILE && is_sync(l, ev);
	const struct world_ctx *ctx =
		file || ev->op == OP_IO_BLOCK ? world_get_ctx(l->w, ev->ctx) : NULL;
	const struct world_thread *t = ctx ? world_get_thread(l->w, ctx->thread) : NULL;

	if (!t)
		return true;
	if (!vec_reach(&l->uses, t->process))
		return false;
	if (file) {
		l->uses.v[t->process].sync_ns += ev->dur_ns;
		return true;
	}
	l->uses.v[t->process].requests++;
	l->uses.v[t->process].ns += ev->dur_ns;
	return true;
}

bool io_limits_record(struct io_limits *l, const struct record *r)
{
	return cause_cgroups_record(&l->cgroups, r);
}

void io_limits_free(struct io_limits *l)
{
	cause_cgroups_free(&l->cgroups);
	vec_free(&l->uses);
}

bool io_limits_hold_back(const struct io_limits *l, uint32_t process, uint64_t waits, uint64_t ns,
			 uint64_t *device_ns)
{
	const struct io_use *use = process < l->uses.n ? &l->uses.v[process] : NULL;

	*device_ns = 0;
	/* Or where it waited for other requests than its own. A fault is two pieces or three: what
	 * it does on the CPU, and the wait. */
	if (!use || use->requests < waits / 4 || !use->requests ||
	    (double)use->sync_ns > IO_LIMIT_DEVICE * (double)ns)
		return false;
	*device_ns = use->ns;
	return (double)use->ns < IO_LIMIT_DEVICE * (double)ns;
}

struct io_limit io_limits_of(const struct io_limits *l, const struct path_cause *c, uint32_t anchor,
			     uint64_t phase_ns)
{
	struct io_limit limit = { .class = c->class,
				  .ns = c->ns,
				  .thread = c->culprit ? c->lead : anchor };
	const struct world_thread *t = world_get_thread(l->w, limit.thread);

	if (!t || (c->class != PATH_FAULT && c->class != PATH_DISK) ||
	    (double)c->ns < IO_LIMIT_SHARE * (double)phase_ns || c->ns < IO_LIMIT_NS)
		return limit;
	limit.before_device =
		io_limits_hold_back(l, t->process, c->pieces, c->ns, &limit.device_ns);
	return limit;
}

/* The cgroup of that cause whose memory limit was hit, at least once for a few times that memory
 * was freed; 0: none. The whole host's want of memory hits no limit. */
static uint32_t find_full_cgroup(const struct io_limits *l, const struct path_cause *c,
				 uint32_t anchor)
{
	const struct world_thread *t = world_get_thread(l->w, c->culprit ? c->lead : anchor);

	if (!t || (c->class != PATH_RECLAIM && c->class != PATH_COMPACT && c->class != PATH_FAULT))
		return 0;
	return cause_cgroups_full(&l->cgroups, t->process, 0, c->pieces);
}

struct memory_limit memory_limit_of(const struct io_limits *l, const struct path_causes *causes,
				    uint32_t anchor)
{
	struct memory_limit limit = { 0 };
	const struct cause_cgroup *g;

	for (size_t i = 0; i < causes->v.n; i++) {
		const struct path_cause *c = &causes->v.v[i];
		uint32_t cgroup = find_full_cgroup(l, c, anchor);

		if (!cgroup || (limit.cgroup && cgroup != limit.cgroup))
			continue;
		if (!limit.cgroup)
			limit.thread = c->culprit ? c->lead : anchor;
		limit.cgroup = cgroup;
		limit.ns += c->ns;
		limit.reclaim_ns += c->class == PATH_FAULT ? 0 : c->ns;
	}
	if ((double)limit.ns < IO_LIMIT_SHARE * (double)causes->ns || limit.ns < IO_LIMIT_NS)
		return (struct memory_limit){ 0 };
	g = cause_cgroup(&l->cgroups, limit.cgroup);
	limit.limit = g->limit;
	limit.hits = cause_counted(&g->limit_hits);
	return limit;
}

void memory_limit_print(struct buf *out, const struct track_names *names,
			const struct memory_limit *limit)
{
	const struct world_cgroup *g = world_get_cgroup(names->w, limit->cgroup);
	struct bytes path = g ? world_text(names->w, g->path) : bytes_of("?");
	bool reads = limit->ns > limit->reclaim_ns;

	who_print_process(out, names->w, limit->thread, INT64_MAX);
	buf_printf(out,
		   " is in the cgroup %.*s, whose memory limit of %s was hit %s%s: ", (int)path.n,
		   path.p, fmt_bytes((uint64_t)limit->limit).s,
		   limit->hits == 1 ? "once" : fmt_count(limit->hits).s,
		   limit->hits == 1 ? "" : " times");
	if (limit->reclaim_ns)
		buf_printf(out, "it frees memory for each page that it needs%s",
			   reads ? ", and " : "");
	if (reads)
		buf_puts(out, "pages of files are dropped there, and read again");
}

void io_limit_print_device(struct buf *out, const struct track_names *names,
			   const struct io_limit *limit)
{
	char text[48];

	buf_printf(out, "of the %s that ", duration_text(text, sizeof(text), limit->ns));
	who_print_process(out, names->w, limit->thread, INT64_MAX);
	buf_printf(out, " waited for %s, its requests were at the disk for %s at most: before it ",
		   limit->class == PATH_FAULT ? "pages" : "a disk",
		   duration_text(text, sizeof(text), limit->device_ns));
	buf_puts(out, "they were held back, as by an I/O limit of its cgroup");
}

void io_limit_print_command(struct buf *out, uint32_t pid)
{
	buf_printf(out,
		   "cat /proc/%" PRIu32 "/cgroup; grep -rs . /sys/fs/cgroup --include=io.max "
		   "--include=blkio.throttle.*_device",
		   pid);
}
