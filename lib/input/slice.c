/* SPDX-License-Identifier: Apache-2.0 */
/* Selects records by the part of the time (formats/records.def) and the process that they are
 * about. */
#include "lib/input/slice.h"

#include <string.h>

#include "lib/model/body.h"
#include "lib/model/finding_json.h"

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
	return process_asked(sel, w, world_thread_process_id(w, id));
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

static uint32_t subject_id(const struct record *r, enum record_role role)
{
	const struct record_def *def = record_builtin(r->kind);
	uint32_t id;

	for (unsigned i = 0; def && i < def->nfields; i++) {
		if (def->fields[i].role != role || !record_has(r, def->fields[i].number))
			continue;
		memcpy(&id, (const char *)&r->u + def->fields[i].offset, sizeof(id));
		return id;
	}
	return 0;
}

/* A record about a time is about the first thread that it names, else the first process. */
static bool is_subject_selected(const struct filter *sel, const struct world *w,
				const struct record *r)
{
	uint32_t thread = subject_id(r, RROLE_THREAD);

	return thread ? thread_asked(sel, w, thread)
		      : process_asked(sel, w, subject_id(r, RROLE_PROCESS));
}

bool slice_record(struct filter *sel, const struct world *w, const struct record *r)
{
	const struct record_def *def = record_builtin(r->kind);

	if (!filter_record_time(sel, r) ||
	    (def && def->scope != RECORD_WHOLE && !is_subject_selected(sel, w, r)))
		return false;
	switch (r->kind) {
	case RECORD_COVERAGE:
		return process_asked(sel, w, r->u.COVERAGE.process);
	case RECORD_OPEN:
		return op_asked(sel, w, r->u.OPEN.op);
	case RECORD_ASLEEP:
	case RECORD_READY:
	case RECORD_OWNER:
		return op_asked(sel, w, OP_SCHED_OFFCPU);
	case RECORD_CHAIN:
		return victim_asked(sel, r);
	case RECORD_ANALYSIS:
		/* It says what became of all the time of all processes. */
		return false;
	default:
		return true;
	}
}
