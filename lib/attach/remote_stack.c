/* SPDX-License-Identifier: Apache-2.0 */
/*
 * That the thread slept all the while is known by how often it was given a CPU: as often after the
 * walk as the kernel saw before it.
 */
#include "lib/attach/remote_stack.h"

#include <stdlib.h>

#include "bpf/unwind_rule.h"
#include "lib/host/proc.h"
#include "lib/attach/remote_stack_bpf.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas" /* for the other compiler */
#include "bpf/python_code.h"
#pragma GCC diagnostic pop

#define CODES_OURS \
	(1u << 31)	    /* numbers of code objects from here on; the kernel side's are below */
#define FRAME_MAX (1 << 20) /* no frame is larger, as in bpf/stack.h */

static u32 frames_read(const struct wire_asleep *a, u64 *ip)
{
	u64 bp = a->fp, pair[2];
	u32 n = 0;

	ip[n++] = a->ip;
	if ((bp & 7) || bp < a->sp || bp - a->sp > FRAME_MAX)
		return n;
	while (n < WIRE_STACK_MAX && peek_read(pair, sizeof(pair), (void *)(uintptr_t)bp) == 0) {
#if defined(__aarch64__)
		pair[1] &= 0xffffffffffffull; /* without the signature of the address */
#endif
		if (pair[1] < 4096)
			break;
		ip[n++] = pair[1];
		if (pair[0] <= bp || (pair[0] & 7) || pair[0] - bp > FRAME_MAX)
			break;
		bp = pair[0];
	}
	return n;
}

static bool has_slept(const struct wire_asleep *a)
{
	struct err ignored = { 0 };
	struct host_schedstat s;

	return host_proc_schedstat(a->tgid, a->tid, &s, &ignored) == 0 && s.slices == a->slices;
}

static struct python_walk *python_of(const struct wire_asleep *a, struct python_process *python)
{
	struct pid inner = { a->inner };
	struct task_struct task = { { a->pointer }, &inner };
	struct python_walk *w = python_walk(&task, python, 1, ROOM_OF_CPU);

	/* All frames or none. */
	if (w)
		python_read(python, w, ROOM_OF_CPU);
	return w;
}

bool remote_stack_read(const struct wire_asleep *a, struct python_process *python,
		       probe_ring_fn *out, void *ctx)
{
	struct wire_stack s = {
		.kind = WIRE_STACK, .id = a->stack, .tgid = a->tgid, .ends = UNWIND_BY_POINTERS
	};
	struct python_walk *w = NULL;
	struct map numbers = { 0 };
	struct peek p = { .tgid = a->tgid, .codes = &numbers, .out = out, .ctx = ctx };
	bool slept = false;

	p.room = calloc(1, sizeof(*w));
	if (!p.room)
		return false;
	if (code_number < CODES_OURS)
		code_number = CODES_OURS;
	peek = &p;
	s.n = (__u16)frames_read(a, (u64 *)s.ip);
	s.ends |= s.n == WIRE_STACK_MAX ? UNWIND_CUT : UNWIND_STUCK;
	if (python)
		w = python_of(a, python);
	slept = has_slept(a);
	if (slept) {
		if (w)
			python_send(python, w, a->stack, a->tgid);
		/* What code objects say was read just now. */
		slept = has_slept(a);
	}
	if (slept) {
		s.python = w ? (__u8)w->flags : 0;
		out(ctx, &s, WIRE_STACK_HEAD + s.n * sizeof(s.ip[0]));
	}
	peek = NULL;
	map_free(&numbers);
	free(p.room);
	return slept;
}
