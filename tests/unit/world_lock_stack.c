/* SPDX-License-Identifier: Apache-2.0 */
/* Which waits are for a lock that another thread has, of Python and of POSIX threads. */
#include "tests/tap.h"

#include "lib/world/lock_stack.h"

struct row {
	const char *name;
	const char *functions[4];    /* of CPython, innermost first */
	const char *function, *file; /* the Python frame around them */
	bool want;
};

static const struct row rows[] = {
	{ "a lock",
	  { "PyThread_acquire_lock_timed", "acquire_timed", "lock_PyThread_acquire_lock" },
	  "main",
	  "/srv/train.py",
	  true },
	{ "a lock, built with link-time optimization",
	  { "PyThread_acquire_lock_timed", "lock_PyThread_acquire_lock.lto_priv.0" },
	  "main",
	  "/srv/train.py",
	  true },
	{ "a lock that its holder may take again",
	  { "PyThread_acquire_lock_timed", "rlock_acquire" },
	  "Handler.acquire",
	  "/usr/lib/python3.11/logging/__init__.py",
	  true },
	{ "the lock of a condition",
	  { "lock_PyThread_acquire_lock" },
	  "Condition.__enter__",
	  "/usr/lib/python3.11/threading.py",
	  true },
	{ "a condition",
	  { "lock_PyThread_acquire_lock" },
	  "Condition.wait",
	  "/usr/lib/python3.11/threading.py",
	  false },
	{ "a thread that is joined",
	  { "lock_PyThread_acquire_lock" },
	  "Thread._wait_for_tstate_lock",
	  "/usr/lib/python3.11/threading.py",
	  false },
	{ "a queue of C",
	  { "PyThread_acquire_lock_timed", "_queue_SimpleQueue_get" },
	  "_worker",
	  "/usr/lib/python3.11/concurrent/futures/thread.py",
	  false },
	{ "a read-write lock", { "pthread_rwlock_wrlock" }, "main", "/srv/train.py", true },
	{ "the same, to read",
	  { "__pthread_rwlock_rdlock_full64", "pthread_rwlock_rdlock@@GLIBC_2.34" },
	  "main",
	  "/srv/train.py",
	  true },
	{ "who lets go of it", { "pthread_rwlock_unlock" }, "main", "/srv/train.py", false },
	{ "functions without names", { NULL }, "main", "/srv/train.py", false },
	{ "a lock of a library below Python",
	  { "pthread_mutex_lock" },
	  "main",
	  "/srv/train.py",
	  false },
};

static uint32_t stack_of(struct world *w, const struct row *x)
{
	uint32_t frames[5];
	unsigned n = 0;

	for (; n < 4 && x->functions[n]; n++) {
		frames[n] = world_frame(w, &(struct world_frame){ .kind = FRAME_NATIVE,
								  .offset = 0x1000 + n });
		world_symbol(w, frames[n],
			     &(struct world_symbol){
				     .name = world_string(w, bytes_of(x->functions[n])) });
	}
	frames[n] = world_frame(
		w, &(struct world_frame){ .kind = FRAME_PYTHON,
					  .offset = 7,
					  .file = world_string(w, bytes_of(x->file)),
					  .name = world_string(w, bytes_of(x->function)) });
	return world_stack(w, frames, n + 1);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = world_new();

		ok(lock_stack_waits(w, stack_of(w, &rows[i])) == rows[i].want, "%s", rows[i].name);
		world_free(w);
	}
	return tap_done();
}
