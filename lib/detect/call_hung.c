/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call-hung: a call was entered and has not returned. Proven by the recorder's list of open calls,
 * at the end of the recording or when one was open longer than its threshold; reported when it has
 * been open for the time after which the recorder names open calls (record --hung, or a trigger's
 * time), and when no call of its op took a third of that and returned. Lost is all of the time
 * since it was entered, to the end of its thread where that was killed in it. A call that was
 * entered before the recording began is not on that list: it is known by the stack that its thread
 * sleeps with. collective-hang: the same where the process had entered a collective since it last
 * waited for the device with success. The recorded ranks are compared: which of them has not
 * entered the collective that the others wait in.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/fmt.h"
#include "lib/detect/hung_internal.h"
#include "lib/detect/detect_internal.h"
#include "lib/account/finding_details.h"

static const char collective_hang[] = "collective-hang";

#define HUNG_NS	   5000000000u /* the default of record --hung */
#define HUNG_TIMES 3
#define HUNG_OPEN  4096 /* open calls remembered; of those that returned as long as there is room */

static uint64_t limit_ns(const struct hung *h)
{
	return h->limit_ns ? h->limit_ns : HUNG_NS;
}

/* It is open still in the end, or its thread ended in it. */
static bool never_returned(const struct hung_call *call)
{
	return call->open.at_end || (!call->returned && call->ended_ns != INT64_MAX);
}

static unsigned subscribe_op(const struct op_def *op)
{
	if (!op)
		return 0;
	if (op->id == OP_PROC_EXIT)
		return SUBSCRIBE_EVENTS;
	if (op->source == SOURCE_NCCL)
		return SUBSCRIBE_CALLS | SUBSCRIBE_INNER_CALLS;
	/* Of other calls it matters that they return once one is known to be open. */
	return !(op->flags & OP_CALL)
		       ? 0
		       : SUBSCRIBE_CALLS | (op->flags & OP_SYNC ? 0 : SUBSCRIBE_LAZY);
}

static struct hung_process *process_of(struct hung *h, uint32_t process)
{
	return vec_reach(&h->processes, process) ? &h->processes.v[process] : NULL;
}

/* An outermost call of the thread returned: so did what was open inside it, and it itself. At the
 * end of one file it may have been open and return in the next. */
static void mark_returned(struct hung *h, const struct line_piece *p)
{
	for (size_t i = 0; i < h->calls.n; i++) {
		struct hung_call *call = &h->calls.v[i];

		if (call->open.thread == p->thread && call->open.start_ns >= p->start_ns &&
		    call->open.start_ns < p->end_ns &&
		    (!call->open.at_end || call->open.time_ns < p->end_ns)) {
			call->open.at_end = 0;
			h->some_returned = call->returned = true;
		}
	}
	map_del(&h->threads, p->thread);
}

static bool on_call(void *state, struct cause *c, const struct line_piece *p)
{
	struct hung *h = state;
	struct hung_process *of;

	if (p->open)
		return true;
	if (h->threads.n && p->depth == 0 && map_get(&h->threads, p->thread, NULL))
		mark_returned(h, p);
	if (p->op->source != SOURCE_NCCL && !(p->op->flags & OP_SYNC))
		return true;
	of = process_of(h, p->process);
	if (!of)
		return false;
	if (p->op->flags & OP_SYNC)
		of->collective = false;
	if (p->op->source == SOURCE_NCCL && p->op->flags & OP_SUBMIT) {
		of->collective = true;
		hung_rank_entered(of, c, p);
	}
	return true;
}

/* A thread ended: what was open in it does not return. A process did: of a rank that is why it
 * enters nothing more. */
static bool on_event(void *state, struct cause *c, const struct event *ev, const struct op_def *op)
{
	const struct world_ctx *ctx = world_get_ctx(c->w, ev->ctx);
	uint32_t process = cause_exited(c->w, ev);
	struct hung *h = state;
	struct hung_process *of;

	for (size_t i = 0; i < h->calls.n && ctx; i++) {
		if (h->calls.v[i].open.thread == ctx->thread && !h->calls.v[i].returned)
			h->calls.v[i].ended_ns = ev->end_ns;
	}
	if (!process || process >= h->processes.n)
		return true;
	for (size_t i = 0; i < h->calls.n; i++) /* in whichever thread */
		if (h->calls.v[i].process == process && !h->calls.v[i].returned &&
		    h->calls.v[i].ended_ns == INT64_MAX)
			h->calls.v[i].ended_ns = ev->end_ns;
	of = &h->processes.v[process];
	of->ended = true;
	of->ended_ns = ev->end_ns;
	of->status = 0;
	event_get(ev, op, COL_STATUS, &of->status);
	return true;
}

static uint64_t call_key(const struct rec_OPEN *o)
{
	return hash_u64((uint64_t)o->thread << 32 | o->op) ^ hash_u64((uint64_t)o->start_ns);
}

/* Make room: a call that returned is of no use. False: out of memory. */
static bool forget_returned(struct hung *h)
{
	size_t left = 0;

	for (size_t i = 0; i < h->calls.n; i++) {
		const struct hung_call *call = &h->calls.v[i];

		if (call->returned && !call->open.at_end) {
			map_del(&h->at, call_key(&call->open));
			continue;
		}
		if (left != i && !map_put(&h->at, call_key(&call->open), left))
			return false;
		h->calls.v[left++] = *call;
	}
	h->calls.n = left;
	h->some_returned = false;
	return true;
}

/* The recorder lists all calls that are open at the end, and most of them have only begun. Calls as
 * old as this one count as open, even if not as hung. */
static bool old_enough(uint64_t open_ns, uint64_t ns)
{
	return hist_cell(open_ns) >= hist_cell(ns / HUNG_TIMES);
}

static uint64_t kind_key(uint32_t process, uint32_t op)
{
	return (uint64_t)process << 32 | op;
}

static bool leave_out(struct hung *h, uint32_t process, const struct rec_OPEN *o)
{
	uint64_t n = 0;

	if (!o->at_end)
		return true;
	h->unlooked_at++;
	map_get(&h->unlooked, kind_key(process, o->op), &n);
	return map_put(&h->unlooked, kind_key(process, o->op), n + 1);
}

static bool on_record(void *state, struct cause *c, const struct record *r)
{
	struct hung *h = state;
	const struct rec_OPEN *o = &r->u.OPEN;
	const struct world_thread *th;
	struct hung_call call = { .open = *o, .ended_ns = INT64_MAX };
	uint64_t key, at;

	if (r->kind == RECORD_SESSION && REC_HAS(r, SESSION, hung_ns) && r->u.SESSION.hung_ns &&
	    (!h->limit_ns || r->u.SESSION.hung_ns < h->limit_ns))
		h->limit_ns = r->u.SESSION.hung_ns;
	if (r->kind != RECORD_OPEN)
		return true;
	call.named = !o->at_end;
	th = world_get_thread(c->w, o->thread);
	key = call_key(o);
	if (map_get(&h->at, key, &at)) {
		/* A flight recorder's file ends with what was open at its cut, and has been named a
		 * little later. */
		call.open.at_end |= h->calls.v[at].open.at_end;
		h->calls.v[at].named |= call.named;
		h->calls.v[at].open = call.open;
		return true;
	}
	if (!th || (o->at_end && !old_enough((uint64_t)(o->time_ns - o->start_ns), limit_ns(h))))
		return true;
	if (h->calls.n >= HUNG_OPEN && h->some_returned && !forget_returned(h))
		return false;
	if (h->calls.n >= HUNG_OPEN)
		return leave_out(h, th->process, o);
	call.process = th->process;
	detectors_wake(&c->detectors, h);
	return vec_push(&h->calls, call) && map_put(&h->at, key, h->calls.n - 1) &&
	       map_put(&h->threads, o->thread, 1) && process_of(h, call.process);
}

/* Another call is open around it on its thread. */
static bool is_nested(const struct hung *h, const struct hung_call *call, bool ended)
{
	for (size_t i = 0; i < h->calls.n; i++) {
		const struct rec_OPEN *o = &h->calls.v[i].open;

		if (o->thread == call->open.thread && o->depth < call->open.depth &&
		    (ended ? never_returned(&h->calls.v[i]) : !h->calls.v[i].returned))
			return true;
	}
	return false;
}

/* Where it was called from: a stack may have been taken in the call of another layer inside it
 * only. */
static uint32_t stack_of(const struct hung *h, const struct hung_call *call)
{
	uint32_t stack = call->open.stack, depth = UINT32_MAX;

	for (size_t i = 0; i < h->calls.n && !call->open.stack; i++) {
		const struct rec_OPEN *o = &h->calls.v[i].open;

		if (o->thread == call->open.thread && o->stack && o->depth > call->open.depth &&
		    o->depth < depth && o->start_ns >= call->open.start_ns &&
		    !h->calls.v[i].returned) {
			stack = o->stack;
			depth = o->depth;
		}
	}
	return stack;
}

/* Other calls of the same op and process took as long and did return. */
static bool is_usual_length(const struct cause *c, const struct hung *h,
			    const struct hung_call *call, uint64_t open_ns)
{
	uint64_t n = 0, open = 0; /* these are among the classes in the end */

	if (c->ended)
		map_get(&h->unlooked, kind_key(call->process, call->open.op), &open);
	for (size_t i = 0; i < c->classes.v.n; i++) {
		const struct cause_class *cl = &c->classes.v.v[i];

		if (cl->key.process != call->process || cl->key.op != call->open.op)
			continue;
		for (unsigned k = hist_cell(open_ns / HUNG_TIMES); k < HIST_CELLS; k++)
			n += hist_kept_cell(cl->plain, k)->count +
			     (cl->whole ? hist_kept_cell(cl->whole, k)->count : 0);
	}
	for (size_t i = 0; i < h->calls.n && c->ended; i++) {
		const struct rec_OPEN *o = &h->calls.v[i].open;

		open += h->calls.v[i].process == call->process && o->op == call->open.op &&
			o->at_end && old_enough((uint64_t)(o->time_ns - o->start_ns), open_ns);
	}
	return n > open;
}

static bool sum_up(struct cause *c, struct hung *h, uint32_t process, int64_t now_ns,
		   struct hung_sum *s)
{
	for (size_t i = 0; i < h->calls.n; i++) {
		const struct hung_call *call = &h->calls.v[i];
		int64_t until = call->ended_ns < now_ns ? call->ended_ns : now_ns;
		uint64_t ns;

		if (call->open.at_end && call->open.time_ns < until)
			until = call->open.time_ns; /* another machine's recording goes on */
		/* Where its probes were detached it may have returned. */
		if (call->process != process || call->open.start_ns >= until ||
		    cause_paused(c, process, 1u << op_tier((uint16_t)call->open.op),
				 call->open.start_ns, until) ||
		    (c->ended ? !never_returned(call) : call->returned) ||
		    is_nested(h, call, c->ended))
			continue;
		ns = (uint64_t)(until - call->open.start_ns);
		if ((ns < limit_ns(h) && !call->named) || is_usual_length(c, h, call, ns))
			continue;
		s->threads++;
		s->lost_ns += ns;
		if (s->threads == 1 || call->open.start_ns < s->first_ns)
			s->first_ns = call->open.start_ns;
		if (ns > s->longest_ns) {
			s->longest_ns = ns;
			s->longest = call;
		}
		if (!where_add(&s->where, 0, (uint16_t)call->open.op, stack_of(h, call), ns, ns))
			return false;
	}
	return true;
}

/* A waiting rank's stack shows nothing: what counts is what the late rank does, or why it ended. */
static void add_fixes(const struct cause *c, const struct hung *h, uint32_t process,
		      const struct hung_sum *s, struct fact *f)
{
	static const char basis[] = "a hang has no usual length: the work goes on when it ends";
	const char *stacks =
		details_print(&f->found, "sudo gdb -batch -p %" PRIu32 " -ex 'thread apply all bt'",
			      world_process_pid(c->w, s->late ? s->late->process : process));

	if (hung_rank_ended(h, s->late))
		fact_fix(f,
			 "Find out why that rank ended: what it said last, and what the kernel did",
			 "sudo dmesg -T | grep -iE 'killed process|segfault|xid'", 0, s->longest_ns,
			 "the others wait until their own time limit, if they have one");
	else if (s->differs && !s->late)
		fact_fix(f, "Mend the collective that differs: the finding collective-mismatch",
			 "ingero-explain --chains run.ige", 0, s->longest_ns, basis);
	else if (s->late)
		fact_fix(f, "Look at what every thread of the rank that is behind is doing", stacks,
			 0, s->longest_ns, basis);
	else
		fact_fix(
			f,
			"Look at what every thread of it is doing, then at the device's own errors",
			stacks, 0, s->longest_ns, basis);
}

/* How the process went that was in the call. */
static void end_text(const struct hung_process *of, struct buf *out)
{
	if (of->ended && of->status & 0x7f)
		buf_printf(out, "; signal %u ended it", (unsigned)(of->status & 0x7f));
	else
		buf_puts(out, of->ended ? "; then the process ended" : "; then its thread ended");
}

static int report_finding(struct cause *c, struct hung *h, uint32_t process,
			  const struct hung_sum *s, struct err *e)
{
	struct hung_process *of = &h->processes.v[process];
	const struct op_def *op = world_op(c->w, (uint16_t)s->longest->open.op);
	int64_t until_ns = s->longest->open.start_ns + (int64_t)s->longest_ns;
	const char *place;
	struct fact f = { .process = process,
			  .first_ns = s->first_ns,
			  .last_ns = until_ns,
			  .lost_ns = s->longest_ns,
			  .count = s->late ? s->ranks : s->threads,
			  .counted = s->late ? "ranks" : "threads",
			  .share = cause_share(c, s->longest_ns),
			  .severity = 3, /* work stopped */
			  .gain = FACT_GAIN_NOTHING,
			  .op = (uint16_t)s->longest->open.op };

	if (!of->kind)
		of->kind = of->collective || (op && op->source == SOURCE_NCCL) ? collective_hang
									       : "call-hung";
	of->first_ns = f.first_ns;
	of->last_ns = f.last_ns;
	f.kind = of->kind;
	of->counted = f.counted;
	if (h->unlooked_at)
		fact_evidence(&f, "more calls were open at the end, not looked at",
			      (double)h->unlooked_at, "calls");
	f.nsites = where_top(&s->where, 0, f.sites, FACT_SITES);
	place = fact_blame_place(c, &f);
	if (s->late) {
		hung_rank_text(c, h, s, &f);
		buf_printf(&f.summary, "; %" PRIu64 " rank%s for it: ", s->ranks,
			   s->ranks == 1 ? " waits" : "s wait");
	} else {
		f.culprit.text = details_print(&f.found, "the call %s", place);
	}
	fact_victim(&f, c, &f.summary);
	buf_printf(&f.summary, " has not returned for %s %s", fmt_ns(s->longest_ns).s, place);
	if (s->threads > 1)
		buf_printf(&f.summary, " and in %" PRIu64 " more threads", s->threads - 1);
	if (s->differs && !s->late)
		buf_printf(&f.summary,
			   "; its ranks entered different collectives as number %" PRIu64
			   ", and what they entered since does not pair",
			   s->differs_at);
	else if (of->kind == collective_hang && !s->late)
		buf_printf(&f.summary,
			   "; every %s has entered the collective it waits for: look at the ranks "
			   "that were not recorded, the network and the devices",
			   s->unseen ? "rank that was recorded until then" : "recorded rank");
	if (!s->longest->open.at_end && s->longest->ended_ns != INT64_MAX)
		end_text(of, &f.summary);
	if (s->longest->before)
		buf_puts(&f.summary, "; it was in it when the recording began");
	f.moments[f.nmoments++] = (struct fact_moment){
		.end_ns = until_ns,
		.dur_ns = s->longest_ns,
		.lost_ns = s->longest_ns,
		.thread = s->longest->open.thread,
		.op = f.op,
		.event_ns = s->longest->open.time_ns,
		.unended = !s->longest->open.at_end,
		.text = details_print(&f.found, "is from here on %s, and has not returned", place),
	};
	add_fixes(c, h, process, s, &f);
	if (process < c->tally.processes.n)
		c->tally.processes.v[process].hung = true;
	return fact_tell(c, &f, &of->told, e);
}

/* A call that was reported while it was open has returned since. */
static int report_returned(struct cause *c, struct hung *h, uint32_t process, struct err *e)
{
	struct hung_process *of = &h->processes.v[process];
	struct fact f = { .process = process,
			  .kind = of->kind,
			  .first_ns = of->first_ns,
			  .last_ns = of->last_ns,
			  .lost_ns = of->told.lost_ns,
			  .count = of->told.count,
			  .counted = of->counted,
			  .gain = FACT_GAIN_NOTHING,
			  .share = of->told.worst_share };

	f.culprit.kind = "code";
	f.culprit.text = "a call that took long";
	fact_victim(&f, c, &f.summary);
	buf_printf(&f.summary, " was in a call for more than %s, which returned in the end",
		   fmt_ns(of->told.lost_ns).s);
	return fact_tell(c, &f, &of->told, e);
}

/* Whether one of the reported calls is not known to have returned: its process was killed in it, or
 * the recording is cut. The report about it then stands. */
static bool left_open(const struct hung *h, uint32_t process)
{
	for (size_t i = 0; i < h->calls.n; i++) {
		const struct hung_call *call = &h->calls.v[i];

		if (call->process == process && !call->returned &&
		    call->open.start_ns + (int64_t)limit_ns(h) <= h->processes.v[process].last_ns)
			return true;
	}
	return false;
}

/* The outermost traced function on a stack; NULL: there is none. A driver's symbol may have a
 * version behind the name. */
static const struct op_def *op_on_stack(const struct cause *c, uint32_t stack)
{
	unsigned n = 0, nops;
	const uint32_t *frame = world_get_stack(c->w, stack, &n);
	const struct op_def *ops = op_builtin_all(&nops);

	for (unsigned i = n; i-- > 0;) {
		const struct world_symbol *symbol = world_get_symbol(c->w, frame[i]);
		struct bytes name = symbol ? world_text(c->w, symbol->name) : (struct bytes){ 0 };

		for (unsigned k = 0; k < nops && name.n; k++) {
			size_t len = strlen(ops[k].name);

			if (ops[k].flags & OP_CALL && name.n >= len &&
			    memcmp(name.p, ops[k].name, len) == 0 &&
			    (name.n == len || (name.n > len + 1 && name.p[len] == '_' &&
					       (name.p[len + 1] == 'v' || name.p[len + 1] == 'p'))))
				return &ops[k];
		}
	}
	return NULL;
}

static bool is_known(const struct hung *h, uint32_t process, const struct op_def *op)
{
	for (size_t i = 0; i < h->calls.n; i++)
		if (h->calls.v[i].process == process && h->calls.v[i].open.op == op->id &&
		    never_returned(&h->calls.v[i]))
			return true;
	return false;
}

/* Calls that nobody saw begin, by the stacks of threads that sleep when the recording ends. False:
 * out of memory. */
static bool add_earlier(struct hung *h, const struct cause *c)
{
	for (size_t i = 0; i < c->standing.v.n; i++) {
		const struct where_place *wait = &c->standing.v.v[i];
		const struct op_def *op = wait->used && wait->max_ns >= limit_ns(h)
						  ? op_on_stack(c, wait->stack)
						  : NULL;
		int64_t end_ns = cause_process_end(c, wait->subject);

		if (!op || is_known(h, wait->subject, op))
			continue;
		if (!vec_push(&h->calls,
			      (struct hung_call){
				      .open = { .time_ns = end_ns,
						.op = op->id,
						.start_ns = end_ns - (int64_t)wait->max_ns,
						.stack = wait->stack,
						.at_end = 1 },
				      .process = wait->subject,
				      .ended_ns = INT64_MAX,
				      .before = true }) ||
		    !process_of(h, wait->subject))
			return false;
	}
	return true;
}

static int flush_window(void *state, struct cause *c, int64_t pane, struct err *e)
{
	struct hung *h = state;
	int64_t now = c->ended ? c->end_ns : c->settled_ns;
	uint32_t n = (uint32_t)h->processes.n;
	struct hung_sum *sums;
	int rc = 0;

	if (c->ended && !add_earlier(h, c))
		return err_nomem(e);
	n = (uint32_t)h->processes.n;
	if (h->calls.n == 0)
		return 0;
	sums = calloc(n ? n : 1, sizeof(*sums));
	if (!sums)
		return err_nomem(e);
	/* There may be as many processes as came and went in days, and few of them had any. */
	for (size_t i = 0; i < h->calls.n; i++)
		sums[h->calls.v[i].process].any = true;
	for (uint32_t i = 0; i < n && rc == 0; i++) {
		if (!sums[i].any)
			continue;
		if (!sum_up(c, h, i, now, &sums[i]))
			rc = err_nomem(e);
		else if (sums[i].threads && h->processes.v[i].collective)
			sums[i].late = hung_rank_behind(h, c, i, &sums[i]);
	}
	if (rc == 0 && !hung_ranks_join(sums, n))
		rc = err_nomem(e);
	for (uint32_t i = 0; i < n && rc == 0; i++) {
		struct hung_process *of = &h->processes.v[i];

		if (sums[i].threads && fact_due(c, &of->told, sums[i].longest_ns, 0))
			rc = report_finding(c, h, i, &sums[i], e);
		else if (!sums[i].longest && c->ended && of->told.revision && !left_open(h, i))
			rc = report_returned(c, h, i, e);
	}
	for (uint32_t i = 0; i < n; i++)
		where_free(&sums[i].where);
	free(sums);
	return rc;
}

static void free_state(void *state)
{
	struct hung *h = state;

	map_free(&h->at);
	map_free(&h->threads);
	map_free(&h->unlooked);
	vec_free(&h->calls);
	vec_free(&h->processes);
}

const struct detector detector_call_hung = {
	.size = sizeof(struct hung),
	.subscribe_op = subscribe_op,
	.on_span = on_call,
	.on_event = on_event,
	.on_record = on_record,
	.flush_window = flush_window,
	.free = free_state,
};
