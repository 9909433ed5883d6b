/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No more than so many bytes of kernels' names are kept; what finds no room has no name, rather
 * than that of what was there before.
 */
#include "lib/decode/kernel_handles.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

#define EACH ((size_t)1 << 20)

static void say(void *ctx, uint32_t process, uint64_t handle, struct bytes name, int64_t since_ns)
{
	(void)process;
	(void)handle;
	(void)name;
	(void)since_ns;
	++*(unsigned *)ctx;
}

static enum kernel_launch launch(struct kernel_handles *h, uint32_t tgid, uint64_t func)
{
	const struct op_def *op = op_builtin(OP_CU_LAUNCH);
	struct event ev = { .op = OP_CU_LAUNCH };
	struct bytes name;
	uint64_t handle;

	event_set(&ev, op, COL_FUNC, func);
	return kernel_handles_launch(h, tgid, tgid, &ev, op, &handle, &name);
}

/* Names that are found after the launch: of processes that registered their kernels before. */
static void found(void)
{
	struct kernel_handles *h = kernel_handles_new();
	struct bytes name = bytes_of("_Z1kv");
	unsigned again = 0;

	ok(launch(h, 5, 100) == KERNEL_LAUNCH_UNKNOWN, "a handle without a name is asked for");
	ok(launch(h, 5, 100) == KERNEL_LAUNCH_OTHER, "once");
	kernel_handles_found(h, 5, 5, 100, name, 1);
	ok(launch(h, 5, 100) == KERNEL_LAUNCH_OTHER,
	   "what is found is not told again in this file");
	kernel_handles_again(h, say, &again);
	is_u64(again, 1, "but in the next one");
	ok(launch(h, 5, 200) == KERNEL_LAUNCH_UNKNOWN, "another handle");
	kernel_handles_name(h, 5, 200, bytes_of("own"));
	kernel_handles_found(h, 5, 5, 200, name, 1);
	ok(launch(h, 5, 200) == KERNEL_LAUNCH_NAME,
	   "the program's own name, given meanwhile, holds");
	kernel_handles_unread(h, 5, 200);
	ok(launch(h, 5, 200) == KERNEL_LAUNCH_RENAMED,
	   "a name that could not be read ends the one before");
	ok(launch(h, 5, 200) == KERNEL_LAUNCH_OTHER, "once");
	kernel_handles_unread(h, 5, 300);
	ok(launch(h, 5, 300) == KERNEL_LAUNCH_UNKNOWN,
	   "where there was none it is as if none was given");
	kernel_handles_born(h, 6, 5);
	ok(launch(h, 6, 100) == KERNEL_LAUNCH_NAME, "a copy of the process knows what was found");
	kernel_handles_free(h);
}

int main(void)
{
	const struct op_def *op = op_builtin(OP_CU_LAUNCH);
	struct kernel_handles *h = kernel_handles_new();
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
		kernel_handles_name(h, 1, i, name);
	}
	is_u64(kernel_handles_roomless(h), 0, "so many names have room");
	ok(kernel_handles_launch(h, 1, 1, &ev, op, &handle, &got) == KERNEL_LAUNCH_NAME &&
		   got.n == EACH && handle == 7,
	   "one is told with the launch of what it is of");
	text[0] = 'y';
	kernel_handles_name(h, 1, 7, name);
	is_u64(kernel_handles_roomless(h), 1, "one that there is no room for is counted");
	kernel_handles_again(h, say, &again);
	ok(kernel_handles_launch(h, 1, 1, &ev, op, &handle, &got) == KERNEL_LAUNCH_UNKNOWN,
	   "and what it is of is not called by another");
	found();
	kernel_handles_free(h);
	free(text);
	return tap_done();
}
