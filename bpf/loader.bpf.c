// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The dynamic loader's debug hook: an empty function it calls when its list of libraries begins to change and
 * when the change is done. Processes launched for the recording are stopped at the second call, until the
 * recorder has put its probes into what is new; others only tell it.
 */
#include "bpf/maps.h"

#define LOADER_CONSISTENT 0 /* r_state of struct r_debug: the change is done */

SEC("uprobe")
int loader_hook(struct pt_regs *ctx)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32, state = 0;
	struct target *t = bpf_map_lookup_elem(&targets, &tgid);
	/* Distance from the hook to the state word; 0: unknown, take every call. */
	s64 distance = (s64)bpf_get_attach_cookie(ctx);
	struct wire_life *w;

	if (!t)
		return 0;
	if (distance &&
	    bpf_probe_read_user(&state, sizeof(state), (void *)(REGS_IP(ctx) + distance)) == 0 &&
	    state != LOADER_CONSISTENT)
		return 0;
	w = life_begin(WIRE_LOADER, bpf_get_current_task_btf());
	if (!w)
		return 0;
	/* The signal before the message: whoever reads the message sends SIGCONT. */
	w->stopped = (t->flags & TARGET_STOP) && bpf_send_signal(19) == 0;
	bpf_ringbuf_submit(w, BPF_RB_FORCE_WAKEUP);
	return 0;
}
