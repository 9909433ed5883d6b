/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tasks and holders are one culprit.
 */
#include "tests/tap.h"

#include "lib/attrib/culprit.h"
#include "tests/unit/events.h"

/* Workers that the victim started are one culprit, whatever each of their threads calls itself. */
static void workers(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "python3"),
		     first = stage_actor(&s, 200, 200, 100, "python3"),
		     pool = stage_actor(&s, 200, 201, 100, "pt_data_worker"),
		     second = stage_actor(&s, 300, 300, 100, "python3"),
		     ptxas = stage_actor(&s, 400, 400, 100, "ptxas");
	struct culprits c = { .w = s.w };
	uint32_t who = culprit_task(&c, first.thread, v.process, 0);

	is_u64(culprit_task(&c, pool.thread, v.process, 0), who, "a thread of a worker");
	is_u64(culprit_task(&c, second.thread, v.process, 0), who, "another worker");
	ok(culprit_task(&c, ptxas.thread, v.process, 0) != who, "another program");
	is_u64(culprit_get(&c, who)->npids, 2, "two processes");
	culprits_free(&c);
	stage_free(&s);
}

/* Threads of the victim that took its CPU: those that gave themselves a name are apart. */
static void own(void)
{
	static const struct {
		const char *name;
		unsigned like; /* the first of its culprit */
		bool named;
	} all[] = {
		{ "train", 0, false }, { "train", 0, false },	 { "pool-1", 2, true },
		{ "pool-2", 2, true }, { "telemetry", 4, true },
	};
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train");
	struct culprits c = { .w = s.w };
	uint32_t who[5], folded = 0;

	for (uint32_t i = 0; i < 5; i++) {
		struct actor t = stage_actor(&s, 100, 101 + i, 1, all[i].name);

		who[i] = culprit_task(&c, t.thread, v.process, 0);
		folded = culprit_own(&c, t.thread);
		is_u64(who[i], who[all[i].like], "%s: culprit", all[i].name);
		is_int(culprit_get(&c, who[i])->named, all[i].named, "%s: by its name",
		       all[i].name);
	}
	ok(who[0] != who[2] && who[2] != who[4], "three culprits");
	is_u64(folded, who[0], "one where names do not count");
	culprits_free(&c);
	stage_free(&s);
}

/* Workers, and threads of one process, that gave themselves names since they began: pools bear
 * numbers, and whoever does other work is another culprit. */
static void renamed(void)
{
	static const char *const names[] = { "reader-1", "reader-2", "tokenizer" };
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train");
	struct culprits c = { .w = s.w };
	uint32_t worker[3], holder[3];

	for (uint32_t i = 0; i < 3; i++) {
		struct actor p = stage_actor(&s, 200 + i, 200 + i, 100, "train"),
			     t = stage_actor(&s, 100, 101 + i, 1, "train");
		uint32_t name = world_string(s.w, bytes_of(names[i]));

		world_rename(s.w, p.thread, 5, name);
		world_rename(s.w, t.thread, 5, name);
		worker[i] = culprit_task(&c, p.thread, v.process, 0);
		holder[i] = culprit_holder(&c, t.thread, LOCK_OTHER);
	}
	is_u64(worker[1], worker[0], "two readers are one culprit");
	ok(worker[2] != worker[0], "the tokenizer is another");
	is_u64(culprit_get(&c, worker[2])->npids, 1, "of one process");
	is_u64(holder[1], holder[0], "threads of a pool hold as one");
	ok(holder[2] != holder[0], "a thread that does other work does not");
	culprits_free(&c);
	stage_free(&s);
}

/* Ranks that an agent started: whatever their threads are called, they are of one program, and
 * another script that the same shell started is not. */
static void ranks(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 50, "python"),
		     autograd = stage_actor(&s, 100, 101, 50, "pt_autograd_0"),
		     rank = stage_actor(&s, 200, 200, 50, "python"),
		     loop = stage_actor(&s, 200, 201, 50, "pt_elastic"),
		     other = stage_actor(&s, 300, 300, 50, "ruby");
	struct culprits c = { .w = s.w };
	uint32_t who = culprit_task(&c, rank.thread, v.process, 0);

	is_u64(culprit_task(&c, loop.thread, autograd.process, 0), who, "threads of another rank");
	ok(culprit_get(&c, who)->related, "which is of the victim's program");
	ok(!culprit_get(&c, culprit_task(&c, other.thread, v.process, 0))->related,
	   "another program is not");
	culprits_free(&c);
	stage_free(&s);
}

/* A shell that executes another program is not what took the CPU since. */
static void executed(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     other = stage_actor(&s, 200, 200, 1, "sh");
	struct culprits c = { .w = s.w };
	uint32_t before = culprit_task(&c, other.thread, v.process, 0), after;

	world_rename(s.w, other.thread, 5, world_string(s.w, bytes_of("burner")));
	after = culprit_task(&c, other.thread, v.process, 0);
	ok(after != before, "another culprit since");
	is_u64(culprit_task(&c, other.thread, v.process, 0), after, "and stays it");
	ok(bytes_equal(world_text(s.w, culprit_get(&c, after)->name), bytes_of("burner")),
	   "by the name that it has");
	culprits_free(&c);
	stage_free(&s);
}

int main(void)
{
	executed();
	ranks();
	workers();
	renamed();
	own();
	return tap_done();
}
