// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Where CPython frees a code object: from then on another one may stand at its address, so what was
 * said of stacks by the addresses of their code objects is said anew. Counted at the function's
 * entry, before the memory is given back.
 */
#include "bpf/python_state.h"

SEC("uprobe")
int python_freed(void *ctx)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct python_process *p = bpf_map_lookup_elem(&pythons, &tgid);

	if (p)
		__sync_fetch_and_add(&p->freed, 1);
	return 0;
}
