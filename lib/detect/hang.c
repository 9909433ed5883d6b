/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang: the thread that makes a program's steps waits to the end, and not for anything from
 * outside. Tells whom it waits for, whom that one waits for, and so on (lib/path/path_unended.h). A
 * call of a library that does not return is call-hung's. A program that was not seen to make steps
 * hangs where that is proven, after a longer time.
 */
#include <inttypes.h>

#include "lib/base/fmt.h"
#include "lib/detect/detect_internal.h"
#include "lib/account/finding_details.h"
#include "lib/account/fact.h"
#include "lib/account/names.h"
#include "lib/tracks/reason.h"
#include "lib/tracks/track_hang.h"
#include "lib/tracks/unended_text.h"

struct hang {
	struct track track;
	struct track_hang wait;
};

/* The last one of the chain that is known, whom the others wait for; NULL: nobody is. */
static const struct path_unended_step *find_last(const struct hang *h)
{
	return h->wait.chain.n > 1 ? &h->wait.chain.v[h->wait.chain.n - 1] : NULL;
}

static void set_culprit(const struct cause *c, const struct hang *h, struct fact *f)
{
	const struct path_unended_step *last = find_last(h);
	const struct world_process *p =
		last ? world_get_process(c->w, cause_process_of(c, last->thread)) : NULL;
	struct buf who = { 0 };

	f->culprit.kind = p ? "process" : "none";
	if (p)
		name_thread_full(&who, c->w, &c->tally, last->thread);
	else
		buf_puts(&who, "whom it waits for is not known");
	f->culprit.text = details_text(&f->found, &who);
	f->culprit.pid = p ? p->tgid : 0;
}

static void add_fix(const struct cause *c, const struct hang *h, struct fact *f)
{
	uint32_t pid = f->culprit.pid ? f->culprit.pid : world_process_pid(c->w, f->process);
	static const char basis[] = "a hang has no usual length: the work goes on when it ends";

	if (h->wait.chain.ends == PATH_ENDS_EXITED || h->wait.chain.ends == PATH_ENDS_GONE) {
		fact_fix(f,
			 "Find out why the one that it waits for ended, and end the wait with it",
			 "sudo dmesg -T | grep -iE 'killed process|segfault'", 0, f->lost_ns,
			 basis);
		return;
	}
	fact_fix(f, "Look at what every thread of the last one in that row is doing",
		 details_print(&f->found,
			       "sudo gdb -batch -p %" PRIu32 " -ex 'thread apply all bt'", pid),
		 0, f->lost_ns, basis);
}

static void print_summary(const struct cause *c, const struct hang *h, struct fact *f)
{
	struct track_names *names = path_tracks_names(c->tracks);
	struct buf chain = { 0 };

	fact_victim(f, c, &f->summary);
	if (h->track.loop)
		buf_printf(&f->summary, " made no step in the last %s: it ",
			   fmt_ns((uint64_t)(h->track.end_ns - h->track.loop->last_ns)).s);
	else
		buf_printf(&f->summary, " stood still in the last %s: it ",
			   fmt_ns(h->wait.cause.longest_ns).s);
	reason_print(&f->summary, names, &h->wait.cause);
	unended_print(&chain, names, &h->wait.chain);
	if (chain.n)
		buf_printf(&f->summary, ": %s", buf_text(&chain));
	buf_free(&chain);
}

static int report_hang(struct cause *c, const struct hang *h, struct err *e)
{
	struct fact_told told = { 0 };
	struct fact f = { .kind = "hang",
			  .process = cause_process_of(c, h->track.anchor),
			  .first_ns = h->wait.cause.longest_from_ns,
			  .last_ns =
				  h->wait.cause.longest_from_ns + (int64_t)h->wait.cause.longest_ns,
			  .lost_ns = h->wait.cause.longest_ns,
			  .count = 1,
			  .counted = "waits",
			  .share = cause_share(c, h->wait.cause.longest_ns),
			  .severity = FINDING_HIGH, /* work stopped */
			  .gain = FACT_GAIN_NOTHING,
			  .nsites = 1,
			  .sites = { { .op = h->wait.part.at_op,
				       .stack = h->wait.part.stack,
				       .lost_ns = h->wait.cause.longest_ns,
				       .affected = 1 } } };

	set_culprit(c, h, &f);
	print_summary(c, h, &f);
	add_fix(c, h, &f);
	return fact_tell(c, &f, &told, e);
}

/* Of a program that was not seen to make steps: what it waits for is proven, and it is no launcher
 * of others. */
static bool is_proven(const struct hang *h)
{
	const struct path_unended *u = &h->wait.chain;

	return h->wait.cause.longest_ns >= PATH_SLEEPER_NS && u->n > 1 &&
	       u->v[1].known == PATH_PROVEN && u->v[1].by != PATH_BY_CHILD;
}

/* Whether track i ends in a hang. False: out of memory. */
static bool find_hang(const struct cause *c, size_t i, struct hang *h, bool *found)
{
	*h = (struct hang){ .track = path_tracks_get(c->tracks, i) };
	if (!track_hang_find(c->tracks, i, &h->wait, found))
		return false;
	*found = *found &&
		 (h->track.loop ? track_hang_is_after_steps(&h->wait, &h->track) : is_proven(h));
	return true;
}

static bool is_stuck(const struct cause *c, uint32_t process)
{
	return process < c->tally.processes.n && c->tally.processes.v[process].stuck;
}

/* Whether it was started by a recorded process that goes on. */
static bool has_parent_at_work(const struct cause *c, uint32_t process)
{
	const struct world_process *own = world_get_process(c->w, process), *p;

	for (size_t i = 0; own && i < path_tracks_count(c->tracks); i++) {
		uint32_t other = cause_process_of(c, path_tracks_get(c->tracks, i).anchor);

		p = world_get_process(c->w, other);
		if (p && p->tgid == own->parent && p->node == own->node && !is_stuck(c, other))
			return true;
	}
	return false;
}

/* Worker processes rest without work: the process that waits in vain for one is reported. */
static bool is_helper(const struct cause *c, uint32_t process)
{
	const struct tally_process *p = tally_process_known(&c->tally, process);

	if (p && p->calls)
		return false;
	return c->calls || has_parent_at_work(c, process);
}

/* Whether a program without steps waits for another one that is reported. */
static bool is_reported_there(const struct cause *c, const struct hang *h)
{
	uint32_t own = cause_process_of(c, h->track.anchor);

	for (unsigned i = 1; !h->track.loop && i < h->wait.chain.n; i++) {
		uint32_t process = cause_process_of(c, h->wait.chain.v[i].thread);

		if (process != own && is_stuck(c, process))
			return true;
	}
	return false;
}

int hangs_find(struct cause *c, struct err *e)
{
	for (size_t i = 0; i < path_tracks_count(c->tracks); i++) {
		struct tally_process *p;
		struct hang h;
		bool found;

		if (!find_hang(c, i, &h, &found))
			return err_nomem(e);
		if (!found)
			continue;
		p = tally_process(&c->tally, cause_process_of(c, h.track.anchor));
		if (!p)
			return err_nomem(e);
		p->stuck = true;
	}
	return 0;
}

static int flush_window(void *state, struct cause *c, int64_t pane, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; pane == INT64_MAX && i < path_tracks_count(c->tracks) && rc == 0; i++) {
		uint32_t process = cause_process_of(c, path_tracks_get(c->tracks, i).anchor);
		const struct tally_process *p = tally_process_known(&c->tally, process);
		struct hang h;
		bool found;

		if (!p || !p->stuck || p->hung)
			continue;
		if (!find_hang(c, i, &h, &found))
			return err_nomem(e);
		if (!found || is_helper(c, process) || is_reported_there(c, &h))
			continue;
		rc = report_hang(c, &h, e);
	}
	return rc;
}

const struct detector detector_hang = { .flush_window = flush_window };
