// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Entry and return of traced library calls. What a call's columns are comes from the table of
 * specs, whose index is the probe's cookie; open calls are kept per thread with their stack
 * pointer, so that a return finds its entry and entries left behind by longjmp or exceptions are
 * dropped and counted. Invariant: every entry of a target ends as one event or as one counted loss.
 */
#include "bpf/fields.h"
#include "bpf/join.h"
#include "bpf/regs.h"
#include "bpf/stack.h"
#include "bpf/steal.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SPECS_MAX);
	__type(key, u32);
	__type(value, struct op_spec);
} specs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SPECS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct spec_passed);
} passed SEC(".maps");

/* Is this call one of those that are left out? Counted exactly. */
static __always_inline bool call_left_out(u32 number, u16 every)
{
	struct spec_passed *p = bpf_map_lookup_elem(&passed, &number);

	if (!p || (__sync_fetch_and_add(&p->seen, 1) % every == 0 && every != SPEC_NONE))
		return 0;
	__sync_fetch_and_add(&p->left_out, 1);
	return 1;
}

extern bool bpf_session_is_return(void) __ksym __weak;

__u32 session_asks SEC(".bss"); /* the short way to tell entry from return does not hold here */

/* Probes are being taken away, one after the other: returns that are not seen any more are those of
 * calls that were open at the end, which are not lost. */
__u32 calls_over SEC(".bss");

/* One step of calls_heal: drops the innermost open call if it is not open any more. 0: it is, or
 * there is none. */
__noinline int call_drop(struct task_state *st, u64 sp, u32 chained)
{
	struct call_open *top;
	u32 n;

	if (!st)
		return 0;
	n = st->ncalls;
	if (n == 0 || n > CALLS_OPEN_MAX)
		return 0;
	top = &st->open[(n - 1) & (CALLS_OPEN_MAX - 1)];
	if (!call_detached(top)) {
		if (top->sp > sp || (top->sp == sp && chained))
			return 0;
		if (!calls_over)
			count_loss(top->op >> 8, WIRE_LOST_RETURN);
	}
	st->ncalls = n - 1;
	return 1;
}

/* Drops open calls whose frames are gone (the stack has been unwound past them) and, innermost
 * first, those whose return is not probed any more. Returns how many are left. */
__noinline int calls_heal(struct task_state *st, u64 sp, u32 chained)
{
	u32 k;

	if (!st)
		return 0;
	for (k = 0; k < CALLS_OPEN_MAX; k++)
		if (!call_drop(st, sp, chained))
			break;
	return st->ncalls;
}

static __always_inline u64 cookie_of(struct pt_regs *ctx, struct uprobe_task *utask,
				     struct task_state *st)
{
	struct call_site *site;
	u64 ip = REGS_IP(ctx), probe;

	if (!st || !bpf_core_field_exists(utask->auprobe))
		return bpf_get_attach_cookie(ctx);
	probe = (u64)utask->auprobe;
	site = &st->site[ip >> 4 & (SITES - 1)];
	if (!probe || site->probe != probe || site->ip != ip || site->epoch != tiers_epoch) {
		site->cookie = bpf_get_attach_cookie(ctx);
		site->probe = probe;
		site->ip = ip;
		site->epoch = tiers_epoch;
	}
	return site->cookie;
}

/* The columns of a plain op: registers. */
static __always_inline void fields_plain(const struct task_state *st, const struct op_spec *spec,
					 struct call_open *call)
{
	u32 i, n = spec->nfields;

#pragma unroll
	for (i = 0; i < PLAIN_FIELDS; i++) {
		u64 v = st->words[spec->field[i].a & (WORD_WINDOW - 1)];

		call->x[i] = spec->field[i].kind == FIELD_LOW ? (u32)v : v;
	}
	call->present = (1u << (n & 3)) - 1;
}

/* How far behind the probe of an exported function that only wraps another the call of that one may
 * stand. The longest seen is 20 bytes (ncclBcast of NCCL 2.32); nothing else is taken for one,
 * because it also has to be of the same op and file. */
#define WRAPPER_BYTES 4096

/* Does the innermost open call, a function of the same op in the same file, enter this one itself?
 * By a jump (chained: both return to the trampoline, from one place on the stack) or by a call.
 * Then this is no second call. */
static __always_inline bool continues_call(struct pt_regs *ctx, const struct call_open *outer,
					   const struct op_spec *spec, u32 copy, bool chained)
{
	if (outer->op != spec->op || outer->copy != copy)
		return 0;
	if (chained)
		return outer->sp == REGS_SP(ctx);
	return call_caller(ctx) - outer->ip < WRAPPER_BYTES;
}

#define SOURCE_CUDA   1 /* enum event_source */
#define SOURCE_DRIVER 4

/* A driver call that a runtime call makes to do its work: the runtime call's event stands for both.
 * Counted exactly. */
static __always_inline bool folds_into(const struct call_open *outer, const struct op_spec *spec,
				       u32 number)
{
	u32 of = outer->spec;
	struct spec_passed *p;
	struct op_spec *o;

	if (!(spec->flags & SPEC_FOLDS) || spec->op >> 8 != SOURCE_DRIVER ||
	    outer->op >> 8 != SOURCE_CUDA)
		return 0;
	o = bpf_map_lookup_elem(&specs, &of);
	if (!o || o->tier != spec->tier)
		return 0;
	p = bpf_map_lookup_elem(&passed, &number);
	if (p)
		__sync_fetch_and_add(&p->folded, 1);
	return 1;
}

/* Is its tier not to be heeded? */
static __always_inline bool tier_dropped(const struct op_spec *spec)
{
	u32 tier = spec->tier & (SPEC_TIERS - 1);

	if (!tier_off[tier])
		return 0;
	if (!tier_dropped_ns[tier])
		tier_dropped_ns[tier] = bpf_ktime_get_ns();
	return 1;
}

/* st: of the calling thread, NULL if it has none. 1: this call is not followed, its return need not
 * be probed. */
static __always_inline int call_enter(struct pt_regs *ctx, struct task_struct *task,
				      struct uprobe_task *utask, struct task_state *st)
{
	u64 cookie = cookie_of(ctx, utask, st);
	u32 number = COOKIE_TO_SPEC(cookie), n;
	struct op_spec *spec = bpf_map_lookup_elem(&specs, &number);
	struct call_open *call;
	u64 sp = REGS_SP(ctx), caller = CALLER_AT_ENTRY ? call_caller(ctx) : 0;
	bool chained = 0;

	if (!spec || tier_dropped(spec))
		return 1;
	if (!st) {
		st = caller_join(task, spec->op >> 8);
		if (!st)
			return 1;
	}
	n = st->ncalls;
	if (n > 0 && (st->open[(n - 1) & (CALLS_OPEN_MAX - 1)].sp <= sp ||
		      call_detached(&st->open[(n - 1) & (CALLS_OPEN_MAX - 1)]))) {
		/* Entered by a jump from another probed function (a tail call): both return to the
		 * trampoline, which stands at the start of a page, and the outer one is still open
		 * although the stack is at its level. */
		chained = !(call_caller(ctx) & 0xfff);
		n = calls_heal(st, sp, chained);
		if (chained && n > 0 && st->open[(n - 1) & (CALLS_OPEN_MAX - 1)].sp == sp)
			caller = st->open[(n - 1) & (CALLS_OPEN_MAX - 1)].ret;
	}
	st->ncalls = n;
	if (n > 0 && continues_call(ctx, &st->open[(n - 1) & (CALLS_OPEN_MAX - 1)], spec,
				    COOKIE_TO_COPY(cookie), chained))
		return 1;
	if (n > 0 && folds_into(&st->open[(n - 1) & (CALLS_OPEN_MAX - 1)], spec, number))
		return 1;
	if (spec->every > 1 && call_left_out(number, spec->every))
		return 1;
	if (n >= CALLS_OPEN_MAX) {
		count_loss(spec->op >> 8, WIRE_LOST_NESTING);
		return 1;
	}
	if (n > 0 && config_walker != WALKER_NONE)
		caller_learn(utask, st);
	call = &st->open[n & (CALLS_OPEN_MAX - 1)];
	call->sp = sp;
	call->ret = caller;
	call->ip = REGS_IP(ctx);
	call->op = spec->op;
	call->spec = number;
	call->copy = COOKIE_TO_COPY(cookie);
	call->tier = spec->tier;
	call->epoch = tier_epoch[spec->tier & (SPEC_TIERS - 1)];
	call->stack = 0;
	call_words(ctx, st->words);
	if (spec->flags & SPEC_STACK)
		call_stack_words(ctx, st->words + WORD_STACK);
	if (spec->flags & SPEC_PLAIN)
		fields_plain(st, spec, call);
	else
		fields_at_entry(st, spec, call);
	if (spec->flags & SPEC_NAMES) {
		call->name = st->words[spec->text & (WORD_WINDOW - 1)];
		if (spec->flags & SPEC_SILENT) {
			tell_name(st->words[spec->handle & (WORD_WINDOW - 1)], call->name);
			return 1;
		}
	}
	call->start_ns = bpf_ktime_get_ns();
	if (config_sched)
		steal_tell(task, st, bpf_get_smp_processor_id(), n, STEAL_LEAST_NS, call->start_ns);
	st->ncalls = n + 1;
	return 0;
}

static __always_inline int call_return(struct pt_regs *ctx, struct task_struct *task,
				       struct task_state *st, u64 now)
{
	u64 sp = REGS_SP(ctx) - RETURN_POPS, dur;
	struct call_open *call;
	struct op_spec *spec;
	struct wire_call *w;
	struct wire_call_long *l;
	struct wire_call_wide *wide;
	u32 n, number, copy, present, stack = 0;
	s32 ret = REGS_RC(ctx);
	u16 op;

	if (!st || st->ncalls == 0)
		return 0;
	n = st->ncalls;
	call = &st->open[(n - 1) & (CALLS_OPEN_MAX - 1)];
	if (call->sp != sp) {
		n = calls_heal(st, sp, 1);
		call = &st->open[(n - 1) & (CALLS_OPEN_MAX - 1)];
		if (n == 0 || call->sp != sp)
			return 0; /* its entry was not followed */
	}
	number = call->spec;
	copy = call->copy;
	op = call->op;
	dur = now - call->start_ns;
	st->ncalls = n - 1;
	spec = bpf_map_lookup_elem(&specs, &number);
	if (!spec)
		return 0;
	if (!(spec->flags & SPEC_AT_ENTRY))
		fields_at_return(spec, call, ret);
	present = call->present;
	if (!task_announce(task, st))
		goto lost;
	if (config_sched)
		steal_tell(task, st, bpf_get_smp_processor_id(), n, STEAL_LEAST_NS, now);
	if (config_walker != WALKER_NONE)
		stack = stack_at_return(ctx, st);
	if (present >> WIRE_WIDE_COLUMNS) {
		wide = bpf_ringbuf_reserve(&ring, sizeof(*wide), 0);
		if (!wide)
			goto lost;
		w = &wide->call;
		w->kind = WIRE_CALL_WIDE;
		wide->dur_high = dur >> 32;
		wide->present = present;
		__builtin_memcpy(wide->more, call->x + 2, sizeof(wide->more));
	} else if ((present & 4) || dur >> 32) {
		l = bpf_ringbuf_reserve(&ring, sizeof(*l), 0);
		if (!l)
			goto lost;
		w = &l->call;
		w->kind = WIRE_CALL_LONG;
		l->x2 = call->x[2];
		l->dur_high = dur >> 32;
		l->pad = 0;
	} else {
		w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
		if (!w)
			goto lost;
		w->kind = WIRE_CALL;
	}
	w->depth_present = ((n - 1) & 15) | present << 4;
	w->op = op;
	w->tid = task->pid;
	w->copy = copy;
	w->end_ns = now;
	w->dur_ns = dur;
	w->ret = ret;
	w->stack = stack;
	w->lost = lost_total;
	w->x[0] = call->x[0];
	w->x[1] = call->x[1];
	bpf_ringbuf_submit(w, st->sent++ % RING_LOOK ? BPF_RB_NO_WAKEUP : ring_flags());
	return 0;
lost:
	count_loss(op >> 8, WIRE_LOST_RING);
	return 0;
}

/* Is this a return? The kernel has a function for that, which costs as much as all of our own
 * arithmetic, twice a call. The thread's own state also holds the current probe, but only while
 * entries are served. That is no documented interface: up to a thread's first return both are
 * checked, and if they ever differ, the state is not used any more. */
static __always_inline bool is_return(struct uprobe_task *utask)
{
	if (session_asks || !bpf_core_field_exists(utask->auprobe))
		return bpf_session_is_return();
	return !utask->auprobe;
}

static __always_inline bool mark_was_wrong(struct task_state *st, bool ret)
{
	if (st && (st->flags & TASK_RETURNED))
		return 0;
	if (bpf_session_is_return() == ret) {
		if (st && ret)
			st->flags |= TASK_RETURNED;
		return 0;
	}
	session_asks = 1;
	return 1;
}

/* One of these three forms is loaded, see lib/attach/session_load.c. */
SEC("uprobe")
int call_session(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *utask = task->utask;
	bool ret = is_return(utask);
	u64 now = ret ? bpf_ktime_get_ns() : 0;
	struct task_state *st = task_state_of(task);

	if (mark_was_wrong(st, ret)) {
		ret = !ret;
		now = bpf_ktime_get_ns();
	}
	if (ret)
		return call_return(ctx, task, st, now);
	return call_enter(ctx, task, utask, st);
}

SEC("uprobe")
int call_entry(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	call_enter(ctx, task, task->utask, task_state_of(task));
	return 0;
}

SEC("uretprobe")
int call_exit(struct pt_regs *ctx)
{
	u64 now = bpf_ktime_get_ns();
	struct task_struct *task = bpf_get_current_task_btf();

	return call_return(ctx, task, task_state_of(task), now);
}

/* Prints the open calls of every target thread: the recorder runs it to name hung calls and to know
 * before which time nothing can start any more. */
SEC("iter/task")
int open_calls(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct wire_open head = {};
	struct wire_thread who;
	struct task_state *st;
	u32 i;

	if (!task)
		return 0;
	st = task_state_of(task);
	if (!st || (st->ncalls == 0 && st->sched.out_ns == 0))
		return 0;
	head.tid = task->pid;
	head.tgid = task->tgid;
	head.start_ns = task->start_boottime;
	/* Whether calls are open whose return is no longer probed is unknown. */
	head.ncalls = calls_attached(st);
	head.off_since = st->sched.out_ns;
	if (head.ncalls > CALLS_OPEN_MAX)
		head.ncalls = CALLS_OPEN_MAX;
	/* Its first call is open still. Its state is its own to change: it is not announced from
	 * here. */
	head.unannounced = head.ncalls && !(st->flags & TASK_ANNOUNCED);
	bpf_seq_write(ctx->meta->seq, &head, sizeof(head));
	if (head.unannounced) {
		task_identity(&who, task);
		bpf_seq_write(ctx->meta->seq, &who, sizeof(who));
	}
	for (i = 0; i < CALLS_OPEN_MAX; i++) {
		struct wire_open_call call = {};

		if (i >= head.ncalls)
			break;
		call.start_ns = st->open[i].start_ns;
		call.op = st->open[i].op;
		call.depth = i;
		call.stack = st->open[i].stack;
		bpf_seq_write(ctx->meta->seq, &call, sizeof(call));
	}
	return 0;
}
