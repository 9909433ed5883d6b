// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The columns of a call from its arguments, as its spec says. Arguments and the piece of memory
 * that one of them points to are laid out as words in the thread's state; every kind of field is a
 * small function of words. What cannot be read is absent. Communicators are remembered here for
 * their ranks and sequence numbers.
 */
#ifndef INGERO_BPF_FIELDS_H
#define INGERO_BPF_FIELDS_H

#include "bpf/maps.h"
#include "bpf/regs.h"

struct comm_key {
	u64 comm;
	u64 tgid;
};
struct comm_state {
	u64 sequence;
	u32 rank, ranks; /* ranks 0: it is older than the recording */
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct comm_key);
	__type(value, struct comm_state);
} comms SEC(".maps");

#define BATCH_MAX   16	       /* entries of a batch that are summed up */
#define NCCL_TYPES  12	       /* ncclInt8 to ncclFloat8e5m2 */
#define NCCL_SHIFTS 0x79fa0ull /* log2 of their sizes, two bits each: 0 0 2 2 3 3 1 2 3 1 0 0 */

static __always_inline u64 low(u64 v)
{
	return (u32)v;
}

static __always_inline u64 shape_of(u64 x, u64 y, u64 z)
{
	return x | (y & 0xffff) << 32 | z << 48;
}

/* From CUmemorytype (1 host, 2 device, 3 array, 4 unified) to cudaMemcpyKind; 4: the driver finds
 * out. */
static __always_inline u64 copy_kind(u32 from, u32 to)
{
	if (from == 4 || to == 4 || from == 0 || to == 0)
		return 4;
	return (from != 1) << 1 | (to != 1);
}

/* A function of its own, which the verifier checks once and not for each column. */
__weak __noinline int sum_of(u64 address, u64 n, u64 *sum)
{
	u64 v;
	u32 i;

	if (!sum)
		return 0;
	*sum = 0;
	if (n > BATCH_MAX)
		return 0;
	for (i = 0; i < BATCH_MAX; i++) {
		if (i >= n)
			break;
		if (bpf_probe_read_user(&v, sizeof(v), (void *)(address + 8 * i)))
			return 0;
		*sum += v;
	}
	return 1;
}

static __always_inline struct comm_state *comm_of(u64 comm)
{
	struct comm_key key = { comm, bpf_get_current_pid_tgid() >> 32 };
	struct comm_state *c = bpf_map_lookup_elem(&comms, &key), fresh = {};

	if (c)
		return c;
	bpf_map_update_elem(&comms, &key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&comms, &key);
}

static __always_inline bool comm_field(u32 kind, u64 comm, u64 *value)
{
	struct comm_state *c = comm_of(comm);

	if (!c || (kind == FIELD_RANK && !c->ranks))
		return 0;
	*value = kind == FIELD_RANK ? c->rank : __sync_fetch_and_add(&c->sequence, 1);
	return 1;
}

/* A call returned well: x are its columns. */
static __always_inline void comm_changed(u32 flags, const u64 *x)
{
	struct comm_key key = { x[0], bpf_get_current_pid_tgid() >> 32 };
	struct comm_state fresh = { .rank = x[1], .ranks = x[2] };

	if (flags & SPEC_COMM_BEGINS)
		bpf_map_update_elem(&comms, &key, &fresh, BPF_ANY);
	else
		bpf_map_delete_elem(&comms, &key);
}

/* False: there is no such word. window: whether its words were read. */
static __always_inline bool field_of(const struct field_spec *f, const u64 *word, bool window,
				     u64 *value)
{
	u32 a = f->a & (WORDS - 1), b = f->b & (WORDS - 1);
	u64 v = word[a];

	if (a >= WORD_WINDOW && !window && f->kind != FIELD_CONST)
		return 0;
	switch (f->kind) {
	case FIELD_NONE:
		return 0;
	case FIELD_WORD:
	case FIELD_OUT_LOW:
		break;
	case FIELD_OUT:
		v += b;
		break;
	case FIELD_LOW:
		v = low(v);
		break;
	case FIELD_HIGH:
		v >>= 32;
		break;
	case FIELD_CONST:
		v = f->a;
		break;
	case FIELD_SHAPE:
		v = shape_of(low(v), v >> 32, low(word[(a + 1) & (WORDS - 1)]));
		break;
	case FIELD_SHAPE_HIGH:
		b = (a + 1) & (WORDS - 1);
		v = shape_of(v >> 32, low(word[b]), word[b] >> 32);
		break;
	case FIELD_SHAPE_ARGS:
		v = shape_of(low(v), word[(a + 1) & (WORDS - 1)], low(word[(a + 2) & (WORDS - 1)]));
		break;
	case FIELD_PRODUCT2:
		v *= word[b] * f->c;
		break;
	case FIELD_PRODUCT3:
		v *= word[(a + 1) & (WORDS - 1)] * word[(a + 2) & (WORDS - 1)];
		break;
	case FIELD_TIMES:
		v *= f->c;
		break;
	case FIELD_COPY_KIND:
		v = copy_kind(v, word[b]);
		break;
	case FIELD_SUM:
		return sum_of(v, word[b], value);
	case FIELD_NCCL_BYTES:
		b = word[b];
		if (b >= NCCL_TYPES)
			return 0;
		v <<= NCCL_SHIFTS >> 2 * b & 3;
		break;
	case FIELD_SEQUENCE:
	case FIELD_RANK:
		return comm_field(f->kind, v, value);
	default:
		return 0;
	}
	*value = v;
	return 1;
}

/* The functions below are verified on their own: once, and not once for each way that leads to
 * them. Their pointers are never NULL, but the verifier wants to see that. */

/* The recorder reads the name instead: it can wait for the page. */
static __always_inline bool name_pass_on(u64 handle, u64 text)
{
	struct wire_unread *w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);

	if (!w)
		return 0;
	w->kind = WIRE_UNREAD;
	w->pad[0] = w->pad[1] = w->pad[2] = 0;
	w->tgid = bpf_get_current_pid_tgid() >> 32;
	w->handle = handle;
	w->address = text;
	w->time_ns = bpf_ktime_get_ns();
	bpf_ringbuf_submit(w, ring_flags());
	return 1;
}

/* Tells what handle is called. */
__weak __noinline int tell_name(u64 handle, u64 text)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct wire_kernel *w = bpf_ringbuf_reserve(&ring, WIRE_KERNEL_HEAD + WIRE_NAME_SHORT, 0);
	long n;

	if (!w)
		goto lost;
	w->kind = WIRE_KERNEL;
	w->tgid = tgid;
	w->handle = handle;
	n = bpf_probe_read_user_str(w->name, WIRE_NAME_SHORT, (void *)text);
	if (n > 0 && n < WIRE_NAME_SHORT) {
		bpf_ringbuf_submit(w, BPF_RB_NO_WAKEUP);
		return 0;
	}
	bpf_ringbuf_discard(w, BPF_RB_NO_WAKEUP);
	if (n > 0) {
		w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
		if (!w)
			goto lost;
		w->kind = WIRE_KERNEL;
		w->tgid = tgid;
		w->handle = handle;
		n = bpf_probe_read_user_str(w->name, sizeof(w->name), (void *)text);
		if (n > 0) {
			bpf_ringbuf_submit(w, ring_flags());
			return 0;
		}
		bpf_ringbuf_discard(w, BPF_RB_NO_WAKEUP);
	}
	if (!text || name_pass_on(handle, text))
		return 0;
lost:
	count_untold(WIRE_UNTOLD_KERNEL);
	return 0;
}

/* The columns known at entry, from the arguments in st->words; those of OUT fields are addresses
 * until the call returns. */
__weak __noinline int fields_at_entry(struct task_state *st, const struct op_spec *spec,
				      struct call_open *call)
{
	u32 i, present = 0, bytes;
	bool window = 0;

	if (!st || !spec || !call)
		return 0;
	bytes = spec->window_bytes;
	if (bytes && bytes <= WORD_WINDOW_SIZE * 8)
		window = bpf_probe_read_user(
				 st->words + WORD_WINDOW, bytes,
				 (void *)(st->words[spec->window_arg & (WORD_WINDOW - 1)] +
					  spec->window_at)) == 0;
	for (i = 0; i < SPEC_FIELDS; i++) {
		if (i >= spec->nfields)
			break;
		if (field_of(&spec->field[i], st->words, window, &call->x[i]))
			present |= 1 << i;
	}
	call->present = present;
	return 0;
}

/* The columns that are known when the call has returned, and what its return changes. */
__weak __noinline int fields_at_return(const struct op_spec *spec, struct call_open *call, int ret)
{
	u32 i, present;

	if (!spec || !call)
		return 0;
	present = call->present;
	for (i = 0; i < SPEC_FIELDS; i++) {
		u32 kind;

		if (i >= spec->nfields)
			break;
		kind = spec->field[i].kind;
		if (kind != FIELD_OUT && kind != FIELD_OUT_LOW)
			continue;
		if (ret != 0 ||
		    bpf_probe_read_user(&call->x[i], sizeof(call->x[i]), (void *)call->x[i]))
			present &= ~(1u << i);
		else if (kind == FIELD_OUT_LOW)
			call->x[i] = (u32)call->x[i];
	}
	call->present = present;
	if (ret != 0)
		return 0;
	if (spec->flags & SPEC_NAMES)
		tell_name(call->x[0], call->name);
	if (spec->flags & (SPEC_COMM_BEGINS | SPEC_COMM_ENDS))
		comm_changed(spec->flags, call->x);
	return 0;
}

#endif
