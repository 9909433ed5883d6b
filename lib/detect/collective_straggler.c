/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective-straggler: ranks wait for one that enters their collectives late. Lost is by how much
 * it entered after the last of those that were not late, at most what these waited for the device
 * longer than it did. Not this: entries far apart that nobody waits for, as of hosts that run
 * ahead. Why it was late is what its path had more of than the others' paths, from the collective
 * before to this one (lib/tracks/track_excess.h).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "lib/detect/detect_internal.h"
#include "lib/account/finding_details.h"
#include "lib/account/fact.h"
#include "lib/account/names.h"
#include "lib/account/sampling.h"
#include "lib/tracks/reason.h"
#include "lib/tracks/track_excess.h"
#include "lib/gpustate/collectives.h"

/* Lateness of less than this share of the way from one collective to the next is not explained: it
 * is what the paths leave out of their causes, too. */
#define EXPLAINED_SHARE PATH_CAUSE_SHARE
/* Windows that wait for their paths to become known; beyond, the oldest are given up. */
#define WINDOWS_WAITING 65536
/* Kept to know which were in steps: 6 MiB. */
#define LATE_TIMES 262144
/* A reason of a rank's lateness is reported from this share of it, and at most so many of them. */
#define REASON_SHARE 0.25
#define REASONS	     2
#define REASON_LINES 3 /* among the evidence */
/* Less of it is gained for certain: others would still be late. */
#define ALONE 0.9

/* All times on one clock. */
struct arrival {
	int64_t at_ns;
	uint32_t member;
};

struct late_rank {
	struct collective_comm *comm;
	uint32_t member, of; /* of: so many, as far as they were known */
	int64_t first_ns, last_ns;
	uint64_t lost_ns, count;
	uint64_t alone_ns; /* of lost_ns: gained when only this rank is mended */
	uint64_t together; /* of count: others were late with it */
	uint16_t op;
	uint32_t stack;
	struct fact_moment worst;
	uint32_t waiting; /* for it: so many ranks at most */
	struct track_excess more;
	struct tally_pane panes[TALLY_PANES];
	struct fact_told told;
};

/* A collective that was entered late. */
struct late_time {
	size_t late; /* index of the late_rank */
	int64_t at_ns;
	uint64_t ns;
};

/* The lateness of a rank as reported. */
struct late_amount {
	uint64_t ns, count;
	double share;
	bool of_steps; /* of those in its steps, and of these */
};

/* The ways of the ranks to a collective: the late one's first, then those of ranks that were not
 * late. */
struct late_windows {
	size_t late, n; /* late: index of the late_rank; n: how many ways */
	struct track_window_of *v;
};

struct straggler {
	VEC(struct late_rank) late;
	VEC(struct arrival) order;	  /* scratch */
	VEC(struct late_windows) waiting; /* oldest first */
	size_t windows;			  /* in all of them */
	VEC(struct late_time) times;	  /* LATE_TIMES at most */
	bool untimed;			  /* there were more */
};

static int compare_arrivals(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	/* At the same time the first is the last. */
	return x->member > y->member ? -1 : x->member < y->member;
}

/* Sorts the n arrivals, at least 2 of them; the last ones, as many as it returns, are the late
 * ranks: those behind the widest gap between two arrivals, at most half of all. Two that arrive
 * together would hide each other if only the last one counted. */
static size_t find_late(struct arrival *v, size_t n)
{
	int64_t widest = 0;
	size_t late = 1;

	qsort(v, n, sizeof(*v), compare_arrivals);
	for (size_t k = 1; k <= n / 2; k++) {
		int64_t gap = v[n - k].at_ns - v[n - k - 1].at_ns,
			spread = v[n - 1].at_ns - v[n - k].at_ns;

		if (gap > widest && (k == 1 || spread < gap)) {
			widest = gap;
			late = k;
		}
	}
	return late;
}

static unsigned subscribe_op(const struct op_def *op)
{
	return SUBSCRIBE_CALLS |
	       (op && op->source == SOURCE_NCCL ? SUBSCRIBE_INNER_CALLS : SUBSCRIBE_LAZY);
}

static void drop_times(struct straggler *s, size_t late)
{
	size_t keep = 0;

	for (size_t i = 0; i < s->times.n; i++)
		if (s->times.v[i].late != late)
			s->times.v[keep++] = s->times.v[i];
	s->times.n = keep;
}

/* False: out of memory. */
static bool add_time(struct straggler *s, const struct late_rank *l, int64_t at_ns, uint64_t ns)
{
	if (s->times.n < LATE_TIMES)
		return vec_push(&s->times,
				((struct late_time){ (size_t)(l - s->late.v), at_ns, ns }));
	s->untimed = true;
	return true;
}

/* Resets the ranks that were counted as late while not all members were known: the others come
 * later in the recording, if their clock is far behind. */
static void reset_late_ranks(struct straggler *s, const struct collective_comm *comm)
{
	for (size_t i = 0; i < s->late.n; i++) {
		struct late_rank *l = &s->late.v[i];

		if (l->comm != comm || l->of == comm->members.n)
			continue;
		track_excess_free(&l->more);
		drop_times(s, i);
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

/* How much longer than this one those that were not late waited on the device from this collective
 * to the next, on average: what all wait alike is the device's own work. */
static uint64_t waited_ns(const struct straggler *s, size_t in_time, uint32_t member,
			  const struct collective_pending *done)
{
	uint64_t ns = 0, own = done->entries[member].device_ns;

	for (size_t i = 0; i < in_time; i++)
		ns += done->entries[s->order.v[i].member].device_ns;
	ns /= in_time;
	return ns > own ? ns - own : 0;
}

/* The way of a member to this collective: from the one before, if that is known, or from when it
 * joined. */
static struct track_window_of window_of(const struct collective_comm *comm,
					const struct collective_pending *p, uint32_t member)
{
	const struct collective_pending *before = collectives_before(comm, p);

	return (struct track_window_of){ .anchor = p->entries[member].thread,
					 .from_ns = before ? before->entries[member].return_ns
							   : comm->members.v[member].joined_ns,
					 .to_ns = p->entries[member].enter_ns };
}

static void drop_windows(struct straggler *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		s->windows -= s->waiting.v[i].n;
		free(s->waiting.v[i].v);
	}
	s->waiting.n -= n;
	if (n && s->waiting.n)
		memmove(s->waiting.v, s->waiting.v + n, s->waiting.n * sizeof(*s->waiting.v));
}

/* Remembers what to compare, to know why this one was late by that much. False: out of memory. */
static bool keep_windows(struct straggler *s, const struct late_rank *l, size_t in_time,
			 const struct collective_pending *p, uint64_t late_ns)
{
	struct track_window_of own = window_of(l->comm, p, l->member);
	struct late_windows w = { (size_t)(l - s->late.v), in_time + 1, NULL };

	if ((p->sequence && !collectives_before(l->comm, p)) || own.to_ns <= own.from_ns ||
	    (double)late_ns < EXPLAINED_SHARE * (double)(own.to_ns - own.from_ns))
		return true;
	while (s->waiting.n && s->windows + w.n > WINDOWS_WAITING)
		drop_windows(s, 1);
	w.v = calloc(w.n, sizeof(*w.v));
	if (!w.v || !vec_push(&s->waiting, w)) {
		free(w.v);
		return false;
	}
	s->windows += w.n;
	w.v[0] = own;
	for (size_t i = 0; i < in_time; i++)
		w.v[i + 1] = window_of(l->comm, p, s->order.v[i].member);
	return true;
}

/* When the members entered, on one clock, the late ones last. False: out of memory. */
static bool find_order(struct straggler *s, const struct cause *c,
		       const struct collective_comm *comm, const struct collective_pending *p,
		       size_t *late)
{
	uint32_t reference = world_process_node(c->w, comm->members.v[0].process);

	s->order.n = 0;
	for (uint32_t i = 0; i < comm->members.n; i++) {
		uint32_t node = world_process_node(c->w, comm->members.v[i].process);
		int64_t ahead_ns = clocks_ahead(&c->clocks, reference, node);

		if (!vec_push(&s->order, (struct arrival){ p->entries[i].enter_ns - ahead_ns, i }))
			return false;
	}
	*late = find_late(s->order.v, s->order.n);
	return true;
}

/* The i-th of the order was late. */
static bool add_late(struct straggler *s, struct collective_comm *comm, size_t i, size_t in_time,
		     const struct collective_pending *p, const struct collective_pending *done)
{
	const struct arrival *at = &s->order.v[i];
	const struct collective_entry *own = &p->entries[at->member];
	int64_t before_ns = s->order.v[in_time - 1].at_ns;
	uint64_t late_ns = (uint64_t)(at->at_ns - before_ns), alone_ns = 0,
		 ns = waited_ns(s, in_time, at->member, done);
	struct late_rank *l;

	ns = ns < late_ns ? ns : late_ns;
	if (ns == 0)
		return true;
	l = late_of(s, comm, at->member);
	if (!l)
		return false;
	if (i + 1 == s->order.n)
		alone_ns = (uint64_t)(at->at_ns - s->order.v[i - 1].at_ns);
	if (l->count++ == 0)
		l->first_ns = before_ns;
	l->last_ns = at->at_ns;
	l->lost_ns += ns;
	l->alone_ns += alone_ns < ns ? alone_ns : ns;
	l->together += in_time + 1 < s->order.n;
	l->op = comm->members.v[at->member].op;
	l->stack = comm->members.v[at->member].stack;
	if (ns > l->worst.lost_ns) {
		l->worst = (struct fact_moment){ .end_ns = own->enter_ns,
						 .dur_ns = late_ns,
						 .lost_ns = ns,
						 .thread = own->thread,
						 .op = own->op,
						 .event_ns = own->return_ns };
	}
	l->waiting = in_time > l->waiting ? (uint32_t)in_time : l->waiting;
	tally_pane_add(l->panes, at->at_ns / TALLY_PANE_NS, ns, 1);
	/* Steps are by the clock of its own machine. */
	return add_time(s, l, own->enter_ns, ns) && keep_windows(s, l, in_time, p, ns);
}

/* All ranks entered `done`: what followed the collective before it is known. */
static bool add_late_ranks(struct straggler *s, const struct cause *c, struct collective_comm *comm,
			   const struct collective_pending *done)
{
	const struct collective_pending *p = collectives_before(comm, done);
	size_t late, n;

	if (!p || !find_order(s, c, comm, p, &late))
		return !p;
	reset_late_ranks(s, comm);
	n = s->order.n;
	for (size_t i = n - late; i < n; i++)
		if (!add_late(s, comm, i, n - late, p, done))
			return false;
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

static bool on_span(void *state, struct cause *c, const struct line_piece *p)
{
	struct straggler *s = state;
	struct collective_pending *done = NULL;
	struct collective_comm *comm;

	if (p->ev && p->op->source == SOURCE_NCCL && !p->open) {
		/* Until now there was no communicator that other calls could matter to. */
		detectors_wake(&c->detectors, s);
		if (!collectives_event(&c->collectives, p->ev, p->op, p->process, p->thread, &comm,
				       &done) ||
		    (!cause_uncounted(c, p->process, p->end_ns) &&
		     !clocks_entered(&c->clocks, &c->collectives, p)))
			return false;
	}
	if (p->depth == 0 && p->ev && p->op->flags & OP_CALL)
		clocks_call(&c->clocks, c->w, p);
	if (done && comm->members.n > 1 && !comm->differs && all_counted(c, comm, p->end_ns) &&
	    !add_late_ranks(s, c, comm, done))
		return false;
	return p->depth > 0 ||
	       collectives_waited(&c->collectives, p->thread, parts_get(p->parts, PART_DEVICE));
}

/* Whether all of these are. known: up to when each thread's path is, as far as it was asked for. */
static bool are_known(const struct cause *c, const struct late_windows *w, struct map *known)
{
	for (size_t i = 0; i < w->n; i++) {
		uint64_t ns;

		/* Where memory for the answer is exhausted, it is asked for again. */
		if (!map_get(known, w->v[i].anchor, &ns)) {
			ns = (uint64_t)path_tracks_known_ns(c->tracks, w->v[i].anchor);
			map_put(known, w->v[i].anchor, ns);
		}
		if ((int64_t)ns < w->v[i].to_ns)
			return false;
	}
	return true;
}

/* Compares what is known by now; the rest waits, behind the first that is not. */
static int explain_some(struct straggler *s, const struct cause *c, struct err *e)
{
	struct map known = { 0 };
	size_t done = 0;
	int rc = 0;

	for (; done < s->waiting.n && rc == 0; done++) {
		const struct late_windows *w = &s->waiting.v[done];

		if (!c->ended && !are_known(c, w, &known))
			break;
		rc = track_excess_add(&s->late.v[w->late].more, c->tracks, w->v, w->n, e);
	}
	drop_windows(s, done);
	map_free(&known);
	return rc;
}

/* "it was on the CPU in decode (data.py:41); hog (pid 12) had the CPU" */
static void print_reason(const struct cause *c, const struct path_causes *why, struct buf *out)
{
	for (size_t i = 0; i < why->v.n && i < REASONS; i++) {
		if (i && (double)why->v.v[i].ns < REASON_SHARE * (double)why->ns)
			break;
		buf_puts(out, i ? "; " : "");
		reason_print_past(out, path_tracks_names(c->tracks), &why->v.v[i]);
	}
	if (!why->v.n)
		buf_puts(out, "for no reason that was recorded");
}

/* How long it did what of that. */
static void add_reasons(const struct cause *c, const struct path_causes *why, struct fact *f)
{
	for (size_t i = 0; i < why->v.n && i < REASON_LINES; i++) {
		const struct path_cause *cause = &why->v.v[i];

		/* A cause that is another program has no source line. */
		bool whole = cause->class == PATH_TAKEN || cause->class == PATH_RECORDER;

		for (unsigned k = 0; k < cause->nlines && k < (whole ? 1 : REASON_LINES); k++) {
			struct path_cause one = *cause;
			struct buf text = { 0 };

			one.lines[0] = cause->lines[k];
			one.nlines = 1;
			one.ns = whole ? cause->ns : one.lines[0].ns;
			if ((double)one.ns < PATH_CAUSE_SHARE * (double)why->ns)
				break;
			one.longest_ns = 0;
			buf_puts(&text, "more than the others: ");
			reason_print_past(&text, path_tracks_names(c->tracks), &one);
			fact_evidence(f, details_text(&f->found, &text), (double)one.ns, "ns");
		}
	}
}

static void add_fixes(const struct cause *c, const struct path_causes *why, struct fact *f)
{
	if (why->v.n && path_cause_is_work(&why->v.v[0]))
		fact_fix(f,
			 "Give this rank as much to compute as the others: look at what it "
			 "computes that they do not",
			 sampling_command(c, f->culprit.pid, &f->found), 0, f->lost_ns,
			 "of the time by which it entered after the ranks that were not late; the "
			 "command shows which lines it computes in");
	else
		fact_fix(f, "Mend what keeps this rank from entering with the others",
			 "ingero-explain --per-process run.ige", 0, f->lost_ns,
			 "of the time by which it entered after the ranks that were not late");
}

static void add_evidence(const struct cause *c, const struct late_rank *l,
			 const struct path_causes *why, struct fact *f)
{
	fact_evidence(f, "ranks of the communicator that were recorded", (double)l->comm->members.n,
		      "");
	fact_evidence(f, "ranks of the communicator", l->comm->ranks, "");
	fact_evidence(f, "longest that the others waited for it", (double)l->worst.lost_ns, "ns");
	if (l->together)
		fact_evidence(f, "collectives that other ranks entered as late",
			      (double)l->together, "");
	add_reasons(c, why, f);
}

static void print_summary(const struct cause *c, const struct late_rank *l,
			  const struct path_causes *why, struct fact *f)
{
	buf_printf(&f->summary, "Rank %" PRIu32 ", %s, kept %" PRIu32 " other rank%s waiting for ",
		   l->comm->members.v[l->member].rank, f->culprit.text, l->waiting,
		   l->waiting == 1 ? "" : "s");
	fact_amount(f, &f->summary);
	buf_puts(&f->summary, ": ");
	print_reason(c, why, &f->summary);
}

/* Whether the recorder kept it from entering with the others more than all else: that is no fault
 * of the job. */
static bool is_recorders(const struct path_causes *why)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < why->v.n; i++)
		ns += why->v.v[i].class == PATH_RECORDER ? why->v.v[i].ns : 0;
	return ns > why->ns / 2;
}

static int report_with_causes(struct cause *c, struct late_rank *l, const struct path_causes *why,
			      const struct late_amount *lost, struct err *e)
{
	const struct collective_rank *m = &l->comm->members.v[l->member];
	struct fact f = { .kind = "collective-straggler",
			  .process = m->process,
			  .first_ns = l->first_ns,
			  .last_ns = l->last_ns,
			  .lost_ns = lost->ns,
			  .count = lost->count,
			  .counted = "collectives",
			  .gain = (double)l->alone_ns < ALONE * (double)l->lost_ns ? FACT_GAIN_SOME
										   : FACT_GAIN_ALL,
			  .share = lost->share,
			  .of_steps = lost->of_steps,
			  .op = l->op,
			  .nsites = 1,
			  .nmoments = 1 };

	f.identity =
		details_print(&f.found, "rank %" PRIu32 " of %" PRIu32, m->rank, l->comm->ranks);
	fact_blame_process(c, &f, m->process);
	f.sites[0] = (struct where_place){
		.op = l->op, .stack = l->stack, .lost_ns = l->lost_ns, .affected = l->count
	};
	f.moments[0] = l->worst;
	f.moments[0].text = "entered last: the other ranks had been waiting";
	print_summary(c, l, why, &f);
	add_evidence(c, l, why, &f);
	add_fixes(c, why, &f);
	return fact_tell(c, &f, &l->told, e);
}

static int report_rank(struct cause *c, struct late_rank *l, const struct late_amount *lost,
		       struct err *e)
{
	struct path_causes why = { 0 };
	int rc = 0;

	if (!track_excess_causes(&l->more, c->tracks, &why))
		rc = err_nomem(e);
	else if (l->told.revision || !is_recorders(&why))
		rc = report_with_causes(c, l, &why, lost, e);
	path_causes_free(&why);
	return rc;
}

static bool is_in_steps(const struct cause *c, uint32_t process, int64_t ns)
{
	for (size_t i = 0; i < path_tracks_count(c->tracks); i++) {
		struct track t = path_tracks_get(c->tracks, i);

		if (t.loop && cause_process_of(c, t.anchor) == process && ns >= t.loop->first_ns &&
		    ns <= t.loop->last_ns)
			return true;
	}
	return false;
}

/* In the end, of its steps, as all losses are; of all it was late by where it has none, or was late
 * outside of them alone. */
static struct late_amount amount_of(const struct straggler *s, const struct cause *c,
				    const struct late_rank *l)
{
	uint32_t process = l->comm->members.v[l->member].process;
	uint64_t span = lost_time_process(&c->lost_time, process)->span_ns;
	struct late_amount in = { .of_steps = true },
			   all = { l->lost_ns, l->count, cause_share(c, l->lost_ns), false };

	for (size_t i = 0; i < s->times.n && span && !s->untimed; i++) {
		const struct late_time *at = &s->times.v[i];

		if (&s->late.v[at->late] != l || !is_in_steps(c, process, at->at_ns))
			continue;
		in.ns += at->ns;
		in.count++;
	}
	if (!in.ns)
		return all;
	in.share = (double)in.ns / (double)span;
	return in;
}

static int flush_window(void *state, struct cause *c, int64_t pane, struct err *e)
{
	struct straggler *s = state;
	int rc = explain_some(s, c, e);

	for (size_t i = 0; i < s->late.n && rc == 0; i++) {
		struct late_rank *l = &s->late.v[i];
		struct late_amount of = { .ns = l->lost_ns, .count = l->count };
		uint64_t count = 0, ns, wall = (uint64_t)TALLY_PANES * TALLY_PANE_NS;

		if (c->ended) {
			of = amount_of(s, c, l);
			ns = of.ns;
			count = of.count;
			wall = of.share > 0 ? (uint64_t)((double)of.ns / of.share) : 0;
		} else {
			ns = tally_window(l->panes, pane, &count);
			of.share = (double)ns / (double)wall;
		}
		if ((fact_material(c, ns, count, wall) || (c->ended && l->told.revision)) &&
		    fact_due(c, &l->told, of.ns, of.share))
			rc = report_rank(c, l, &of, e);
	}
	return rc;
}

static void free_state(void *state)
{
	struct straggler *s = state;

	drop_windows(s, s->waiting.n);
	vec_free(&s->waiting);
	vec_free(&s->order);
	vec_free(&s->times);
	for (size_t i = 0; i < s->late.n; i++)
		track_excess_free(&s->late.v[i].more);
	vec_free(&s->late);
}

const struct detector detector_collective_straggler = {
	.size = sizeof(struct straggler),
	.subscribe_op = subscribe_op,
	.on_span = on_span,
	.flush_window = flush_window,
	.free = free_state,
};
