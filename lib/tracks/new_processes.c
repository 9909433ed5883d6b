/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks in order of time are held against the gaps between steps, and the parts of the path there
 * against the processes that began in them.
 */
#include "lib/tracks/new_processes.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/timetext.h"
#include "lib/world/who.h"

bool new_processes_event(struct new_processes *p, const struct event *ev)
{
	const struct world_ctx *ctx = ev->op == OP_PROC_FORK ? world_get_ctx(p->w, ev->ctx) : NULL;
	struct new_process fresh = { .time_ns = ev->end_ns };
	uint64_t child;

	if (!ctx || !event_get(ev, world_op(p->w, ev->op), COL_CHILD, &child) ||
	    p->v.n >= NEW_PROCESSES_MAX)
		return true;
	fresh.parent = world_thread_process_id(p->w, ctx->thread);
	fresh.process = world_thread_process_id(p->w, (uint32_t)child);
	if (!fresh.process || fresh.process == fresh.parent)
		return true;
	return vec_push(&p->v, fresh);
}

void new_processes_free(struct new_processes *p)
{
	vec_free(&p->v);
}

/* Torch names them so; the thread that starts them is in its loader's code. */
static bool is_loader(const struct world *w, uint32_t thread)
{
	static const char worker[] = "pt_data_worker";
	const struct world_thread *t = world_get_thread(w, thread);
	struct bytes name = t ? world_text(w, t->comm) : (struct bytes){ 0 };

	if (t && (name.n < sizeof(worker) - 1 || memcmp(name.p, worker, sizeof(worker) - 1) != 0))
		name = world_text(w, world_process_name(w, t->process, 0, INT64_MAX));
	return name.n >= sizeof(worker) - 1 && memcmp(name.p, worker, sizeof(worker) - 1) == 0;
}

static bool is_in_loader(const struct world *w, uint32_t stack)
{
	static const char file[] = "torch/utils/data/dataloader.py";
	unsigned n;
	const uint32_t *frames = world_get_stack(w, stack, &n);

	for (unsigned i = 0; frames && i < n; i++) {
		const struct world_frame *f = world_get_frame(w, frames[i]);
		struct bytes at = f ? world_text(w, f->file) : (struct bytes){ 0 };

		if (at.n >= sizeof(file) - 1 &&
		    memcmp(at.p + at.n - (sizeof(file) - 1), file, sizeof(file) - 1) == 0)
			return true;
	}
	return false;
}

/* How long the path waited there for each process, by its id. */
static bool sum_waits(const struct new_processes *p, const struct track_parts *parts,
		      struct map *ns_of)
{
	bool ok = true;

	for (size_t i = 0; ok && i < parts->v.n; i++) {
		uint32_t process = world_thread_process_id(p->w, parts->v.v[i].thread);
		uint64_t ns = 0;

		if (!process)
			continue;
		map_get(ns_of, process, &ns);
		ok = map_put(ns_of, process, ns + parts->v.v[i].ns);
	}
	return ok;
}

/* The thread that the path waited for in that process, and what is known of it. */
static void name_process(const struct new_processes *p, const struct track_parts *parts,
			 uint32_t process, struct new_between *out)
{
	for (size_t i = 0; i < parts->v.n; i++) {
		const struct track_part *part = &parts->v.v[i];

		if (world_thread_process_id(p->w, part->thread) != process)
			continue;
		out->thread = part->thread;
		out->loader = out->loader || is_in_loader(p->w, part->stack) ||
			      is_loader(p->w, part->thread);
	}
}

/* Where the gap ends in which it began, or that follows: a loop is left a little before its last
 * step is over. False: it began before the first step, or there is none. */
static bool find_gap(const struct step_runs *runs, int64_t ns, int64_t *until_ns)
{
	enum step_place place = step_runs_find(runs, ns, until_ns);

	if (place == STEP_WITHIN)
		place = step_runs_find(runs, *until_ns, until_ns);
	return place == STEP_BETWEEN;
}

static bool find_place(const struct step_runs *runs, bool within, int64_t ns, int64_t *until_ns)
{
	return within ? step_runs_find(runs, ns, until_ns) == STEP_WITHIN
		      : find_gap(runs, ns, until_ns);
}

bool new_processes_between(const struct new_processes *p, uint32_t process,
			   const struct step_runs *runs, bool within,
			   const struct track_parts *parts, struct new_between *out)
{
	int64_t until, last = INT64_MIN;
	struct map ns_of = { 0 };
	uint64_t most = 0, ns;
	bool ok = sum_waits(p, parts, &ns_of);

	*out = (struct new_between){ .within = within,
				     .gaps = within	 ? (uint32_t)runs->steps
					     : runs->v.n ? (uint32_t)runs->v.n - 1
							 : 0 };
	for (size_t i = 0; ok && i < p->v.n; i++) {
		const struct new_process *child = &p->v.v[i];

		if (child->parent != process || !map_get(&ns_of, child->process, &ns) ||
		    !find_place(runs, within, child->time_ns, &until))
			continue;
		out->n++;
		out->ns += ns;
		out->gaps_with += within ? out->gaps_with < out->gaps : until != last;
		last = until;
		if (ns <= most)
			continue;
		most = ns;
		name_process(p, parts, child->process, out);
	}
	map_free(&ns_of);
	return ok;
}

bool new_between_is_told(const struct new_between *b)
{
	double least = b->within ? NEW_PROCESSES_STEPS : NEW_PROCESSES_GAPS;

	return b->n > 1 && b->ns && b->gaps_with >= least * b->gaps;
}

void new_between_print(struct buf *out, const struct track_names *names,
		       const struct new_between *b)
{
	char text[48];

	if (b->within)
		buf_printf(out, "%" PRIu32 " new processes began in %" PRIu32 " steps, such as ",
			   b->n, b->gaps);
	else
		buf_printf(out,
			   "%" PRIu32 " new processes began in %" PRIu32 " of the %" PRIu32
			   " gaps between steps, such as ",
			   b->n, b->gaps_with, b->gaps);
	who_print_process(out, names->w, b->thread, INT64_MAX);
	buf_printf(out, ", and for %s the program waited %s for them: ",
		   duration_text(text, sizeof(text), b->ns), b->within ? "in all" : "there");
	buf_puts(out, b->loader ? "DataLoader(persistent_workers=True) keeps them"
				: "keep them from one to the next");
}
