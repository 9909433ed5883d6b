/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of a process that is given up, and giving up the rest.
 */
#include "lib/account/thread_ledger.h"

static void add_thread(const struct tally_thread *th, uint32_t thread, struct tally_gone *sum)
{
	bool calls = th->calls > 0;

	if (sum->threads++ == 0)
		sum->thread = thread;
	sum->ns += th->ns;
	sum->calling_threads += calls;
	sum->calling_ns += calls ? th->ns : 0;
	for (unsigned i = 0; i < PART_COUNT; i++) {
		sum->ns_by[i] += th->ns_by[i];
		sum->calling_ns_by[i] += calls ? th->ns_by[i] : 0;
	}
}

void tally_threads_sum(const struct tally *t, const struct tally_process *p, struct tally_gone *sum)
{
	*sum = p->gone ? *p->gone : (struct tally_gone){ 0 };
	for (size_t i = 0; i < p->threads.n; i++)
		add_thread(&t->threads.v[p->threads.v[i]], p->threads.v[i], sum);
}

uint64_t tally_threads_ns(const struct tally *t, const struct tally_process *p)
{
	uint64_t ns = p->gone ? p->gone->ns : 0;

	for (size_t i = 0; i < p->threads.n; i++)
		ns += t->threads.v[p->threads.v[i]].ns;
	return ns;
}

bool tally_forget(struct tally *t, uint32_t process)
{
	struct tally_process *p = process < t->processes.n && t->processes.v[process].seen
					  ? &t->processes.v[process]
					  : NULL;

	if (!p)
		return true;
	if (!p->gone)
		p->gone = calloc(1, sizeof(*p->gone));
	if (!p->gone)
		return false;
	for (size_t i = 0; i < p->threads.n; i++) {
		struct tally_thread *th = &t->threads.v[p->threads.v[i]];

		add_thread(th, p->threads.v[i], p->gone);
		free(th->ns_by);
		*th = (struct tally_thread){ 0 };
	}
	vec_free(&p->cpu_us);
	vec_free(&p->threads);
	return true;
}
