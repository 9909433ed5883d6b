/* SPDX-License-Identifier: Apache-2.0 */
/* Writes which threads wait without an end: that of a program whose steps stopped, then those of
 * other processes that fell asleep at about the same time, since the program may wait for them. */
#include "lib/report/report_internal.h"

#include <string.h>

#include "lib/base/fmt.h"
#include "lib/report/report_parts.h"
#include "lib/model/finding.h"

#define HANG_STEPS   10 /* of its steps: a shorter wait may be a part of one */
#define OTHERS_SHOWN 2

/* A wait that has not ended: cause NULL: there is none. */
struct open_wait {
	const struct paths_track *track;
	const struct paths_cause *cause;
};

static bool is_hang(const struct paths_cause *c)
{
	return bytes_equal(c->class, bytes_of("never ended")) && c->severity == FINDING_HIGH;
}

/* The wait in which a track ends. False: it is none, or may be for something from outside. */
static bool find_wait(const struct paths_track *track, struct open_wait *w)
{
	const struct paths_phase *last =
		track->phases.n ? &track->phases.v[track->phases.n - 1] : NULL;

	*w = (struct open_wait){ .track = track };
	for (size_t i = 0; last && i < last->causes.n && !w->cause; i++)
		if (is_hang(&last->causes.v[i]))
			w->cause = &last->causes.v[i];
	return w->cause;
}

static uint64_t start_distance_ns(const struct open_wait *w, int64_t ns)
{
	int64_t at = w->cause->longest_at_ns;

	return at > ns ? (uint64_t)(at - ns) : (uint64_t)(ns - at);
}

static void keep_wait(struct open_wait best[OTHERS_SHOWN], struct open_wait w, int64_t since_ns)
{
	unsigned at = OTHERS_SHOWN;

	while (at > 0 &&
	       (!best[at - 1].cause ||
		start_distance_ns(&w, since_ns) < start_distance_ns(&best[at - 1], since_ns)))
		at--;
	if (at == OTHERS_SHOWN)
		return;
	for (unsigned k = OTHERS_SHOWN - 1; k > at; k--)
		best[k] = best[k - 1];
	best[at] = w;
}

/* Whether what holds a track says where the other one stands already. */
static bool is_named(const struct paths_track *track, const struct paths_track *other)
{
	return track->held_by.n && other->thread.n &&
	       memmem(track->held_by.p, track->held_by.n, other->thread.p, other->thread.n);
}

/* Those of other processes, nearest in time first. */
static void put_others(struct buf *out, const struct paths *all, const struct paths_track *track,
		       int64_t since_ns)
{
	struct open_wait best[OTHERS_SHOWN] = { 0 }, w;

	for (size_t i = 0; i < all->tracks.n; i++)
		if (all->tracks.v[i].pid != track->pid && !is_named(track, &all->tracks.v[i]) &&
		    find_wait(&all->tracks.v[i], &w))
			keep_wait(best, w, since_ns);
	for (unsigned i = 0; i < OTHERS_SHOWN && best[i].cause; i++) {
		buf_puts(out, "; ");
		report_print_text(out, best[i].track->thread, "?");
		buf_putc(out, ' ');
		report_print_text(out, best[i].cause->text, "waits");
	}
}

/* The device waits for a collective that never pairs: which object the thread waits for says
 * nothing. */
static void put_ranks(struct buf *out, const struct paths_cause *wait)
{
	const struct paths_line *line = wait->lines.n ? &wait->lines.v[0] : NULL;

	buf_puts(out, "its ranks wait for each other, since their collectives differ; it waits");
	if (line && line->op.n) {
		buf_puts(out, " in ");
		fmt_safe(out, line->op);
	}
	if (line && line->line.n) {
		buf_puts(out, line->op.n ? " called from " : " in ");
		fmt_safe(out, line->line);
	}
}

bool report_stuck_put(struct buf *out, const struct paths *all, const struct paths_track *track,
		      bool differs)
{
	struct open_wait w;
	char text[48];

	if (!find_wait(track, &w) || w.cause->longest_ns < HANG_STEPS * track->steps.p50_ns ||
	    track->to_ns <= track->steps.last_ns)
		return false;
	report_print_text(out, track->thread, "?");
	buf_printf(out, " made no step in the last %s: ",
		   report_ns(text, sizeof(text), (double)(track->to_ns - track->steps.last_ns)));
	if (differs) {
		put_ranks(out, w.cause);
		return true;
	}
	buf_puts(out, "it ");
	report_print_text(out, w.cause->text, "waits");
	if (track->held_by.n) {
		buf_puts(out, ": ");
		fmt_safe(out, track->held_by);
	}
	put_others(out, all, track, w.cause->longest_at_ns);
	return true;
}
