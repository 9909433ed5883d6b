// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Walks native stacks by tables made of .eh_frame (unwind_rule.h), so that code needs no frame
 * pointers. A frame's rule comes from a cache, or by binary searches in the process's mappings, the
 * module's pages and its rows. A list of mappings or a table never changes as long as it is one:
 * what takes its place later has another generation or serial, and whoever finds that out marks the
 * stack. Where the loader changes what is mapped, stacks are marked until the recorder has looked.
 */
#ifndef INGERO_BPF_UNWIND_H
#define INGERO_BPF_UNWIND_H

#include "bpf/maps.h"
#include "bpf/regs.h"

__weak struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 65536); /* UNWIND_RULES_MAX */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, u64);
} unwind_rules SEC(".maps");

struct unwind_list_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct unwind_mapping));
};

struct unwind_table_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(u64));
};

/* By number of the chunk. */
__weak struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_LIST_CHUNKS);
	__type(key, u32);
	__array(values, struct unwind_list_map);
} unwind_lists SEC(".maps");

__weak struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_TABLE_CHUNKS);
	__type(key, u32);
	__array(values, struct unwind_table_map);
} unwind_tables SEC(".maps");

/* Rules met last, of all threads: in each set two, with the address and the generation of the list
 * of mappings. Writers do not wait for each other: what two of them mixed up is of no address at
 * all, since an address is kept mixed with its rule. */
#define CACHE_BITS 14
/* The 48 bits of an address, shuffled: the upper ones say the set, the others and the generation
 * are the key. */
#define ADDRESS_BITS 48
#define KEY_BITS     (ADDRESS_BITS - CACHE_BITS)
#define SHUFFLE	     0x9e3779b97f4bull
_Static_assert(KEY_BITS + UNWIND_GENERATION_BITS <= 64, "a key has room for a generation");
struct unwind_set {
	u64 mixed[2];
	u64 rule[2];
};
__weak struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << CACHE_BITS);
	__type(key, u32);
	__type(value, struct unwind_set);
} unwind_cache SEC(".maps");

/* Of each CPU. A thread that is moved in between may lose one: they are for a mean. */
__weak struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unwind_counts);
} unwind_counts SEC(".maps");

__weak __u32 unwind_epoch SEC(".bss"); /* counts changes of unwind_slots */

#define LIST_STEPS 12 /* UNWIND_MAPPINGS_MAX */
#define ROW_STEPS  16 /* of a page */

/* No kinds of a table: there is none (UNWIND_NO_TABLE); the list is another one's meanwhile. */
#define UNWIND_NOWHERE 15
#define UNWIND_STALE   14
#define NO_RULE	       ((u64)UNWIND_NONE)
#define NO_TABLE_RULE  ((u64)UNWIND_NOWHERE)
#define STALE_RULE     ((u64)UNWIND_STALE)

/* The i-th u32 of the pages and rows of a table that begins there. */
static __always_inline u32 table_word(void *tables, u32 begin, u32 i)
{
	u32 at = begin + UNWIND_HEAD + (i >> 1);
	u64 *v = bpf_map_lookup_elem(tables, &at);

	return v ? *v >> (i & 1) * 32 : 0;
}

static __always_inline u64 rule_in_table(u32 chunk, u32 begin, u32 serial, u64 address)
{
	void *table = bpf_map_lookup_elem(&unwind_tables, &chunk);
	u32 lo, hi, k, at = begin, rows, low = address & 0xffff, number;
	u64 *base, *pages, *rule, page;

	if (!table)
		return NO_TABLE_RULE;
	base = bpf_map_lookup_elem(table, &at);
	at++;
	pages = bpf_map_lookup_elem(table, &at);
	if (!base || !pages || *pages >> 32 != serial)
		return STALE_RULE;
	page = (address - *base) >> 16;
	if (address < *base || page >= (u32)*pages)
		return NO_RULE;
	rows = (u32)*pages + 1;
	lo = table_word(table, begin, page);
	hi = table_word(table, begin, page + 1);
#pragma unroll
	for (k = 0; k < ROW_STEPS; k++) {
		u32 mid = (lo + hi) >> 1, above;

		if (hi - lo <= 1)
			break;
		/* All ones or none. Without a branch, as either is as likely: the processor would
		 * guess wrong, and the verifier would follow both. */
		above = (s32)(low - (table_word(table, begin, rows + mid) & 0xffff)) >> 31;
		__asm__ volatile("" : "+r"(above));
		lo = mid + ((lo - mid) & above);
		hi = mid + ((hi - mid) & ~above);
	}
	number = table_word(table, begin, rows + lo) >> 16;
	rule = bpf_map_lookup_elem(&unwind_rules, &number);
	return rule ? *rule : NO_RULE;
}

/* The rule at this address by that list (of struct unwind_process). */
__weak __noinline u64 unwind_find(u64 which, u64 address)
{
	u32 chunk = UNWIND_LIST_CHUNK(which), lo = UNWIND_LIST_AT(which), hi, k;
	void *list = bpf_map_lookup_elem(&unwind_lists, &chunk);
	struct unwind_mapping *m;

	if (!list)
		return STALE_RULE;
	m = bpf_map_lookup_elem(list, &lo);
	if (!m || m->end != UNWIND_LIST_GENERATION(which))
		return STALE_RULE;
	hi = ++lo + m->start;
#pragma unroll
	for (k = 0; k < LIST_STEPS; k++) {
		u32 mid = (lo + hi) >> 1;

		if (hi - lo <= 1)
			break;
		m = bpf_map_lookup_elem(list, &mid);
		if (!m)
			return NO_TABLE_RULE;
		if (m->start <= address)
			lo = mid;
		else
			hi = mid;
	}
	m = bpf_map_lookup_elem(list, &lo);
	/* No code that is known: nothing follows from a frame pointer either. */
	if (!m || address < m->start || address >= m->end)
		return UNWIND_BAD;
	if (m->module == UNWIND_NO_TABLE)
		return NO_TABLE_RULE;
	if (!m->module)
		return NO_RULE;
	return rule_in_table(m->chunk, m->at, m->serial, address - m->bias);
}

/* Whether that list still exists. */
static __always_inline bool unwind_is_there(u64 which)
{
	u32 chunk = UNWIND_LIST_CHUNK(which), at = UNWIND_LIST_AT(which);
	void *list = bpf_map_lookup_elem(&unwind_lists, &chunk);
	volatile struct unwind_mapping *m = list ? bpf_map_lookup_elem(list, &at) : 0;

	return m && m->end == UNWIND_LIST_GENERATION(which);
}

/* The true return address if the one read from slot is that of the kernel's trampoline. On x86 the
 * slot shows that; elsewhere the trampoline is recognized by its place at the start of a page, with
 * no call in front of it. */
static __always_inline u64 return_address(struct walk *w, struct task_state *st, u64 slot,
					  u64 address)
{
	u32 i = w->outer - 1;

	if (i >= CALLS_OPEN_MAX)
		return address;
#if defined(__TARGET_ARCH_x86)
	if (st->open[i].sp != slot)
		return address;
#else
	if (address & 0xfff || follows_call(address))
		return address;
#endif
	w->outer = i;
	return st->open[i].ret;
}

/* Its process's slot, if it has tables; NULL: it has none. */
static __always_inline struct unwind_process *unwind_process_of(struct walk *w, u32 tgid)
{
	struct unwind_process *p;
	u32 slot, *found;

	if (w->slot_epoch != unwind_epoch) {
		w->slot_epoch = unwind_epoch;
		found = bpf_map_lookup_elem(&unwind_slots, &tgid);
		w->slot = found ? *found + 1 : 0;
	}
	if (!w->slot)
		return 0;
	slot = w->slot - 1;
	p = bpf_map_lookup_elem(&unwind_processes, &slot);
	return p && p->tgid == tgid ? p : 0;
}

#if defined(__TARGET_ARCH_arm64)

/* Frame pointers lead from caller to caller; but a function that calls none has no frame, and one
 * that has just begun none yet. So the innermost function's rule says who called it. Returns the
 * frame pointer from which the others follow. */
static __always_inline u64 unwind_first(struct walk *w, struct task_state *st, u32 tgid, u64 ip,
					u64 sp, u64 bp, u64 link)
{
	volatile struct unwind_process *p = unwind_process_of(w, tgid);
	u64 list, rule, cfa, address = link, outer = bp;
	u32 kind;

	if (!p)
		return bp;
	list = p->list;
	/* Where something was removed since, the frame pointer alone leads. */
	if (!list || p->kept != p->removals)
		return bp;
	rule = unwind_find(list, ip - 1);
	kind = unwind_rule_kind(rule);
	if (kind != UNWIND_SP && kind != UNWIND_BP)
		return bp;
	cfa = (kind == UNWIND_SP ? sp : bp) + unwind_rule_cfa(rule);
	if (!(rule & UNWIND_IN_LINK) &&
	    bpf_probe_read_user(&address, sizeof(address),
				(void *)(cfa + unwind_rule_ra_offset(rule))))
		return bp;
	if (unwind_rule_fp(rule) == UNWIND_FP_CFA &&
	    bpf_probe_read_user(&outer, sizeof(outer),
				(void *)(cfa + unwind_rule_fp_offset_arm64(rule))))
		return bp;
	address = return_address(w, st, 0, CODE_ADDRESS(address));
	if (address < 4096)
		return bp;
	w->record.ip[1] = address;
	w->hash = mix(w->hash, address);
	w->n = 2;
	return outer;
}

/* False: stacks are walked by frame pointers. */
static __always_inline bool unwind_walk(struct walk *w, struct task_state *st, u32 tgid, u32 exact)
{
	return 0;
}

#else

/* The stack from there on, where its mapping ends as far down as it must be. */
static __always_inline bool unwind_copy(struct walk *w, u64 base)
{
	u64 end = base + WALK_WINDOW;

	w->most = WALK_WINDOW - 8;
	if (w->limit && end > w->limit && base < w->limit)
		base = w->limit - WALK_WINDOW;
	if (bpf_probe_read_user(w->window, WALK_WINDOW, (void *)base)) {
		w->limit = (end - 1) & ~4095ull;
		base = w->limit - WALK_WINDOW;
		if (bpf_probe_read_user(w->window, WALK_WINDOW, (void *)base)) {
			w->most = 0;
			w->base = ~0ull;
			return 0;
		}
	}
	w->base = base;
	return 1;
}

static __always_inline u64 window_word(struct walk *w, u64 offset)
{
	return w->window[(offset >> 3) & (WALK_WINDOW / 8 - 1)];
}

/* A word further out than those before. Registers are saved right below it, but nothing below the
 * stack pointer, where the next page may not be there. */
#define SAVED_BELOW 64
static __always_inline bool unwind_word(struct walk *w, u64 at, u64 sp, u64 *out)
{
	u64 offset = at - w->base;

	if (offset > w->most) {
		u64 from = at - SAVED_BELOW;

		sp = (sp + 7) & ~7ull;
		if (!unwind_copy(w, from < sp && sp <= at ? sp : from))
			return 0;
		offset = at - w->base;
		if (offset > w->most)
			return 0;
	}
	*out = window_word(w, offset);
	return 1;
}

/* A word anywhere; 0 where it cannot be read. */
static __always_inline u64 unwind_near(struct walk *w, u64 at)
{
	u64 offset = at - w->base, v = 0;

	if (offset <= w->most)
		return window_word(w, offset);
	bpf_probe_read_user(&v, sizeof(v), (void *)at);
	return v;
}

#define UNWIND_FRAME_MAX (1 << 23) /* bytes: no frame is larger */
#define UNWIND_GUESS_MAX (1 << 20)
#define UNWIND_STEPS	 6  /* frames a call */
#define UNWIND_CALLS	 43 /* that many calls are enough for WIRE_STACK_MAX */
/* From the place of the interrupted stack pointer in a ucontext: instruction pointer, frame
 * pointer. */
#define UCONTEXT_IP	 8
#define UCONTEXT_BP	 -40

static __always_inline u64 unwind_rule_at(struct walk *w, u64 look)
{
	u64 mixed = look * SHUFFLE & ((1ull << ADDRESS_BITS) - 1), rule;
	u64 key = (mixed & ((1ull << KEY_BITS) - 1)) | w->list >> 32 << KEY_BITS;
	u32 at = mixed >> KEY_BITS;
	volatile struct unwind_set *set = bpf_map_lookup_elem(&unwind_cache, &at);

	if (!set || look >> ADDRESS_BITS)
		return unwind_find(w->list, look);
	rule = set->rule[0];
	if ((set->mixed[0] ^ rule) == key)
		return rule;
	rule = set->rule[1];
	if ((set->mixed[1] ^ rule) == key)
		return rule;
	rule = unwind_find(w->list, look);
	w->searched++;
	set->mixed[1] = set->mixed[0];
	set->rule[1] = set->rule[0];
	set->mixed[0] = key ^ rule;
	set->rule[0] = rule;
	return rule;
}

/* The same value, by way of memory: what the verifier knows of it would make it follow each frame
 * anew. */
static __always_inline u64 forgotten(u64 *at, u64 v)
{
	*(volatile u64 *)at = v;
	return *(volatile u64 *)at;
}

/* A few frames more. 1: the walk is over, and w->ends says why. A function that is verified once,
 * called in a plain loop: on kernels that hide from speculation it is faster than bpf_loop, and
 * older ones have none. */
__weak __noinline int unwind_frames(struct walk *w, struct task_state *st)
{
	u64 ip, sp, bp, hash;
	u32 n, k, ends = 0;

	if (!w || !st)
		return 1;
	ip = w->ip;
	sp = w->sp;
	bp = w->bp;
	hash = w->hash;
	n = w->n;
#pragma unroll
	for (k = 0; k < UNWIND_STEPS; k++) {
		u64 rule = unwind_rule_at(w, w->exact ? ip : ip - 1), cfa, address;
		s32 offset = unwind_rule_cfa(rule);
		u32 kind = unwind_rule_kind(rule), fp = unwind_rule_fp(rule);

		w->exact = 0;
		if (kind == UNWIND_SP) {
			cfa = sp + offset;
		} else if (kind == UNWIND_BP) {
			cfa = bp + offset;
		} else if (kind == UNWIND_DBP) {
			cfa = unwind_near(w, bp + offset);
		} else if (kind == UNWIND_PLT) {
			cfa = sp + 8 + ((ip & 15) >= offset ? 8 : 0);
		} else if (kind == UNWIND_NONE) {
			ends |= UNWIND_GUESSED;
			if ((bp & 7) || bp < sp || bp - sp > UNWIND_GUESS_MAX) {
				ends |= UNWIND_UNKNOWN;
				goto out;
			}
			cfa = bp + 16;
			fp = UNWIND_FP_CFA;
			rule = (u64)(u32)-16 << 32;
		} else if (kind == UNWIND_SIGNAL) {
			address = unwind_near(w, sp + offset + UCONTEXT_IP);
			bp = unwind_near(w, sp + offset + UCONTEXT_BP);
			sp = unwind_near(w, sp + offset);
			if (address < 4096 || n >= WIRE_STACK_MAX) {
				ends |= address < 4096 ? UNWIND_FAULT : UNWIND_CUT;
				goto out;
			}
			/* Told as a place to return to, which it is not. */
			ip = address;
			w->exact = 1;
			goto next;
		} else {
			ends |= kind == UNWIND_END ? UNWIND_ENDS
				: kind == UNWIND_NOWHERE ? UNWIND_TABLELESS
				: kind == UNWIND_STALE ? UNWIND_CHANGING
						       : UNWIND_UNKNOWN;
			goto out;
		}
		if (cfa <= sp || cfa - sp > UNWIND_FRAME_MAX || (cfa & 7)) {
			ends |= UNWIND_STUCK;
			goto out;
		}
		if (!unwind_word(w, cfa - 8, sp, &address)) {
			ends |= UNWIND_FAULT;
			goto out;
		}
		address = return_address(w, st, cfa - 8, address);
		if (address < 4096 || n >= WIRE_STACK_MAX) {
			ends |= address < 4096 ? UNWIND_ENDS : UNWIND_CUT;
			goto out;
		}
		if (fp == UNWIND_FP_CFA)
			bp = unwind_near(w, cfa + unwind_rule_fp_offset(rule));
		else if (fp == UNWIND_FP_BP)
			bp = unwind_near(w, bp + unwind_rule_fp_offset(rule));
		ip = address;
		sp = cfa;
	next:
		/* Said again in a form that 6.1's verifier keeps, see walk_steps. */
		__asm__ volatile("" : "+r"(n));
		w->record.ip[n & (WIRE_STACK_MAX - 1)] = ip;
		hash = mix(hash, ip);
		n++;
		sp = forgotten(&w->sp, sp);
		bp = forgotten(&w->bp, bp);
	}
	w->ends |= ends;
	w->ip = ip;
	w->sp = sp;
	w->bp = bp;
	w->hash = hash;
	w->n = n;
	return 0;
out:
	w->ends |= ends;
	w->hash = hash;
	w->n = n;
	return 1;
}

/* Not asked: unwind_walk needs no frame pointers. */
static __always_inline u64 unwind_first(struct walk *w, struct task_state *st, u32 tgid, u64 ip,
					u64 sp, u64 bp, u64 link)
{
	return bp;
}

/* From w->ip, w->sp, w->bp into w->record.ip, w->n, w->hash and w->ends. False: this process has no
 * tables. exact: ip is where it was. */
static __always_inline bool unwind_walk(struct walk *w, struct task_state *st, u32 tgid, u32 exact)
{
	volatile struct unwind_process *p = unwind_process_of(w, tgid);
	struct unwind_counts *counts;
	u32 k, zero = 0;

	if (!p)
		return 0;
	w->removals = p->removals;
	w->changes = p->changes;
	w->list = p->list;
	if (!w->list)
		return 0;
	w->searched = 0;
	w->ends = 0;
	w->record.ip[0] = w->ip;
	w->hash = mix(w->hash, w->ip);
	w->n = 1;
	w->exact = exact;
	w->base = ~0ull; /* nothing copied yet */
	w->most = 0;
	for (k = 0; k < UNWIND_CALLS; k++)
		if (unwind_frames(w, st))
			break;
	/* Asked behind it: what is marked is too much rather than too little. */
	if (p->kept != w->removals || p->list != w->list)
		w->ends |= UNWIND_UNSURE;
	if (p->removals != w->removals || !unwind_is_there(w->list))
		w->ends |= UNWIND_CHANGING;
	/* It may have come into code that the list does not have yet. */
	if (w->ends & UNWIND_UNKNOWN && (p->changes != w->changes || p->looked != w->changes))
		w->ends |= UNWIND_CHANGING;
	/* The same addresses are other code by another list. What is unsure is confirmed once for
	 * all stacks of a number, so by what this process has removed until now. */
	w->hash = mix(w->hash, (w->list >> 32 << 32) | w->ends);
	if (w->ends & UNWIND_UNSURE)
		w->hash = mix(w->hash, (u64)tgid << 32 | w->removals);
	counts = bpf_map_lookup_elem(&unwind_counts, &zero);
	if (counts) {
		counts->walks++;
		counts->searched += w->searched;
	}
	return 1;
}

#endif

#endif
