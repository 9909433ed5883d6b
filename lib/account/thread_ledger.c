/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up where the time of each process and thread went, by state, and what the host took.
 * Everything is keyed by dense ids given out in event order, so that walking the vectors is the
 * same walk for the same events.
 */
#include "lib/account/thread_ledger.h"

#include <string.h>

void tally_free(struct tally *t)
{
	for (size_t i = 0; i < t->processes.n; i++) {
		vec_free(&t->processes.v[i].cpu_us);
		vec_free(&t->processes.v[i].threads);
		free(t->processes.v[i].gone);
	}
	for (size_t i = 0; i < t->threads.n; i++)
		free(t->threads.v[i].ns_by);
	vec_free(&t->processes);
	vec_free(&t->threads);
	vec_free(&t->order);
}

struct tally_process *tally_process_new(struct tally *t, uint32_t process)
{
	struct tally_process *p;

	if (!vec_reach(&t->processes, process) || !vec_push(&t->order, process))
		return NULL;
	p = &t->processes.v[process];
	p->seen = true;
	p->process = process;
	return p;
}

struct tally_thread *tally_thread_new(struct tally *t, uint32_t process, uint32_t thread)
{
	struct tally_process *p = tally_process(t, process);
	struct tally_thread fresh = { .process = process, .seen = true };

	if (!p || !vec_reach(&t->threads, thread))
		return NULL;
	fresh.ns_by = calloc(PART_COUNT, sizeof(*fresh.ns_by));
	if (!fresh.ns_by || !vec_push(&p->threads, thread)) {
		free(fresh.ns_by);
		return NULL;
	}
	fresh.launches_left = t->threads.v[thread].launches_left;
	t->threads.v[thread] = fresh;
	return &t->threads.v[thread];
}

void tally_pane_add(struct tally_pane *panes, int64_t pane, uint64_t ns, uint32_t count)
{
	struct tally_pane *p = &panes[((pane % TALLY_PANES) + TALLY_PANES) % TALLY_PANES];

	if (p->pane != pane)
		*p = (struct tally_pane){ .pane = pane };
	p->ns += ns;
	p->count += count;
}

uint64_t tally_window(const struct tally_pane *panes, int64_t pane, uint64_t *count)
{
	uint64_t ns = 0;

	*count = 0;
	for (unsigned i = 0; i < TALLY_PANES; i++) {
		if (panes[i].pane > pane || panes[i].pane <= pane - TALLY_PANES)
			continue;
		ns += panes[i].ns;
		*count += panes[i].count;
	}
	return ns;
}

/* Whether a thread of the process waited for another of it, which was kept by this one: that one's
 * interval has ended before, and is counted. */
static bool is_counted(const struct tally *t, uint32_t process, const struct line_culprit *c)
{
	const struct line_culprit *holder = c ? culprit_get(t->culprits, c->via) : NULL;

	return holder && holder->process == process;
}

/* Two threads that want a Python interpreter wait for each other, and that is one fact: lost is
 * what the one that makes calls waits for. While that one holds it, the program moves on, and what
 * another waits is not lost to it. */
static bool moves_on(const struct tally *t, uint32_t thread, const struct line_culprit *holder)
{
	return holder && holder->kind == CULPRIT_HOLDER && holder->lock == LOCK_GIL &&
	       holder->thread < t->threads.n && t->threads.v[holder->thread].calls &&
	       !(thread < t->threads.n && t->threads.v[thread].calls);
}

static bool wait_at(struct tally_process *proc, const struct line_piece *p)
{
	uint64_t us, cpu;

	us = (parts_get(p->parts, PART_PREEMPTED) + parts_get(p->parts, PART_RUNQ) + 999) / 1000;
	if (!us || !p->ev || !p->op || !event_get(p->ev, p->op, COL_CPU_IN, &cpu) ||
	    cpu >= TALLY_CPUS)
		return true;
	if (!vec_reach(&proc->cpu_us, cpu))
		return false;
	us += proc->cpu_us.v[cpu];
	proc->queued_us += us - proc->cpu_us.v[cpu];
	proc->cpu_us.v[cpu] = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
	return true;
}

bool tally_interval(struct tally *t, const struct line_piece *p)
{
	uint64_t host = parts_sum(p->parts, PARTS_HOST), not_lost = 0;
	struct tally_process *proc;

	if (!host && !p->parts->nculprits)
		return true;
	if (!tally_thread(t, p->process, p->thread))
		return false;
	proc = tally_process(t, p->process);
	if (!proc)
		return false;
	for (unsigned i = 0; i < p->parts->nculprits; i++) {
		const struct part_culprit *c = &p->parts->c[i];
		const struct line_culprit *who = culprit_get(t->culprits, c->culprit);

		if (PARTS_HOST >> c->part & 1 &&
		    (moves_on(t, p->thread, who) || is_counted(t, p->process, who)))
			not_lost += c->ns;
	}
	/* More than it: with waits before this one, which were counted. */
	proc->host_ns += host;
	proc->host_ns -= not_lost < proc->host_ns ? not_lost : proc->host_ns;
	return wait_at(proc, p);
}
