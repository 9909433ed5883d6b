/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules by what processes say that they have mapped: their own words.
 */
#include "lib/probe/stacks.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

/* A mapping that is gone by now, and a FIFO where its file was. */
static void fifo(struct probe_stacks *s)
{
	char path[64];
	struct host_mapping m = { .start = 4096, .end = 8192, .inode = 1, .executable = true };

	snprintf(path, sizeof(path), "/tmp/ingero-unit.%d", (int)getpid());
	is_int(mkfifo(path, 0600), 0, "a FIFO");
	m.path = bytes_of(path);
	alarm(60);
	probe_stacks_maps_begin(s, (uint32_t)getpid());
	probe_stacks_maps_add(s, (uint32_t)getpid(), &m);
	alarm(0);
	ok(true, "under the name of a library is not waited for");
	unlink(path);
}

int main(void)
{
	struct world *w = world_new();
	struct probe_stacks *s;
	struct err e = { 0 };

	if (!w || probe_stacks_new(&s, w, &e))
		return 1;
	fifo(s);
	probe_stacks_free(s);
	world_free(w);
	return done_testing();
}
