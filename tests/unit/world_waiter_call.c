/* SPDX-License-Identifier: Apache-2.0 */
/* In which call of the C library a thread waits, by its stack. */
#include "tests/tap.h"

#include "lib/world/waiter_call.h"

static uint32_t frame(struct world *w, const char *file, const char *name, uint64_t offset)
{
	uint32_t module =
		world_module(w, &(struct world_module){ .path = world_string(w, bytes_of(file)) });
	uint32_t f =
		world_frame(w, &(struct world_frame){
				       .kind = FRAME_NATIVE, .module = module, .offset = offset });

	world_symbol(w, f, &(struct world_symbol){ .name = world_string(w, bytes_of(name)) });
	return f;
}

int main(void)
{
	static const char libc[] = "/usr/lib/x86_64-linux-gnu/libc.so.6";
	static const struct {
		const char *file, *inner, *outer; /* NULL: no such frame */
		enum waiter_call want;
	} rows[] = {
		{ libc, "munmap", "main", WAITER_MAPS },
		{ libc, "__mmap@@GLIBC_2.2.5", "main", WAITER_MAPS },
		{ libc, "madvise", "main", WAITER_MAPS },
		{ libc, "__wait4", "main", WAITER_REAPS },
		{ libc, "__waitpid", "main", WAITER_REAPS },
		{ libc, "read", "main", WAITER_OTHER },
		{ libc, "pthread_mutex_lock", "munmap", WAITER_OTHER },
		{ "/app/train", "wait", "main", WAITER_OTHER },
		{ libc, "usleep", "sqlite3InvokeBusyHandler", WAITER_RETRIES },
		{ libc, "usleep", "btreeInvokeBusyHandler", WAITER_RETRIES },
	};
	struct world *w = world_new();

	is_u64(waiter_call_of(w, 0), WAITER_OTHER, "without a stack nothing is known");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t frames[] = { frame(w, rows[i].file, rows[i].inner, 2 * i + 1),
				      frame(w, "/app/train", rows[i].outer, 2 * i + 2) };

		is_u64(waiter_call_of(w, world_stack(w, frames, 2)), rows[i].want, "%s below %s",
		       rows[i].inner, rows[i].outer);
	}
	world_free(w);
	return tap_done();
}
