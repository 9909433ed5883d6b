/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One phrase for each thread of the chain behind the first, then where the chain ends.
 */
#include "lib/tracks/unended_text.h"

#include <inttypes.h>

#include "lib/world/call_site.h"
#include "lib/world/frame_parts.h"
#include "lib/world/who.h"

static void print_thread(struct buf *out, const struct track_names *names,
			 const struct path_unended_step *s)
{
	if (s->thread)
		who_print_thread(out, names->w, s->thread, INT64_MAX);
	else
		buf_printf(out, "pid %" PRIu32, s->pid);
}

static void print_step(struct buf *out, const struct track_names *names,
		       const struct path_unended_step *s)
{
	static const char *const known[] = {
		[PATH_PROVEN] = "", [PATH_LIKELY] = " (likely)", [PATH_CANDIDATE] = " (perhaps)"
	};
	uint32_t frame = s->stack ? call_site_frame(names->w, s->stack) : 0;

	print_thread(out, names, s);
	buf_printf(out, " %s%s", path_by_text(s->by), known[s->known]);
	if (!frame)
		return;
	buf_puts(out, s->waits ? ", and waits itself in " : ", last seen in ");
	place_print_frame(out, names->w, frame);
}

/* Each waits for the next, and no link of that is a guess. */
static bool is_deadlock(const struct path_unended *u)
{
	if (u->ends != PATH_ENDS_CYCLE || u->closing == PATH_CANDIDATE)
		return false;
	for (unsigned i = u->cycle + 1; i < u->n; i++)
		if (u->v[i].known == PATH_CANDIDATE)
			return false;
	return true;
}

void unended_print(struct buf *out, const struct track_names *names, const struct path_unended *u)
{
	bool last_is_first = u->n <= 1;

	if (last_is_first && u->ends != PATH_ENDS_GONE && u->ends != PATH_ENDS_NOBODY)
		return;
	for (unsigned i = 1; i < u->n; i++) {
		if (i > 1)
			buf_puts(out, "; ");
		print_step(out, names, &u->v[i]);
	}
	switch (u->ends) {
	case PATH_ENDS_UNKNOWN:
		buf_puts(out, "; whom that one waits for is not known");
		break;
	case PATH_ENDS_CYCLE:
		buf_puts(out, is_deadlock(u) ? "; they wait for each other in a circle"
					     : "; whom that one waits for is not known");
		break;
	default:
		buf_printf(out, "%s%s%s", last_is_first ? "" : "; ",
			   u->ends == PATH_ENDS_GONE || u->ends == PATH_ENDS_NOBODY ? ""
										    : "that one ",
			   path_ends_text(u->ends));
	}
}
