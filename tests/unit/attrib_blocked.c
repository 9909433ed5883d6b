/* SPDX-License-Identifier: Apache-2.0 */
/* What an interval off the CPU says that its thread was blocked for. */
#include "tests/tap.h"

#include "lib/attrib/blame.h"
#include "tests/unit/events.h"

/* What a thread was blocked for, by its descriptor's kind and its system call. */
static void blocked_for(void)
{
	static const struct {
		unsigned object, syscall;
		enum part part;
		const char *what;
	} rows[] = {
		{ OBJECT_FD, 73, PART_LOCK, "flock on x86-64" },
		{ OBJECT_FD, 32, PART_LOCK, "flock on arm64" },
		{ OBJECT_FD, 72, PART_LOCK, "fcntl on x86-64" },
		{ OBJECT_FD, 25, PART_LOCK, "fcntl on arm64" },
		{ OBJECT_FD, 0, PART_FD, "a read" },
		{ OBJECT_POLL, 73, PART_POLL, "ppoll on arm64" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stage s = stage_new();
		struct actor a = stage_actor(&s, 10, 10, 1, "main");
		struct event *ev = stage_offcpu(&s, a, 0, 0, 1000000, 0, 0);

		stage_set(ev, COL_OBJECT_KIND, rows[i].object);
		stage_set(ev, COL_SYSCALL, rows[i].syscall);
		is_int(blame_blocked(ev, op_builtin(ev->op)), rows[i].part, "%s", rows[i].what);
		stage_free(&s);
	}
}

int main(void)
{
	blocked_for();
	return tap_done();
}
