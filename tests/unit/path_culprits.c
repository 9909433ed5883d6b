/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who stands for a process that took a CPU.
 */
#include "lib/path/path_culprits.h"

#include "tests/tap.h"
#include "tests/unit/events.h"

/* A process that is not recorded: another name of its main thread is another thread of the same
 * number, born a moment later (lib/decode/wire_known.c). */
static uint32_t named(struct world *w, uint32_t process, uint64_t start_ns, const char *name)
{
	return world_thread(w, &(struct world_thread){ .process = process,
						       .tid = 200,
						       .start_ns = start_ns,
						       .comm = world_string(w, bytes_of(name)) });
}

static void executed(void)
{
	struct world *w = world_new();
	struct path_culprits c = { .w = w };
	uint32_t process = world_process(
		w, &(struct world_process){ .tgid = 200, .start_ns = 5, .parent = 1 });
	uint32_t shell = named(w, process, 5, "timeout"), stands = shell, burner;
	uint32_t before = path_culprit_of_process(&c, &stands), after;

	is_u64(stands, shell, "the first name");
	burner = named(w, process, 6, "burner");
	stands = burner;
	after = path_culprit_of_process(&c, &stands);
	is_u64(stands, burner, "the program that it executed");
	ok(after && after != before, "is another culprit");
	stands = shell;
	is_u64(path_culprit_of_process(&c, &stands), after, "from then on");
	path_culprits_free(&c);
	world_free(w);
}

/* Any thread of it is the process. */
static void threads(void)
{
	struct stage s = stage_new();
	struct path_culprits c = { .w = s.w };
	struct actor main = stage_actor(&s, 300, 300, 1, "server"),
		     other = stage_actor(&s, 300, 301, 1, "pool-1");
	uint32_t stands = other.thread, one = path_culprit_of_process(&c, &stands);

	stands = main.thread;
	is_u64(path_culprit_of_process(&c, &stands), one, "two threads are one");
	is_u64(stands, other.thread, "for which the first one stands");
	path_culprits_free(&c);
	stage_free(&s);
}

int main(void)
{
	executed();
	threads();
	return tap_done();
}
