// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Records NVTX annotations where a library exports the functions: ranges pushed and popped by a
 * thread, started and ended by id on any thread, and marks. The probe's cookie says which function
 * it is. Invariant: a pop carries the level of its push, so that a lost one does not shift those
 * around it.
 */
#include "bpf/join.h"
#include "bpf/regs.h"

#define SOURCE_MARK 17

#define LEVELS	 16384
#define STARTING 4096

struct nvtx_thread {
	u64 thread; /* tgid and tid */
	u64 domain;
};

/* Ranges pushed and not popped. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LEVELS);
	__type(key, struct nvtx_thread);
	__type(value, u32);
} nvtx_levels SEC(".maps");

struct nvtx_call {
	u64 time_ns;
	u64 domain;
	u64 id;
	u64 address; /* of the text or the attributes, or a handle */
	u32 copy;
	u32 level;
	u8 what;
	u8 text;
	u8 pad[6];
};

/* Functions that return what the rest is known by, while they run. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, STARTING);
	__type(key, u64);
	__type(value, struct nvtx_call);
} nvtx_starting SEC(".maps");

static __always_inline u32 level_of(const struct nvtx_call *c, u64 thread)
{
	struct nvtx_thread key = { thread, c->domain };
	u32 *level = bpf_map_lookup_elem(&nvtx_levels, &key), one = 1;

	if (c->what == NVTX_PUSH) {
		if (level)
			return ++*level;
		bpf_map_update_elem(&nvtx_levels, &key, &one, BPF_ANY);
		return 1;
	}
	return level && *level ? (*level)-- : 0;
}

static __always_inline void nvtx_fill(struct wire_nvtx *w, struct task_struct *task,
				      const struct nvtx_call *c)
{
	w->kind = WIRE_NVTX;
	w->what = c->what;
	w->text = c->text;
	w->cut = 0;
	w->tid = task->pid;
	w->copy = c->copy;
	w->lost = lost_total;
	w->level = c->level;
	w->time_ns = c->time_ns;
	w->domain = c->domain;
	w->id = c->id;
	w->handle = c->text == NVTX_HANDLE ? c->address : 0;
}

/* The recorder reads what is at the address. */
static __always_inline void nvtx_pass_on(struct wire_nvtx *w, const struct nvtx_call *c)
{
	w->cut = c->address ? NVTX_UNREAD : 0;
	w->handle = c->address;
}

/* Whether a character of so many bytes is there, and not the end. */
static __always_inline bool goes_on(u64 address, u32 bytes)
{
	u32 more = 0;

	return !bpf_probe_read_user(&more, bytes, (void *)address) && more;
}

static __always_inline bool send_wide_text(struct task_struct *task, const struct nvtx_call *c)
{
	struct wire_nvtx *w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
	u32 *to, i;

	if (!w)
		return 0;
	nvtx_fill(w, task, c);
	to = (u32 *)w->name;
	w->cut = 0;
	__builtin_memset(w->name, 0, sizeof(w->name));
	/* Unrolled: kernels up to 6.1 refuse the loop for the order in which its blocks come. */
#pragma clang loop unroll(full)
	for (i = 0; i < NVTX_LONG / 4; i++) {
		if (bpf_probe_read_user(&to[i], 4, (void *)(c->address + 4 * i))) {
			nvtx_pass_on(w, c);
			goto out;
		}
		if (!to[i])
			goto out;
	}
	w->cut = goes_on(c->address + NVTX_LONG, 4);
out:
	bpf_ringbuf_submit(w, ring_flags());
	return 1;
}

static __always_inline bool send_text(struct task_struct *task, const struct nvtx_call *c)
{
	struct wire_nvtx *w = bpf_ringbuf_reserve(&ring, NVTX_HEAD + NVTX_SHORT, 0);
	long n = 0;

	if (!w)
		return 0;
	nvtx_fill(w, task, c);
	if (c->text == NVTX_NARROW)
		n = bpf_probe_read_user_str(w->name, NVTX_SHORT, (void *)c->address);
	if (n <= 0)
		w->name[0] = 0;
	if (n < 0 || c->text == NVTX_ATTRIBUTES)
		nvtx_pass_on(w, c);
	if (n < 0 && !c->address)
		w->text = NVTX_NO_TEXT;
	if (n == NVTX_SHORT)
		w->cut = goes_on(c->address + NVTX_SHORT - 1, 1);
	bpf_ringbuf_submit(w, ring_flags());
	return 1;
}

static __always_inline void nvtx_said(struct task_struct *task, struct nvtx_call *c)
{
	struct {
		u32 kind, pad;
		u64 text;
	} message = {};
	struct task_state *st = task_state_of(task);

	if (!st)
		st = caller_join(task, SOURCE_MARK);
	if (!st)
		return;
	if (c->text == NVTX_ATTRIBUTES &&
	    !bpf_probe_read_user(&message, sizeof(message),
				 (void *)(c->address + NVTX_ATTRIBUTES_MESSAGE))) {
		c->text = message.kind < NVTX_ATTRIBUTES ? message.kind : NVTX_NO_TEXT;
		c->address = message.text;
	}
	if (!task_announce(task, st) ||
	    !(c->text == NVTX_WIDE ? send_wide_text(task, c) : send_text(task, c)))
		count_loss(SOURCE_MARK, WIRE_LOST_RING);
}

static __always_inline u64 get_argument(const u64 *word, u32 i)
{
	return i ? word[1] : word[0];
}

SEC("uprobe")
int nvtx_enter(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 cookie = bpf_get_attach_cookie(ctx), thread = bpf_get_current_pid_tgid();
	u32 function = COOKIE_TO_SPEC(cookie), first = function >> 16 & 1;
	struct nvtx_call c = { .time_ns = bpf_ktime_get_ns() };
	u64 word[WORD_STACK];

	call_words(ctx, word);
	c.what = function;
	c.text = function >> 8;
	c.copy = COOKIE_TO_COPY(cookie);
	c.domain = first ? word[0] : 0;
	if (c.text)
		c.address = get_argument(word, first);
	if (c.what == NVTX_END)
		c.id = get_argument(word, first);
	if (c.what == NVTX_PUSH || c.what == NVTX_POP)
		c.level = level_of(&c, thread);
	if (c.what == NVTX_START || c.what == NVTX_REGISTER)
		bpf_map_update_elem(&nvtx_starting, &thread, &c, BPF_ANY);
	else
		nvtx_said(task, &c);
	return 0;
}

/* The text is the caller's, who has it still. */
SEC("uretprobe")
int nvtx_return(struct pt_regs *ctx)
{
	u64 thread = bpf_get_current_pid_tgid();
	struct nvtx_call *open = bpf_map_lookup_elem(&nvtx_starting, &thread), c;

	if (!open)
		return 0;
	c = *open;
	bpf_map_delete_elem(&nvtx_starting, &thread);
	c.id = REGS_RC(ctx);
	nvtx_said(bpf_get_current_task_btf(), &c);
	return 0;
}
