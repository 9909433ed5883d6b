/* SPDX-License-Identifier: Apache-2.0 */
/* Writes which threads wait without an end: that of a program whose steps stopped, then those of
 * other processes that fell asleep at about the same time, since the program may wait for them. */
#include "lib/report/report_internal.h"

#include <string.h>

#include "lib/base/fmt.h"
#include "lib/report/report_parts.h"

#define OTHERS_SHOWN 2

static uint64_t start_distance_ns(const struct paths_track *track, int64_t ns)
{
	int64_t at = paths_find_hang(track)->longest_at_ns;

	return at > ns ? (uint64_t)(at - ns) : (uint64_t)(ns - at);
}

static void keep_track(const struct paths_track *best[OTHERS_SHOWN],
		       const struct paths_track *track, int64_t since_ns)
{
	unsigned at = OTHERS_SHOWN;

	while (at > 0 && (!best[at - 1] || start_distance_ns(track, since_ns) <
						   start_distance_ns(best[at - 1], since_ns)))
		at--;
	if (at == OTHERS_SHOWN)
		return;
	for (unsigned k = OTHERS_SHOWN - 1; k > at; k--)
		best[k] = best[k - 1];
	best[at] = track;
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
	const struct paths_track *best[OTHERS_SHOWN] = { 0 };

	for (size_t i = 0; i < all->tracks.n; i++)
		if (all->tracks.v[i].pid != track->pid && !is_named(track, &all->tracks.v[i]) &&
		    paths_find_hang(&all->tracks.v[i]))
			keep_track(best, &all->tracks.v[i], since_ns);
	for (unsigned i = 0; i < OTHERS_SHOWN && best[i]; i++) {
		buf_puts(out, "; ");
		report_print_text(out, best[i]->thread, "?");
		buf_putc(out, ' ');
		report_print_text(out, paths_find_hang(best[i])->text, "waits");
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
	const struct paths_cause *wait = paths_find_hang(track);
	char text[48];

	if (!paths_is_stuck(track))
		return false;
	report_print_text(out, track->thread, "?");
	buf_printf(out, " made no step in the last %s: ",
		   report_ns(text, sizeof(text), (double)(track->to_ns - track->steps.last_ns)));
	if (differs) {
		put_ranks(out, wait);
		return true;
	}
	buf_puts(out, "it ");
	report_print_text(out, wait->text, "waits");
	if (track->held_by.n) {
		buf_puts(out, ": ");
		fmt_safe(out, track->held_by);
	}
	put_others(out, all, track, wait->longest_at_ns);
	return true;
}
