/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers that a program starts anew between its steps, and those that it keeps.
 */
#include "tests/tap.h"

#include "lib/base/buf.h"
#include "lib/tracks/new_processes.h"
#include "tests/unit/events.h"

#define EPOCHS 5

/* Epochs of 100 ms, with 50 ms between them. */
static struct step_runs make_runs(void)
{
	struct step_runs r = { 0 };

	for (int64_t i = 0; i < EPOCHS; i++)
		if (!step_runs_add(&r, (100 + 150 * i) * MS, (200 + 150 * i) * MS))
			abort();
	return r;
}

static void fork_at(struct stage *s, struct new_processes *p, struct actor a, struct actor child,
		    int64_t ns)
{
	struct event *ev = stage_event(s, OP_PROC_FORK, a.ctx, 0, ns, ns);

	stage_set(ev, COL_CHILD, child.thread);
	if (!new_processes_event(p, ev))
		abort();
}

static void end_at(struct stage *s, struct new_processes *p, struct actor a, int64_t ns)
{
	if (!new_processes_event(p, stage_event(s, OP_PROC_EXIT, a.ctx, 0, ns, ns)))
		abort();
}

static uint32_t waits_at;   /* world stack id */
static const char *executes; /* what each worker becomes; NULL: it stays */

/* Where the program waits: in the loader, or as a worker that was forked there. */
static uint32_t loader_stack(struct stage *s, bool worker)
{
	static const char *const files[] = { "/lib/torch/utils/data/_utils/worker.py",
					     "/lib/torch/utils/data/dataloader.py" };
	uint32_t frames[2];
	unsigned n = 0;

	for (unsigned i = !worker; i < 2; i++) {
		struct world_frame f = { .kind = FRAME_PYTHON,
					 .offset = 30,
					 .file = world_string(s->w, bytes_of(files[i])),
					 .name = world_string(s->w, bytes_of("loop")) };

		frames[n++] = world_frame(s->w, &f);
	}
	return world_stack(s->w, frames, n);
}

static void wait_for(struct track_parts *parts, struct actor whom, uint64_t ns)
{
	if (!vec_push(&parts->v, ((struct track_part){
					 .leaf = whom.thread,
					 .thread = whom.thread,
					 .stack = waits_at,
					 .ns = ns })))
		abort();
}

/* each: a worker begins in every gap, shift after the last step ended. Else all begin at once,
 * then. */
static struct new_between play(struct stage *s, const char *name, bool each, int64_t at_ns,
			       bool within, struct buf *text)
{
	struct actor a = stage_actor(s, 10, 10, 1, "main");
	struct new_processes p = { .w = s->w };
	struct step_runs runs = make_runs();
	struct track_parts parts = { 0 };
	struct track_names names;
	struct new_between found;

	wait_for(&parts, a, 10 * MS);
	for (uint32_t i = 0; i + 1 < EPOCHS; i++) {
		struct actor w = stage_actor(s, 100 + i, 100 + i, 10, name);

		if (executes)
			world_rename(s->w, w.thread, at_ns + 150 * MS * i + MS,
				     world_string(s->w, bytes_of(executes)));
		fork_at(s, &p, a, w, at_ns + (each ? 150 * MS * i : 0));
		wait_for(&parts, w, (20 + i) * MS);
	}
	if (!new_processes_between(&p, a.process, &runs, within, &parts, &found))
		abort();
	track_names_init(&names, s->w);
	if (text)
		new_between_print(text, &names, &found);
	track_names_free(&names);
	new_processes_free(&p);
	vec_free(&runs.v);
	vec_free(&parts.v);
	return found;
}

/* A script in each step, which others keep from the CPU for 3 of 4 ms and which has a child of its
 * own do what takes 90. */
static void scripts(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"),
		     other = stage_actor(&s, 90, 90, 1, "cc1");
	struct new_processes p = { .w = s.w };
	struct step_runs runs = make_runs();
	struct track_parts parts = { 0 };
	struct new_between found;
	struct actor first = { 0 };

	for (uint32_t i = 0; i < EPOCHS; i++) {
		struct actor sh = stage_actor(&s, 100 + 2 * i, 100 + 2 * i, 10, "sh"),
			     child = stage_actor(&s, 101 + 2 * i, 101 + 2 * i, 100 + 2 * i,
						 "sleep");

		first = i ? first : sh;
		fork_at(&s, &p, a, sh, (110 + 150 * i) * MS);
		fork_at(&s, &p, sh, child, (111 + 150 * i) * MS);
		wait_for(&parts, sh, 1 * MS);
		wait_for(&parts, sh, 3 * MS);
		parts.v.v[parts.v.n - 1].thread = other.thread;
		wait_for(&parts, child, 90 * MS);
	}
	if (!new_processes_between(&p, a.process, &runs, true, &parts, &found))
		abort();
	is_u64(found.n, 2 * EPOCHS, "a script in each step, and its child");
	is_u64(found.ns, EPOCHS * 94 * MS, "waited for it, what kept it, and what it started");
	is_u64(world_thread_process_id(s.w, found.thread), first.process, "named by the script");
	new_processes_free(&p);
	vec_free(&runs.v);
	vec_free(&parts.v);
	stage_free(&s);
}

/* In a few of many steps. */
static void epochs_in_steps(void)
{
	static const struct {
		struct new_between b;
		bool told;
	} cases[] = {
		{ { .within = true,
		    .n = 62,
		    .times = 62,
		    .gaps = 720,
		    .gaps_with = 62,
		    .ns = 4200 * MS,
		    .all_ns = 6630 * MS },
		  true },
		{ { .within = true,
		    .n = 62,
		    .times = 62,
		    .gaps = 720,
		    .gaps_with = 62,
		    .ns = 200 * MS,
		    .all_ns = 6630 * MS },
		  false },
		{ { .within = true,
		    .n = 2,
		    .times = 2,
		    .gaps = 720,
		    .gaps_with = 2,
		    .ns = 4200 * MS,
		    .all_ns = 6630 * MS },
		  false },
		/* A pool of 16 begins once. */
		{ { .within = true,
		    .n = 16,
		    .times = 1,
		    .gaps = 720,
		    .gaps_with = 16,
		    .ns = 4200 * MS,
		    .all_ns = 6630 * MS },
		  false },
		{ { .within = true,
		    .n = 6,
		    .times = 6,
		    .gaps = 1601,
		    .gaps_with = 6,
		    .ns = 421 * MS,
		    .all_ns = 2300 * MS },
		  true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ok(new_between_is_told(&cases[i].b) == cases[i].told,
		   "%u processes %u times in %u steps, waited for for %.1f s", cases[i].b.n,
		   cases[i].b.times, cases[i].b.gaps, (double)cases[i].b.ns / 1e9);
}

/* Two at a time in each of the first three steps, but one of the second pair stays until the end:
 * the third pair begins anew all the same. */
static void generations(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main");
	struct new_processes p = { .w = s.w };
	struct step_runs runs = make_runs();
	struct track_parts parts = { 0 };
	struct new_between found;

	for (uint32_t i = 0; i < 6; i++) {
		struct actor w = stage_actor(&s, 100 + i, 100 + i, 10, "loader"),
			     thread = stage_actor(&s, 100 + i, 200 + i, 10, "thread");
		int64_t at = (110 + 150 * (i / 2) + i % 2) * MS;

		fork_at(&s, &p, a, w, at);
		wait_for(&parts, w, 20 * MS);
		/* A thread's end is none of its process. */
		end_at(&s, &p, thread, at);
		if (i != 3)
			end_at(&s, &p, w, at + 60 * MS);
	}
	if (!new_processes_between(&p, a.process, &runs, true, &parts, &found))
		abort();
	is_u64(found.n, 6, "six processes");
	is_u64(found.times, 3, "began three times");
	new_processes_free(&p);
	vec_free(&runs.v);
	vec_free(&parts.v);
	stage_free(&s);
}

int main(void)
{
	static const struct {
		bool each;
		int64_t at_ns;
		bool within;
		bool told;
		const char *what;
	} cases[] = {
		{ true, 210 * MS, false, true, "in each gap" },
		{ true, 199 * MS, false, true, "a little before the last step is over" },
		{ false, 50 * MS, false, false, "before the first step: they are kept" },
		{ false, 210 * MS, false, false,
		  "all in the first gap: they are kept from then on" },
		{ true, 810 * MS, false, false, "after the last step" },
		{ true, 110 * MS, true, true, "in the steps" },
		{ true, 810 * MS, true, false, "not in the steps" },
	};
	struct stage s = stage_new();
	struct buf text = { 0 };
	struct new_between found;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stage one = stage_new();

		found = play(&one, "loader", cases[i].each, cases[i].at_ns, cases[i].within, NULL);
		ok(new_between_is_told(&found) == cases[i].told, "%s", cases[i].what);
		stage_free(&one);
	}
	found = play(&s, "pt_data_worker", true, 210 * MS, false, &text);
	is_u64(found.ns, 86 * MS, "what the path waited for them");
	is_str(buf_text(&text),
	       "4 new processes began in 4 of the 4 gaps between steps, such as pt_data_worker "
	       "(pid 103), and for 86.0 ms the program waited there for them: "
	       "DataLoader(persistent_workers=True) keeps them",
	       "torch's workers, with what keeps them");
	buf_reset(&text);
	stage_free(&s);
	s = stage_new();
	play(&s, "loader", true, 210 * MS, false, &text);
	like(buf_text(&text), "for them: keep them, or their results, from one to the next",
	     "anybody else's");
	stage_free(&s);
	for (unsigned worker = 0; worker < 2; worker++) {
		s = stage_new();
		waits_at = loader_stack(&s, worker);
		buf_reset(&text);
		play(&s, "python3", true, 210 * MS, false, &text);
		like(buf_text(&text), worker ? "keep them, or" : "DataLoader(persistent_workers",
		     worker ? "what a worker starts is none itself"
			    : "what the loader waits for is one");
		waits_at = 0;
		stage_free(&s);
	}
	s = stage_new();
	executes = "sh";
	buf_reset(&text);
	play(&s, "pt_data_worker", true, 210 * MS, false, &text);
	like(buf_text(&text), "keep them, or", "nor is what it forks and has execute another one");
	executes = NULL;
	stage_free(&s);
	buf_free(&text);
	scripts();
	generations();
	epochs_in_steps();
	return done_testing();
}
