// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The dynamic loader's debug hook: an empty function it calls when its list of libraries begins to
 * change and when the change is done. Processes launched for the recording are stopped at the
 * second call, until the recorder has put its probes into what is new; others only tell it. Where
 * nothing that is new is probed, nobody is stopped: a program of many libraries would stand still
 * for each. That is known of a file by its name, or as the recorder has looked at it before. Before
 * such a library is removed its process is stopped: what it said may be read in its file.
 */
#include "bpf/known.h"

/* r_state of struct r_debug: the change is done; libraries are taken away. */
#define LOADER_CONSISTENT 0
#define LOADER_DELETE	  2
/* <link.h> on 64-bit: from r_state back to r_map in struct r_debug; in struct link_map, of which
 * each begins with its address. */
#define STATE_TO_LIST 16
#define ENTRY_DYNAMIC 16 /* l_ld: lies in a mapping of the library's file */
#define ENTRY_NEXT    24

#define ENTRIES_MAX 1024 /* looked at in one call; with more new ones the process is stopped */

#define NAME_BYTES 8

struct entry_file {
	struct file_number number;
	u32 mapped;
	char name[NAME_BYTES]; /* its beginning */
};

static long file_of_entry(struct task_struct *task, struct vm_area_struct *vma, void *ctx)
{
	struct entry_file *at = ctx;
	struct file *file = BPF_CORE_READ(vma, vm_file);

	at->mapped = 1;
	if (!file)
		return 0;
	read_file_number(&at->number, file);
	if (bpf_probe_read_kernel_str(at->name, sizeof(at->name),
				      BPF_CORE_READ(file, f_path.dentry, d_name.name)) <= 0)
		at->number.file.inode = at->mapped = 0;
	return 0;
}

struct entries {
	u64 entry; /* to be looked at next; 0: no more */
	u64 last;
	u32 fresh;
	u32 unknown;
};

/* What the recorder probes, or looks into, is called libcu…, libn…, libp… (lib/attach/spec.c,
 * static_runtime.c, nvtx_rows.c; Python's). */
static __always_inline bool may_hold_probes(const char *name)
{
	return name[0] == 'l' && name[1] == 'i' && name[2] == 'b' &&
	       ((name[3] == 'c' && name[4] == 'u') || name[3] == 'n' || name[3] == 'p');
}

/* Whether its file holds nothing to probe. The kernel's own library has no file. */
static __always_inline bool is_known(u64 dynamic)
{
	struct entry_file at = {};
	struct known_state *known;

	if (bpf_find_vma(bpf_get_current_task_btf(), dynamic, file_of_entry, &at, 0) || !at.mapped)
		return 0;
	if (!at.number.file.inode)
		return 1;
	known = known_state_of(&at.number);
	return known ? !known->probed : !may_hold_probes(at.name);
}

static long look_at_entry(u32 i, void *ctx)
{
	struct entries *e = ctx;
	u64 dynamic = 0, next = 0;

	if (!e->entry)
		return 1;
	if (bpf_probe_read_user(&dynamic, sizeof(dynamic), (void *)(e->entry + ENTRY_DYNAMIC)) ||
	    bpf_probe_read_user(&next, sizeof(next), (void *)(e->entry + ENTRY_NEXT))) {
		e->last = 0;
		e->unknown = 1;
		return 1;
	}
	e->unknown |= !is_known(dynamic);
	e->fresh++;
	e->last = e->entry;
	e->entry = next;
	return 0;
}

/* state: address of r_state. */
static __always_inline bool is_all_known(struct target *t, u64 state)
{
	struct entries e = {};

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma) ||
	    !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		return 0;
	if (t->library)
		bpf_probe_read_user(&e.entry, sizeof(e.entry), (void *)(t->library + ENTRY_NEXT));
	else
		bpf_probe_read_user(&e.entry, sizeof(e.entry), (void *)(state - STATE_TO_LIST));
	bpf_loop(ENTRIES_MAX, look_at_entry, &e, 0);
	/* Without a new one the change was in another list, of a name space of its own. */
	if (!e.fresh)
		return 0;
	t->library = e.last;
	return !e.unknown && !e.entry;
}

SEC("uprobe")
int loader_hook(struct pt_regs *ctx)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32, state = 0;
	struct target *t = bpf_map_lookup_elem(&targets, &tgid);
	/* Distance from the hook to the state word; 0: unknown, take every call. */
	s64 distance = (s64)bpf_get_attach_cookie(ctx);
	u64 at = REGS_IP(ctx) + distance;
	struct wire_life *w;
	u8 change = LOADER_ADDED;
	bool known;

	if (!t)
		return 0;
	if (distance)
		bpf_probe_read_user(&state, sizeof(state), (void *)at);
	/* Also when a change begins: from then on libraries come and go. */
	unwind_changed(tgid, distance && state != LOADER_DELETE && !t->removing ? UNWIND_ADDS
										: UNWIND_REMOVES);
	if (state == LOADER_DELETE) {
		t->library = 0; /* the entry may go */
		t->removing = 1;
		/* What the recorder has not read of it yet, it never could. */
		if (!t->grown)
			return 0;
		change = LOADER_REMOVING;
		known = 0;
	} else if (state != LOADER_CONSISTENT) {
		return 0;
	} else {
		known = t->flags & TARGET_STOP && distance && is_all_known(t, at);
		if (t->removing)
			change = LOADER_REMOVED;
		t->removing = 0;
	}
	w = life_begin(WIRE_LOADER, bpf_get_current_task_btf());
	if (!w)
		return 0;
	t->grown = known;
	w->process = change;
	w->known = known;
	/* The signal before the message: whoever reads the message sends SIGCONT. */
	w->stopped = !known && (t->flags & TARGET_STOP) && bpf_send_signal(19) == 0;
	bpf_ringbuf_submit(w, known ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP);
	return 0;
}
