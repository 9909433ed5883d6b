/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective-mismatch: ranks of a communicator whose collectives of the same number are not the
 * same. Of the ranks in the collective of a number, the smaller group is odd; of equal groups, the
 * one that does not do what all did before.
 */
#include "lib/detect/detect_internal.h"

#include <inttypes.h>

#include "lib/base/fmt.h"
#include "lib/account/fact.h"
#include "lib/account/finding_details.h"
#include "lib/account/names.h"

/* One way to enter it, and who did. */
struct way {
	const struct collective_entry *e;
	uint32_t member, n; /* the first of n members */
};

static struct way find_way(const struct collective_comm *comm, uint32_t member)
{
	struct way w = { .e = &comm->differs[member], .member = member };

	for (uint32_t i = comm->differs_n; i-- > 0;) {
		const struct collective_entry *e = &comm->differs[i];

		if (!e->entered || e->op != w.e->op || e->bytes != w.e->bytes)
			continue;
		w.n++;
		w.member = i;
	}
	w.e = &comm->differs[w.member];
	return w;
}

static bool is_as_before(const struct collective_comm *comm, const struct way *w)
{
	return w->e->op == comm->before_op && w->e->bytes == comm->before_bytes;
}

static bool is_odder(const struct collective_comm *comm, const struct way *a, const struct way *b)
{
	if (a->n != b->n)
		return a->n < b->n;
	return !is_as_before(comm, a) && is_as_before(comm, b);
}

/* The odd way, and the one of most of the others. False: it is the same on all that entered it. */
static bool find_ways(const struct collective_comm *comm, struct way *odd, struct way *most)
{
	bool some = false;

	for (uint32_t i = 0; i < comm->differs_n; i++) {
		struct way w;

		if (!comm->differs[i].entered)
			continue;
		w = find_way(comm, i);
		if (!some || is_odder(comm, &w, odd))
			*odd = w;
		if (!some || is_odder(comm, most, &w))
			*most = w;
		some = true;
	}
	/* All are alike: report the first as the usual one. */
	for (uint32_t i = 0; some && odd->member == most->member && i < comm->differs_n; i++)
		if (comm->differs[i].entered)
			*most = find_way(comm, i);
	return some && odd->member != most->member;
}

static void print_way(const struct cause *c, const struct collective_comm *comm,
		      const struct way *w, struct buf *out)
{
	const struct collective_rank *m = &comm->members.v[w->member];
	const struct op_def *op = world_op(c->w, w->e->op);
	struct where_place place = { .stack = w->e->stack };

	buf_puts(out, op ? op->name : "?");
	if (w->e->bytes)
		buf_printf(out, " of %s", fmt_bytes(w->e->bytes).s);
	buf_printf(out, " on rank %" PRIu32 ", ", m->rank);
	name_victim(out, c->w, &c->tally, m->process);
	buf_puts(out, ", ");
	if (w->n > 1)
		buf_printf(out, "and %" PRIu32 " more, ", w->n - 1);
	fact_place(c, &place, out);
}

static void add_site(struct fact *f, const struct way *w)
{
	f->sites[f->nsites++] = (struct where_place){
		.op = w->e->op, .stack = w->e->stack, .affected = w->n, .bytes = w->e->bytes
	};
}

static void add_moment(struct fact *f, const struct way *w, const char *text)
{
	f->moments[f->nmoments++] =
		(struct fact_moment){ .end_ns = w->e->return_ns,
				      .dur_ns = (uint64_t)(w->e->return_ns - w->e->enter_ns),
				      .thread = w->e->thread,
				      .op = w->e->op,
				      .text = text };
}

/* Whether calls were counted up to then on these ranks: else their numbers mean nothing. */
static bool is_counted(const struct cause *c, const struct collective_comm *comm,
		       const struct way *w)
{
	return !cause_uncounted(c, comm->members.v[w->member].process, w->e->return_ns);
}

static int report_ranks(struct cause *c, const struct collective_comm *comm, const struct way *odd,
			const struct way *most, struct fact_told *told, struct err *e)
{
	const struct collective_rank *m = &comm->members.v[odd->member];
	bool first = odd->e->return_ns <= most->e->return_ns;
	struct fact f = { .kind = "collective-mismatch",
			  .process = m->process,
			  .counted = "ranks",
			  .count = odd->n,
			  .first_ns = first ? odd->e->return_ns : most->e->return_ns,
			  .last_ns = first ? most->e->return_ns : odd->e->return_ns,
			  .severity = FINDING_HIGH,
			  .gain = FACT_GAIN_NOTHING,
			  .op = odd->e->op };

	f.identity = details_print(&f.found, "rank %" PRIu32 " of %" PRIu32, m->rank, comm->ranks);
	add_site(&f, odd);
	add_site(&f, most);
	fact_blame_site(c, &f, "a collective");
	f.culprit.pid = world_process_pid(c->w, m->process);
	buf_printf(&f.summary, "Collective number %" PRIu64 " is not the same on all ranks: ",
		   comm->differs_at);
	print_way(c, comm, odd, &f.summary);
	buf_puts(&f.summary, "; ");
	print_way(c, comm, most, &f.summary);
	buf_puts(&f.summary, ": what they enter from there on does not pair");
	add_moment(&f, first ? odd : most, NULL);
	add_moment(&f, first ? most : odd, NULL);
	fact_evidence(&f, "number of the collective", (double)comm->differs_at, "");
	fact_evidence(&f, "ranks of the communicator that were recorded", (double)comm->members.n,
		      "");
	fact_evidence(&f, "ranks of the communicator", comm->ranks, "");
	fact_fix(&f,
		 "Let all ranks enter the same collectives in the same order: look for one that "
		 "only some enter, such as a barrier of a checkpoint, a log or a metric",
		 "export TORCH_DISTRIBUTED_DEBUG=DETAIL", 0, 0,
		 "no time is lost by it until a rank waits for one that nobody else enters; the "
		 "setting lets PyTorch compare the ranks before each");
	return fact_tell(c, &f, told, e);
}

/* What was reported, by the number of the communicator. */
struct mismatches {
	VEC(struct fact_told) told;
};

static int flush_window(void *state, struct cause *c, int64_t pane, struct err *e)
{
	struct mismatches *m = state;
	int rc = 0;

	for (size_t i = 0; i < c->collectives.comms.n && rc == 0; i++) {
		const struct collective_comm *comm = c->collectives.comms.v[i];
		struct way odd, most;

		if (!comm->differs || comm->pairs || !find_ways(comm, &odd, &most) ||
		    !is_counted(c, comm, &odd) || !is_counted(c, comm, &most))
			continue;
		if (!vec_reach(&m->told, i))
			return err_nomem(e);
		if (fact_due_count(c, &m->told.v[i], odd.n))
			rc = report_ranks(c, comm, &odd, &most, &m->told.v[i], e);
	}
	return rc;
}

static void free_state(void *state)
{
	vec_free(&((struct mismatches *)state)->told);
}

const struct detector detector_collective_mismatch = { .size = sizeof(struct mismatches),
						       .flush_window = flush_window,
						       .free = free_state };
