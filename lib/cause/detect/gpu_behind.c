/* SPDX-License-Identifier: Apache-2.0 */
/* Items are kept as in lib/line/doings.c: the largest, whichever come first. */
#include "lib/cause/detect/gpu_behind.h"

#include <inttypes.h>
#include <string.h>

#include "lib/cause/names.h"
#include "lib/cause/sampling.h"

#define MIN_TOLD 0.05 /* of the lost time */

/* Said of a thread, and what is done about it; NULL: nothing that is not said of the wait itself, or of the command the one
 * that shows where it computes. */
static const struct {
	const char *was, *action, *command, *basis;
} states[PART_COUNT] = {
	[PART_SELF] = { "ran its own code",
			"Give more workers to what it waits for, or let them work further ahead",
			NULL,
			"from nothing, if the work cannot be done ahead, to all of the wait; the "
			"command shows where it computes" },
	[PART_PREEMPTED] = { "was ready to run, but others had the CPU",
			     "Give what it waits for a CPU of its own",
			     "grep Cpus_allowed_list /proc/%" PRIu32 "/status",
			     "from nothing to all of the wait; the command shows where it may "
			     "run" },
	[PART_RUNQ] = { "was ready to run, but others had the CPU",
			"Give what it waits for a CPU of its own",
			"grep Cpus_allowed_list /proc/%" PRIu32 "/status",
			"from nothing to all of the wait; the command shows where it may run" },
	[PART_THROTTLED] = { "had used up its CPU quota",
			     "Raise or lift the CPU quota of what it waits for",
			     "cat /proc/%" PRIu32 "/cgroup",
			     "from nothing to all of the wait; the command shows whose quota it "
			     "is" },
	[PART_DISK] = { "was blocked on disk",
			"Let nothing wait for that file: read ahead, or write and sync while the "
			"device works; or use a faster disk",
			"cat /proc/%" PRIu32 "/io",
			"from nothing, if the next step needs it, to all of the wait" },
	[PART_LOCK] = { "waited for a lock", "Let what it waits for do its work without that lock",
			"sudo gdb -p %" PRIu32 " -batch -ex 'thread apply all bt'",
			"from nothing, if the work must stay inside, to all of the wait" },
	[PART_FAULT] = { "was blocked in a page fault",
			 "Let its memory and its mapped files be there before they are used",
			 "grep -E 'VmRSS|VmSwap' /proc/%" PRIu32 "/status",
			 "from nothing to all of the wait" },
	[PART_STOPPED] = { "was stopped", "Let it run: it was stopped by a signal or a debugger",
			   "grep -E 'State|TracerPid' /proc/%" PRIu32 "/status",
			   "all of the wait" },
	[PART_ATTACH] = { "was held up by ingero-record attaching probes", NULL, NULL, NULL },
	[PART_RECORDER] = { "was ready to run, but ingero-record had the CPU", NULL, NULL, NULL },
	[PART_SLEEP] = { "slept", "Let it do its work when there is some, instead of sleeping",
			 "sudo strace -f -k -e trace=nanosleep,clock_nanosleep -p %" PRIu32,
			 "from nothing, if the pace is wanted, to all of the wait; the command "
			 "shows who sleeps" },
	[PART_SOCKET] = { "waited for a socket",
			  "Let it ask for the data before it is needed, several requests at a time",
			  "ss -tunpi | grep pid=%" PRIu32 ",",
			  "from nothing, if each request depends on the last, to all of the wait" },
	[PART_IDLE] = { "waited for another thread", NULL, NULL, NULL },
	[PART_POLL] = { "waited in poll", NULL, NULL, NULL },
	[PART_FD] = { "waited for a pipe or file", NULL, NULL, NULL },
	[PART_CHILD] = { "waited for a child process", NULL, NULL, NULL },
	[PART_BLOCKED] = { "was blocked in the kernel", NULL, NULL, NULL },
	[PART_DEVICE] = { "waited for the GPU", NULL, NULL, NULL },
};

const char *gpu_behind_was(enum part part)
{
	return states[part].was;
}

uint32_t gpu_comm(const struct cause *c, uint32_t thread)
{
	return world_string(c->w, name_thread(c->w, &c->tally, thread));
}

static void add(struct gpu_behind *b, const struct gpu_behind_item *more)
{
	unsigned least = 0;

	for (unsigned i = 0; i < b->n; i++) {
		struct gpu_behind_item *at = &b->v[i];

		if (at->part == more->part && at->frame == more->frame && at->comm == more->comm) {
			at->ns += more->ns;
			return;
		}
		if (at->ns < b->v[least].ns)
			least = i;
	}
	if (b->n < GPU_BEHIND)
		b->v[b->n++] = *more;
	else if (b->v[least].ns < more->ns)
		b->v[least] = *more;
}

void gpu_behind_add(struct gpu_behind *b, const struct cause *c, struct site_frames *frames,
		    const struct doing *d)
{
	for (unsigned i = 0; i < d->behind.n; i++) {
		const struct behind_item *x = &d->behind.v[i];

		add(b, &(struct gpu_behind_item){ .comm = gpu_comm(c, x->thread),
						  .thread = x->thread,
						  .frame = site_frames_get(frames, c->w, x->stack),
						  .stack = x->stack,
						  .culprit = x->culprit,
						  .part = x->part,
						  .ns = x->ns });
	}
}

const struct gpu_behind_item *gpu_behind_most(const struct gpu_behind *b, const struct fact *f,
					      double share)
{
	const struct gpu_behind_item *most = NULL;

	for (unsigned i = 0; i < b->n; i++) {
		if (!most || b->v[i].ns > most->ns)
			most = &b->v[i];
	}
	return most && (double)most->ns >= share * (double)f->lost_ns && states[most->part].was
		       ? most
		       : NULL;
}

static uint32_t pid_of(const struct gpu_behind_item *x, const struct cause *c)
{
	const struct world_thread *t = world_get_thread(c->w, x->thread);
	const struct world_process *p = t ? world_get_process(c->w, t->process) : NULL;

	return p ? p->tgid : 0;
}

/* "loader (pid 4821) was blocked on disk in read_batch (data.py:31), longest for /data/x (ext4, /dev/sda1)" */
static void clause(const struct gpu_behind_item *x, const struct cause *c, struct buf *out)
{
	const struct world_thread *t = world_get_thread(c->w, x->thread);
	const struct line_culprit *disk;
	const char *file;
	const uint64_t *ns;

	if (t)
		name_thread_full(out, c->w, &c->tally, x->thread);
	else
		buf_puts(out, "a thread");
	buf_printf(out, " %s", states[x->part].was);
	if (x->part == PART_SOCKET && t)
		cause_peers_text(&c->peers, t->process, x->frame, out);
	if (x->frame) {
		buf_puts(out, " in ");
		name_frame(out, c->w, x->frame);
	}
	if (x->part != PART_DISK || !t)
		return;
	disk = x->culprit ? culprit_get(c->tally.culprits, x->culprit) : NULL;
	file = cause_files_top(&c->files, t->process, disk ? disk->object : 0, &ns);
	if (file)
		buf_printf(out, ", longest for %s", file);
}

void gpu_behind_text(const struct gpu_behind_item *x, const struct cause *c, struct buf *out)
{
	clause(x, c, out);
}

void gpu_behind_evidence(const struct gpu_behind *b, const struct cause *c, struct fact *f)
{
	for (unsigned i = 0; i < b->n; i++) {
		struct buf what = { 0 };

		if ((double)b->v[i].ns < MIN_TOLD * (double)f->lost_ns || !states[b->v[i].part].was)
			continue;
		buf_puts(&what, "of the waiting: ");
		clause(&b->v[i], c, &what);
		/* A wait may have begun before the gap. */
		fact_evidence(f, buf_text(&what),
			      (double)(b->v[i].ns < f->lost_ns ? b->v[i].ns : f->lost_ns), "ns");
		buf_free(&what);
	}
}

void gpu_behind_fix(const struct gpu_behind_item *x, const struct cause *c, struct fact *f)
{
	struct buf command = { 0 };

	if (!states[x->part].action)
		return;
	if (states[x->part].command)
		buf_printf(&command, states[x->part].command, pid_of(x, c));
	else
		sampling_command(c, pid_of(x, c), &command);
	fact_fix(f, states[x->part].action, buf_text(&command), 0, f->lost_ns,
		 states[x->part].basis);
	buf_free(&command);
}
