/* SPDX-License-Identifier: Apache-2.0 */
/* By kind, since what a time in a record means differs: a name holds from then on, a sample is of
 * that moment. */
#include "lib/input/slice.h"

#include "lib/model/body.h"
#include "lib/model/finding_json.h"

static bool before_end(const struct filter *sel, int64_t t)
{
	return !sel->resolved || t < sel->until_ns;
}

static bool process_asked(const struct filter *sel, const struct world *w, uint32_t id)
{
	const struct world_process *p = world_get_process(w, id);

	/* No process: of the machine. */
	for (size_t i = 0; p && i < sel->pids.n; i++)
		if (sel->pids.v[i] == p->tgid)
			return true;
	return !p || !sel->pids.n;
}

static bool thread_asked(const struct filter *sel, const struct world *w, uint32_t id)
{
	const struct world_thread *t = world_get_thread(w, id);

	return process_asked(sel, w, t ? t->process : 0);
}

/* A chain is about its victim. */
static bool victim_asked(const struct filter *sel, const struct record *r)
{
	struct finding f = { 0 };
	bool yes = false;

	if (!sel->pids.n)
		return true;
	if (!REC_HAS(r, CHAIN, body))
		return false;
	finding_read_json(&f, r->u.CHAIN.body, BODY_SIZE_MAX, NULL);
	for (size_t i = 0; f.known && i < sel->pids.n; i++)
		yes |= f.victim.pid == sel->pids.v[i];
	finding_free(&f);
	return yes;
}

static bool op_asked(struct filter *sel, const struct world *w, uint32_t op)
{
	/* Asked of an event at the edge of the selected time, so that only its name decides. */
	struct event ev = { .op = (uint16_t)op, .end_ns = sel->resolved ? sel->since_ns : 0 };
	struct filter named = *sel;
	bool yes;

	named.pids.n = 0;
	yes = filter_event(&named, w, &ev);
	sel->op_answers = named.op_answers;
	return yes;
}

bool slice_record(struct filter *sel, const struct world *w, const struct record *r)
{
	const union record_body *u = &r->u;

	switch (r->kind) {
	case RECORD_CLOCK:
		return before_end(sel, u->CLOCK.mono_ns);
	case RECORD_COVERAGE:
		return process_asked(sel, w, u->COVERAGE.process);
	case RECORD_UNCOVERED:
		return filter_stretch(sel, r) && process_asked(sel, w, u->UNCOVERED.process);
	case RECORD_OPEN:
		/* What was open before the part may have returned before it. */
		return filter_overlaps(sel, u->OPEN.start_ns, u->OPEN.time_ns) &&
		       thread_asked(sel, w, u->OPEN.thread) && op_asked(sel, w, u->OPEN.op);
	case RECORD_ASLEEP:
		/* What was asleep behind the part may have fallen asleep there. */
		return filter_overlaps(sel, u->ASLEEP.time_ns, u->ASLEEP.time_ns) &&
		       thread_asked(sel, w, u->ASLEEP.thread) && op_asked(sel, w, OP_SCHED_OFFCPU);
	case RECORD_READY:
		return filter_overlaps(sel, u->READY.time_ns, u->READY.time_ns) &&
		       thread_asked(sel, w, u->READY.thread) && op_asked(sel, w, OP_SCHED_OFFCPU);
	case RECORD_PIPE:
		return before_end(sel, u->PIPE.time_ns) && process_asked(sel, w, u->PIPE.process);
	case RECORD_OWNER:
		return filter_overlaps(sel, u->OWNER.time_ns, u->OWNER.time_ns) &&
		       thread_asked(sel, w, u->OWNER.thread) && op_asked(sel, w, OP_SCHED_OFFCPU);
	case RECORD_SAMPLE:
		return filter_overlaps(sel, u->SAMPLE.time_ns, u->SAMPLE.time_ns) &&
		       process_asked(sel, w, u->SAMPLE.process);
	case RECORD_NAME:
		return before_end(sel, u->NAME.time_ns) && thread_asked(sel, w, u->NAME.thread);
	case RECORD_ALLOWED:
		return before_end(sel, u->ALLOWED.time_ns) &&
		       (REC_HAS(r, ALLOWED, thread) ? thread_asked(sel, w, u->ALLOWED.thread)
						    : process_asked(sel, w, u->ALLOWED.process));
	case RECORD_CHAIN:
		return filter_overlaps(sel, u->CHAIN.first_ns, u->CHAIN.last_ns) &&
		       victim_asked(sel, r);
	case RECORD_ANALYSIS:
		/* It says what became of all the time of all processes. */
		return false;
	default:
		return filter_stretch(sel, r);
	}
}
