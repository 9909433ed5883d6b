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

static void note_end(struct new_processes *p, uint32_t thread, int64_t ns)
{
	const struct world_thread *t = world_get_thread(p->w, thread);
	const struct world_process *of = t ? world_get_process(p->w, t->process) : NULL;
	uint64_t at;

	if (of && of->tgid == t->tid && map_get(&p->at, t->process, &at))
		p->v.v[at].ended_ns = ns;
}

bool new_processes_event(struct new_processes *p, const struct event *ev)
{
	bool forks = ev->op == OP_PROC_FORK;
	const struct world_ctx *ctx =
		forks || ev->op == OP_PROC_EXIT ? world_get_ctx(p->w, ev->ctx) : NULL;
	struct new_process fresh = { .time_ns = ev->end_ns, .ended_ns = INT64_MAX };
	uint64_t child;

	if (ctx && !forks)
		note_end(p, ctx->thread, ev->end_ns);
	if (!ctx || !forks || !event_get(ev, world_op(p->w, ev->op), COL_CHILD, &child) ||
	    p->v.n >= NEW_PROCESSES_MAX)
		return true;
	fresh.parent = world_thread_process_id(p->w, ctx->thread);
	fresh.process = world_thread_process_id(p->w, (uint32_t)child);
	if (!fresh.process || fresh.process == fresh.parent)
		return true;
	return vec_push(&p->v, fresh) && map_put(&p->at, fresh.process, p->v.n - 1);
}

void new_processes_free(struct new_processes *p)
{
	vec_free(&p->v);
	map_free(&p->at);
}

bool new_processes_is_loader(const struct world *w, uint32_t thread)
{
	const struct world_thread *t = world_get_thread(w, thread);

	return t && (bytes_begin_with(world_text(w, world_thread_name(w, thread, INT64_MAX)),
				      "pt_data_worker") ||
		     bytes_begin_with(world_text(w, world_process_name(w, t->process, 0, INT64_MAX)),
				      "pt_data_worker"));
}

/* Whether it waits in the loader itself. A worker that was forked there has these frames, too, and
 * its own within them. */
static bool is_in_loader(const struct world *w, uint32_t stack)
{
	unsigned n;
	const uint32_t *frames = world_get_stack(w, stack, &n);

	for (unsigned i = 0; frames && i < n; i++) {
		const struct world_frame *f = world_get_frame(w, frames[i]);
		struct bytes at = f ? world_text(w, f->file) : (struct bytes){ 0 };

		if (bytes_end_with(at, "torch/utils/data/_utils/worker.py"))
			return false;
		if (bytes_end_with(at, "torch/utils/data/dataloader.py"))
			return true;
	}
	return false;
}

#define DEPTH_MOST 64 /* processes from one to the one that is looked for */

/* The processes that one of them started, and how long its path waited for each. */
struct children {
	const struct world *w;
	uint32_t of;	      /* world process id */
	struct map parent_of; /* by world process id */
	struct map ns_of;     /* the same */
};

/* Of its children the one that the process is, or descends from; 0: none. */
static uint32_t find_child_of(const struct children *c, uint32_t process)
{
	uint64_t parent;

	for (unsigned i = 0; i < DEPTH_MOST && map_get(&c->parent_of, process, &parent); i++) {
		if (parent == c->of)
			return process;
		process = (uint32_t)parent;
	}
	return 0;
}

static uint32_t find_child(const struct children *c, uint32_t thread)
{
	return find_child_of(c, world_thread_process_id(c->w, thread));
}

/* The child that the path waited for in that part, whatever that one, or what it started itself,
 * did or had to wait for; else the one that had a CPU meanwhile. *thread: which of its own. */
static uint32_t find_waited(const struct children *c, const struct track_part *part,
			    uint32_t *thread)
{
	uint32_t child = find_child(c, part->leaf);

	*thread = child ? part->leaf : part->thread;
	return child ? child : find_child(c, part->thread);
}

static bool sum_waits(struct children *c, const struct new_processes *p,
		      const struct track_parts *parts)
{
	bool ok = true;

	for (size_t i = 0; ok && i < p->v.n; i++)
		ok = map_put(&c->parent_of, p->v.v[i].process, p->v.v[i].parent);
	for (size_t i = 0; ok && i < parts->v.n; i++) {
		uint32_t thread, child = find_waited(c, &parts->v.v[i], &thread);
		uint64_t ns = 0;

		if (!child)
			continue;
		map_get(&c->ns_of, child, &ns);
		ok = map_put(&c->ns_of, child, ns + parts->v.v[i].ns);
	}
	return ok;
}

/* The thread that the path waited for in that child, or in what it started, and what is known of
 * it. */
static void name_process(const struct children *c, const struct track_parts *parts, uint32_t child,
			 struct new_between *out)
{
	for (size_t i = 0; i < parts->v.n; i++) {
		const struct track_part *part = &parts->v.v[i];
		uint32_t thread;

		if (find_waited(c, part, &thread) != child)
			continue;
		if (!out->thread || world_thread_process_id(c->w, thread) == child)
			out->thread = thread;
		out->loader =
			out->loader || is_in_loader(c->w, part->stack) || new_processes_is_loader(c->w, thread);
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

/* first_end_ns: of those that began together with the child; changed to hold for it, too. */
static bool begins_anew(const struct new_process *child, int64_t *first_end_ns)
{
	bool anew = child->time_ns >= *first_end_ns;

	if (anew || child->ended_ns < *first_end_ns)
		*first_end_ns = child->ended_ns;
	return anew;
}

uint32_t new_processes_times(const struct new_processes *p, uint32_t process)
{
	int64_t first_end = INT64_MIN;
	uint32_t times = 0;

	for (size_t i = 0; i < p->v.n; i++)
		if (p->v.v[i].parent == process)
			times += begins_anew(&p->v.v[i], &first_end);
	return times;
}

bool new_processes_between(const struct new_processes *p, uint32_t process,
			   const struct step_runs *runs, bool within,
			   const struct track_parts *parts, struct new_between *out)
{
	int64_t until, last = INT64_MIN, first_end = INT64_MIN;
	struct children c = { .w = p->w, .of = process };
	uint64_t most = 0, ns;
	uint32_t longest = 0;
	bool ok = sum_waits(&c, p, parts);
	uint64_t all_ns = 0;

	for (size_t i = 0; i < parts->v.n; i++)
		all_ns += parts->v.v[i].ns;
	*out = (struct new_between){ .within = within,
				     .all_ns = all_ns,
				     .gaps = within	 ? (uint32_t)runs->steps
					     : runs->v.n ? (uint32_t)runs->v.n - 1
							 : 0 };
	for (size_t i = 0; ok && i < p->v.n; i++) {
		const struct new_process *child = &p->v.v[i];

		if (!map_get(&c.ns_of, find_child_of(&c, child->process), &ns) ||
		    !find_place(runs, within, child->time_ns, &until))
			continue;
		out->n++;
		if (child->parent != process)
			continue;
		out->ns += ns;
		out->times += begins_anew(child, &first_end);
		out->gaps_with += within ? out->gaps_with < out->gaps : until != last;
		last = until;
		if (ns <= most)
			continue;
		most = ns;
		longest = child->process;
	}
	if (longest)
		name_process(&c, parts, longest, out);
	map_free(&c.parent_of);
	map_free(&c.ns_of);
	return ok;
}

bool new_between_is_told(const struct new_between *b)
{
	double least = b->within ? NEW_PROCESSES_STEPS : NEW_PROCESSES_GAPS;

	/* Epochs whose loop is left in a step are few among the steps. */
	if (b->within && b->times >= NEW_PROCESSES_TIMES &&
	    (double)b->ns >= NEW_PROCESSES_SHARE * (double)b->all_ns)
		return true;
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
				: "keep them, or their results, from one to the next");
}
