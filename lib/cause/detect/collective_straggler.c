/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective-straggler: ranks wait for one that enters their collectives late. Lost is by how much the last one entered
 * after the one before it (that is gained when only this rank is mended), at most what the others waited for the
 * device longer than it did. Not this: entries far apart that nobody waits for, as of hosts that run ahead.
 * Its own lateness is explained by what its thread did more than the others since the collective before.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/human.h"
#include "lib/cause/detect/collective_mismatch.h"
#include "lib/cause/detect/watches.h"
#include "lib/cause/fact.h"
#include "lib/cause/names.h"
#include "lib/cause/sampling.h"
#include "lib/line/collectives.h"

struct late_rank {
	struct collective_comm *comm;
	uint32_t member, of; /* of: so many, as far as they were known */
	int64_t first_ns, last_ns;
	uint64_t lost_ns, count;
	uint64_t more_ns[PART_COUNT]; /* than the others did, by state */
	uint64_t by_ns;		      /* taken by `by` */
	uint32_t by;		      /* culprit in the line's */
	uint16_t op;
	uint32_t stack;
	struct fact_moment worst;
	struct tally_pane panes[TALLY_PANES];
	struct fact_told told;
};

struct straggler {
	struct collectives all;
	VEC(struct late_rank) late;
	uint64_t joined; /* sequences all members entered */
	struct collective_mismatches mismatches;
};

static unsigned wants(const struct op_def *op)
{
	return WATCH_OUTER | (op && op->source == SOURCE_NCCL ? WATCH_INNER : WATCH_ASLEEP);
}

/* What was said while not all members were known: they are in the recording later, by a clock that is far behind. */
static void forget(struct straggler *s, const struct collective_comm *comm)
{
	for (size_t i = 0; i < s->late.n; i++) {
		struct late_rank *l = &s->late.v[i];

		if (l->comm == comm && l->of != comm->members.n)
			*l = (struct late_rank){ .comm = l->comm,
						 .member = l->member,
						 .of = (uint32_t)comm->members.n,
						 .told = l->told };
	}
}

static struct late_rank *late_of(struct straggler *s, struct collective_comm *comm, uint32_t member)
{
	for (size_t i = 0; i < s->late.n; i++) {
		if (s->late.v[i].comm == comm && s->late.v[i].member == member)
			return &s->late.v[i];
	}
	if (!vec_push(&s->late, (struct late_rank){ .comm = comm,
						    .member = member,
						    .of = (uint32_t)comm->members.n }))
		return NULL;
	return &s->late.v[s->late.n - 1];
}

/* How much longer than the last one the others waited on the device from this collective to the next, on average: what all
 * wait alike is the device's own work. */
static uint64_t waited(const struct collective_comm *comm, const struct collective_pending *done,
		       uint32_t but)
{
	uint64_t ns = 0, own = done->entries[but].part_ns[PART_DEVICE];

	for (uint32_t i = 0; i < comm->members.n; i++) {
		if (i != but)
			ns += done->entries[i].part_ns[PART_DEVICE];
	}
	ns /= comm->members.n - 1;
	return ns > own ? ns - own : 0;
}

/* How much longer it was in each state than the others on average, on its way to the collective. */
static void compare(struct late_rank *l, const struct collective_comm *comm,
		    const struct collective_pending *p)
{
	const struct collective_entry *own = &p->entries[l->member];

	for (unsigned k = 0; k < PART_COUNT; k++) {
		uint64_t others = 0;

		if (k == PART_DEVICE)
			continue;
		for (uint32_t i = 0; i < comm->members.n; i++)
			others += i == l->member ? 0 : p->entries[i].part_ns[k];
		others /= comm->members.n - 1;
		if (own->part_ns[k] > others)
			l->more_ns[k] += own->part_ns[k] - others;
	}
	if (own->culprit == l->by) {
		l->by_ns += own->culprit_ns;
	} else if (own->culprit_ns > l->by_ns) {
		l->by = own->culprit;
		l->by_ns = own->culprit_ns;
	}
}

static uint32_t node_of(const struct cause *c, const struct collective_comm *comm, uint32_t member)
{
	const struct world_process *p = world_get_process(c->w, comm->members.v[member].process);

	return p ? p->node : 0;
}

/* `p` was entered by all, and what followed it is known as far as `done`. */
static bool judge(struct straggler *s, const struct cause *c, struct collective_comm *comm,
		  const struct collective_pending *p, const struct collective_pending *done)
{
	int64_t last = INT64_MIN, second = INT64_MIN;
	uint32_t reference = node_of(c, comm, 0);
	struct late_rank *l;
	struct tally_pane *pane;
	uint32_t who = 0;
	uint64_t ns, wait;

	for (uint32_t i = 0; i < comm->members.n; i++) {
		int64_t at = p->entries[i].enter_ns -
			     clocks_ahead(&c->clocks, reference, node_of(c, comm, i));

		if (at > last) {
			second = last;
			last = at;
			who = i;
		} else if (at > second) {
			second = at;
		}
	}
	ns = (uint64_t)(last - second);
	wait = waited(comm, done, who);
	ns = wait < ns ? wait : ns;
	if (ns == 0)
		return true;
	forget(s, comm);
	l = late_of(s, comm, who);
	if (!l)
		return false;
	if (l->count++ == 0)
		l->first_ns = second;
	l->last_ns = last;
	l->lost_ns += ns;
	l->op = comm->members.v[who].op;
	l->stack = comm->members.v[who].stack;
	if (ns > l->worst.lost_ns)
		l->worst = (struct fact_moment){ .end_ns = p->entries[who].enter_ns,
						 .dur_ns = (uint64_t)(last - second),
						 .lost_ns = ns,
						 .thread = p->entries[who].thread,
						 .op = p->entries[who].op,
						 .event_ns = p->entries[who].return_ns };
	pane = &l->panes[(uint64_t)(last / TALLY_PANE_NS) % TALLY_PANES];
	if (pane->pane != last / TALLY_PANE_NS)
		*pane = (struct tally_pane){ .pane = last / TALLY_PANE_NS };
	pane->ns += ns;
	pane->count++;
	compare(l, comm, p);
	return true;
}

/* Else collectives with the same number are not the same. */
static bool all_counted(const struct cause *c, const struct collective_comm *comm, int64_t ns)
{
	for (uint32_t i = 0; c->paused.lists.n && i < comm->members.n; i++)
		if (cause_uncounted(c, comm->members.v[i].process, ns))
			return false;
	return true;
}

static bool piece(void *state, struct cause *c, const struct line_piece *p)
{
	struct straggler *s = state;
	struct collective_pending *done = NULL;
	const struct collective_pending *before;
	struct collective_comm *comm;

	if (p->before_ns) {
		struct parts parts;
		struct line_piece before_it = line_before(p, &parts);

		if (!collectives_piece(&s->all, &before_it))
			return false;
	}
	if (p->ev && p->op->source == SOURCE_NCCL && !p->open) {
		/* Until now there was no communicator that other calls could matter to. */
		watches_wake(&c->watches, s);
		if (!collectives_event(&s->all, p->ev, p->op, p->process, p->thread, &comm,
				       &done) ||
		    (!cause_uncounted(c, p->process, p->end_ns) &&
		     !clocks_entered(&c->clocks, &s->all, p)))
			return false;
	}
	if (p->depth == 0 && p->ev && p->op->flags & OP_CALL)
		clocks_call(&c->clocks, c->w, p);
	if (done && comm->members.n > 1 && !comm->differs && all_counted(c, comm, p->end_ns)) {
		s->joined++;
		before = collectives_before(comm, done);
		if (before && !judge(s, c, comm, before, done))
			return false;
	}
	return p->depth > 0 || collectives_piece(&s->all, p);
}

/* "was preempted, by hog (pid 12)", "worked longer on its CPU": the state it was longest in beyond the others. */
/* What it had more of than the others, most of all; PART_COUNT: nothing that was recorded. */
static unsigned most_more(const struct cause *c, const struct late_rank *l)
{
	unsigned most = PART_SELF;

	for (unsigned k = 0; k < PART_COUNT; k++)
		most = l->more_ns[k] > l->more_ns[most] ? k : most;
	return l->more_ns[most] == 0 || (most == PART_SELF && cause_blind(c)) ? PART_COUNT : most;
}

static void reason(const struct cause *c, const struct late_rank *l, struct buf *out)
{
	const struct line_culprit *by = culprit_get(c->tally.culprits, l->by);
	unsigned most = most_more(c, l);

	if (most == PART_COUNT) {
		buf_puts(out, "for no reason that was recorded");
		return;
	}
	if (most == PART_SELF)
		buf_printf(out, "it computed %s longer than the others on its CPU",
			   human_ns(l->more_ns[most]).s);
	else
		buf_printf(out, "it was %s %s longer than the others", part_text((enum part)most),
			   human_ns(l->more_ns[most]).s);
	if (by && 1u << most & PARTS_HOST && l->by_ns * 2 > l->more_ns[most]) {
		buf_puts(out, ", mostly by ");
		name_culprit_full(out, c->w, &c->tally, by);
	}
}

static int tell(struct cause *c, struct late_rank *l, double share, struct err *e)
{
	const struct collective_rank *m = &l->comm->members.v[l->member];
	struct buf who = { 0 }, why = { 0 }, identity = { 0 }, command = { 0 };
	struct fact f = { .kind = "collective-straggler",
			  .process = m->process,
			  .first_ns = l->first_ns,
			  .last_ns = l->last_ns,
			  .lost_ns = l->lost_ns,
			  .count = l->count,
			  .counted = "collectives",
			  .gain = FACT_GAIN_ALL,
			  .share = share,
			  .explained = -1,
			  .unexplained = -1,
			  .part_ns = l->more_ns,
			  .op = l->op,
			  .nsites = 1,
			  .nmoments = 1 };
	int rc;

	fact_victim(&f, c, &who);
	reason(c, l, &why);
	buf_printf(&identity, "rank %" PRIu32 " of %" PRIu32, m->rank, l->comm->ranks);
	f.identity = buf_text(&identity);
	f.culprit.kind = "process";
	f.culprit.text = buf_text(&who);
	f.culprit.pid =
		world_get_process(c->w, m->process) ? world_get_process(c->w, m->process)->tgid : 0;
	f.sites[0] = (struct where_place){
		.op = l->op, .stack = l->stack, .lost_ns = l->lost_ns, .affected = l->count
	};
	f.moments[0] = l->worst;
	f.moments[0].text = "entered last: the other ranks had been waiting";
	buf_printf(&f.summary, "Rank %" PRIu32 ", %s, kept the other ranks waiting for ", m->rank,
		   buf_text(&who));
	fact_amount(&f, &f.summary);
	buf_printf(&f.summary, ": %s", buf_text(&why));
	fact_evidence(&f, "ranks of the communicator that were recorded",
		      (double)l->comm->members.n, "");
	fact_evidence(&f, "ranks of the communicator", l->comm->ranks, "");
	fact_evidence(&f, "longest that the others waited for it", (double)l->worst.lost_ns, "ns");
	if (most_more(c, l) == PART_SELF) {
		sampling_command(c, f.culprit.pid, &command);
		fact_fix(&f,
			 "Give this rank as much to compute as the others: look at what it "
			 "computes that they do not",
			 buf_text(&command), 0, l->lost_ns,
			 "of the time between the last and the last but one to enter; the command "
			 "shows which lines it computes in");
	} else {
		fact_fix(&f, "Mend what keeps this rank from entering with the others",
			 "ingero-explain --per-process run.ige", 0, l->lost_ns,
			 "of the time between the last and the last but one to enter");
	}
	rc = fact_tell(c, &f, &l->told, e);
	fact_free(&f);
	buf_free(&who);
	buf_free(&why);
	buf_free(&identity);
	buf_free(&command);
	return rc;
}

static int settle(void *state, struct cause *c, int64_t pane, struct err *e)
{
	struct straggler *s = state;
	int rc = collective_mismatches_tell(&s->mismatches, c, &s->all, e);

	for (size_t i = 0; i < s->late.n && rc == 0; i++) {
		struct late_rank *l = &s->late.v[i];
		uint64_t wall = c->ended ? cause_wall_ns(c) : (uint64_t)TALLY_PANES * TALLY_PANE_NS,
			 count = l->count, ns = l->lost_ns;
		double share;

		if (!c->ended)
			ns = tally_window(l->panes, pane, &count);
		share = wall ? (double)ns / (double)wall : 0;
		if ((fact_material(c, ns, count, wall) || (c->ended && l->told.revision)) &&
		    fact_due(c, &l->told, l->lost_ns, share))
			rc = tell(c, l, share, e);
	}
	return rc;
}

static void end(void *state)
{
	struct straggler *s = state;

	collectives_free(&s->all);
	vec_free(&s->mismatches.told);
	vec_free(&s->late);
}

const struct watch_def watch_collective_straggler = {
	.name = "collective-straggler",
	.size = sizeof(struct straggler),
	.wants = wants,
	.piece = piece,
	.settle = settle,
	.free = end,
};
