/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No more than so many bytes of kernels' names are kept; what finds no room has no name, rather than that of what was there
 * before.
 */
#include "lib/probe/handles.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

#define EACH ((size_t)1 << 20)

static void say(void *ctx, uint32_t process, uint64_t handle, struct bytes name,
		int64_t since_ns)
{
	(void)process;
	(void)handle;
	(void)name;
	(void)since_ns;
	++*(unsigned *)ctx;
}

int main(void)
{
	const struct op_def *op = op_builtin(OP_CU_LAUNCH);
	struct probe_handles *h = probe_handles_new();
	struct event ev = { .op = OP_CU_LAUNCH };
	char *text = malloc(EACH);
	struct bytes name = { text, EACH }, got;
	unsigned again = 0;
	uint64_t handle;

	if (!h || !text)
		return 1;
	memset(text, 'x', EACH);
	ev.x[op_column(op, COL_FUNC)] = 7;
	ev.present = 1u << op_column(op, COL_FUNC);
	for (unsigned i = 0; i < HANDLES_TEXTS_MAX / EACH; i++) {
		memcpy(text, &i, sizeof(i));
		probe_handles_name(h, 1, i, name);
	}
	is_u64(probe_handles_roomless(h), 0, "so many names have room");
	ok(probe_handles_launch(h, 1, 1, &ev, op, &handle, &got) && got.n == EACH && handle == 7,
	   "one is told with the launch of what it is of");
	text[0] = 'y';
	probe_handles_name(h, 1, 7, name);
	is_u64(probe_handles_roomless(h), 1, "one that there is no room for is counted");
	probe_handles_again(h, say, &again);
	ok(!probe_handles_launch(h, 1, 1, &ev, op, &handle, &got),
	   "and what it is of is not called by another");
	probe_handles_free(h);
	free(text);
	return tap_done();
}
