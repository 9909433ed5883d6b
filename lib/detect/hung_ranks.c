/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the recorded ranks of a communicator by the collectives that each has entered. The
 * difference in its thread's ledger since its last collective shows what a rank that is behind did
 * instead: whether to look at its code, its disk or its own wait.
 */
#include "lib/detect/hung_internal.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/fmt.h"
#include "lib/account/analysis_state.h"
#include "lib/account/finding_details.h"
#include "lib/account/names.h"
#include "lib/tracks/reason.h"
#include "lib/tracks/track_excess.h"

#define MOST 0.5 /* of the time since: that is what it did */

void hung_rank_entered(struct hung_process *of, const struct cause *c, const struct line_piece *p)
{
	const struct tally_thread *th = tally_thread_known(&c->tally, p->thread);

	of->thread = p->thread;
	if (th)
		memcpy(of->before_ns, th->ns_by, sizeof(of->before_ns));
	else
		memset(of->before_ns, 0, sizeof(of->before_ns));
}

static const struct collective_rank *rank_of(const struct collective_comm *comm, uint32_t process)
{
	const struct collective_rank *own = NULL;

	for (size_t k = 0; k < comm->members.n; k++)
		if (comm->members.v[k].process == process)
			own = &comm->members.v[k];
	return own;
}

/* What it did since may not have been recorded. That is known only at the end: the statements about
 * a machine come late. */
static bool is_unseen(const struct hung *h, const struct cause *c, const struct collective_rank *m,
		      int64_t since_ns)
{
	return cause_uncovered(c, m->process, 0, m->entered ? m->enter_ns : c->start_ns,
			       since_ns) ||
	       cause_uncounted(c, m->process, since_ns) ||
	       (c->ended && cause_process_end(c, m->process) < since_ns && !hung_rank_ended(h, m));
}

const struct collective_rank *hung_rank_behind(const struct hung *h, const struct cause *c,
					       uint32_t process, struct hung_sum *s)
{
	for (size_t i = 0; i < c->collectives.comms.n; i++) {
		const struct collective_comm *comm = c->collectives.comms.v[i];
		const struct collective_rank *least = NULL;

		s->own = rank_of(comm, process);
		/* Who has entered fewer since is not behind: the numbers stand for other
		 * collectives. */
		if (s->own && comm->differs) {
			s->differs = true;
			s->differs_at = comm->differs_at;
			continue;
		}
		for (size_t k = 0; s->own && k < comm->members.n; k++) {
			const struct collective_rank *m = &comm->members.v[k];

			if (is_unseen(h, c, m, s->own->enter_ns))
				s->unseen = true;
			else if (!least ||
				 m->sequence + m->entered < least->sequence + least->entered)
				least = m;
		}
		if (least && s->own->entered &&
		    least->sequence + least->entered < s->own->sequence + 1)
			return least;
	}
	return NULL;
}

bool hung_rank_ended(const struct hung *h, const struct collective_rank *late)
{
	return late && late->process < h->processes.n && h->processes.v[late->process].ended;
}

bool hung_ranks_join(struct hung_sum *sums, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t first = i;

		for (uint32_t k = n; k-- > 0 && sums[i].late;) {
			if (sums[k].late != sums[i].late)
				continue;
			sums[i].ranks++;
			first = k;
		}
		if (first == i)
			continue;
		sums[i].threads = 0;
		if (!where_merge(&sums[first].where, &sums[i].where))
			return false;
	}
	return true;
}

/* The state in which the thread spent most of `since` ns; PART_COUNT: not known. */
static enum part find_main_activity(const struct cause *c, const struct hung_process *of,
				    uint64_t since, uint64_t *ns)
{
	const struct tally_thread *th = tally_thread_known(&c->tally, of->thread);
	unsigned most = PART_COUNT;

	*ns = 0;
	for (unsigned k = 0; th && k < PART_COUNT; k++) {
		uint64_t more =
			th->ns_by[k] > of->before_ns[k] ? th->ns_by[k] - of->before_ns[k] : 0;

		if (more > *ns) {
			*ns = more;
			most = k;
		}
	}
	if (most == PART_UNKNOWN || (most == PART_SELF && cause_blind(c)) ||
	    (double)*ns < MOST * (double)since)
		return PART_COUNT;
	return (enum part)most;
}

/* What most of its path was since then, and at which line. False: that is not known, and nothing is
 * written. */
static bool path_since(const struct cause *c, const struct hung_process *of,
		       const struct collective_rank *late, uint64_t since, struct buf *out)
{
	struct track_window_of window = { of->thread, late->enter_ns, c->end_ns };
	struct track_excess all = { 0 };
	struct path_causes why = { 0 };
	bool known = c->ended && track_excess_add(&all, c->tracks, &window, 1, NULL) == 0 &&
		     track_excess_causes(&all, c->tracks, &why) && why.v.n && why.v.v[0].nlines &&
		     why.v.v[0].lines[0].line && (double)why.v.v[0].ns >= MOST * (double)since;

	if (known) {
		buf_printf(out, ": in the %s since its last one ", fmt_ns(since).s);
		why.v.v[0].longest_ns = 0;
		reason_print_past(out, path_tracks_names(c->tracks), &why.v.v[0]);
		buf_printf(out, ", for %s", fmt_ns(why.v.v[0].ns).s);
	}
	path_causes_free(&why);
	track_excess_free(&all);
	return known;
}

static void since_its_last(const struct cause *c, const struct hung_process *of,
			   const struct collective_rank *late, struct buf *out)
{
	uint64_t since = c->end_ns > late->enter_ns ? (uint64_t)(c->end_ns - late->enter_ns) : 0,
		 ns;
	enum part part = find_main_activity(c, of, since, &ns);

	if (part == PART_COUNT || path_since(c, of, late, since, out))
		return;
	buf_printf(out, ": in the %s since its last one it ", fmt_ns(since).s);
	if (part == PART_SELF)
		buf_puts(out, "computed");
	else
		buf_printf(out, "was %s", part_text(part));
	buf_printf(out, " for %s", fmt_ns(ns < since ? ns : since).s);
}

void hung_rank_text(const struct cause *c, const struct hung *h, const struct hung_sum *s,
		    struct fact *f)
{
	const struct collective_rank *late = s->late;
	const struct hung_process *of =
		late->process < h->processes.n ? &h->processes.v[late->process] : NULL;

	fact_blame_process(c, f, late->process);
	buf_printf(&f->summary, "Rank %" PRIu32 ", %s, ", late->rank, f->culprit.text);
	if (hung_rank_ended(h, late)) {
		buf_printf(&f->summary, "ended %s before the end, ",
			   fmt_ns((uint64_t)(c->end_ns - of->ended_ns)).s);
		name_end(&f->summary, of->status);
		buf_puts(&f->summary, ", and ");
	}
	buf_printf(&f->summary, "has not entered collective number %" PRIu64, s->own->sequence);
	if (late->entered) {
		const struct op_def *op = world_op(c->w, late->op);

		if (of && !of->ended)
			since_its_last(c, of, late, &f->summary);
		fact_evidence_text(f, "last collective of the rank that is behind",
				   details_print(&f->found,
						 "%s, number %" PRIu64 ", %s before the end",
						 op ? op->name : "?", late->sequence,
						 fmt_ns((uint64_t)(c->end_ns - late->enter_ns)).s));
	}
}
