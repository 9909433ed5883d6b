/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk over BTF in two rounds: where each type starts, then the variables by name and the section
 * that places them. Offsets are checked against the sizes in the header before anything is read.
 */
#include "lib/attach/sched_percpu.h"

#include <linux/btf.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/vec.h"

struct types {
	const uint8_t *types;
	const char *strings;
	size_t ntypes, nstrings; /* bytes */
	VEC(uint32_t) at;	 /* offset of type id i at [i]; [0] unused */
};

static const struct btf_type *type_of(const struct types *t, uint32_t id)
{
	return id && id < t->at.n ? (const void *)(t->types + t->at.v[id]) : NULL;
}

static const char *name_of(const struct types *t, uint32_t off)
{
	return off < t->nstrings ? t->strings + off : "";
}

/* Bytes that follow the fixed part. */
static size_t extra_bytes(const struct btf_type *v)
{
	size_t n = BTF_INFO_VLEN(v->info);

	switch (BTF_INFO_KIND(v->info)) {
	case BTF_KIND_INT:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * sizeof(struct btf_enum);
	case BTF_KIND_FUNC_PROTO:
		return n * sizeof(struct btf_param);
	case BTF_KIND_VAR:
		return sizeof(struct btf_var);
	case BTF_KIND_DATASEC:
		return n * sizeof(struct btf_var_secinfo);
	case 17:
		return sizeof(uint32_t); /* DECL_TAG */
	case 19:
		return n * 12; /* ENUM64 */
	}
	return 0;
}

static int index_types(struct types *t, const void *btf, size_t n, struct err *e)
{
	const struct btf_header *h = btf;
	size_t at = 0;

	if (n < sizeof(*h) || h->magic != BTF_MAGIC || h->hdr_len > n ||
	    h->type_off > n - h->hdr_len || h->type_len > n - h->hdr_len - h->type_off ||
	    h->str_off > n - h->hdr_len || h->str_len > n - h->hdr_len - h->str_off ||
	    h->str_len == 0 || h->type_off % 4 || h->hdr_len % 4)
		return err_set(e, ERR_DAMAGED, "not type information of this kernel");
	t->types = (const uint8_t *)btf + h->hdr_len + h->type_off;
	t->ntypes = h->type_len;
	t->strings = (const char *)btf + h->hdr_len + h->str_off;
	t->nstrings = h->str_len;
	if (t->strings[t->nstrings - 1])
		return err_set(e, ERR_DAMAGED, "type information with a name that does not end");
	if (!vec_push(&t->at, 0))
		return err_nomem(e);
	while (t->ntypes - at >= sizeof(struct btf_type)) {
		const struct btf_type *v = (const void *)(t->types + at);
		size_t size = sizeof(*v) + extra_bytes(v);

		if (size > t->ntypes - at)
			return err_set(e, ERR_DAMAGED, "type information that ends within a type");
		if (!vec_push(&t->at, (uint32_t)at))
			return err_nomem(e);
		at += size;
	}
	return 0;
}

/* Byte offset of the member of this name, also inside members without a name. -1: none. */
static int64_t member_offset(const struct types *t, uint32_t id, const char *name, unsigned deep)
{
	const struct btf_type *v = type_of(t, id);
	const struct btf_member *m = (const void *)(v + 1);
	unsigned kind = v ? BTF_INFO_KIND(v->info) : 0;

	if ((kind != BTF_KIND_STRUCT && kind != BTF_KIND_UNION) || deep > 4)
		return -1;
	for (unsigned i = 0; i < BTF_INFO_VLEN(v->info); i++) {
		uint32_t bits =
			BTF_INFO_KFLAG(v->info) ? BTF_MEMBER_BIT_OFFSET(m[i].offset) : m[i].offset;
		int64_t inner;

		if (strcmp(name_of(t, m[i].name_off), name) == 0)
			return bits / 8;
		if (name_of(t, m[i].name_off)[0])
			continue;
		inner = member_offset(t, m[i].type, name, deep + 1);
		if (inner >= 0)
			return bits / 8 + inner;
	}
	return -1;
}

static const char *struct_name(const struct types *t, uint32_t id)
{
	const struct btf_type *v = type_of(t, id);

	return v && BTF_INFO_KIND(v->info) == BTF_KIND_STRUCT ? name_of(t, v->name_off) : "";
}

/* Of enum cpu_usage_stat, the same since it exists: the eighth number of a line of /proc/stat. */
#define CPUTIME_STEAL 7

static void read_section(const struct types *t, const struct btf_type *section,
			 struct probe_percpu *out)
{
	const struct btf_var_secinfo *s = (const void *)(section + 1);
	int64_t rq = -1, preempt = -1, hrtimer = -1, timer = -1, kvm = -1, account = -1;

	for (unsigned i = 0; i < BTF_INFO_VLEN(section->info); i++) {
		const struct btf_type *var = type_of(t, s[i].type);
		const char *name = var ? name_of(t, var->name_off) : "";

		if (strcmp(name, "runqueues") == 0) {
			rq = s[i].offset;
		} else if (strcmp(name, "__preempt_count") == 0) {
			preempt = s[i].offset;
		} else if (strcmp(name, "pcpu_hot") == 0) { /* 6.2 to 6.14 */
			int64_t member = member_offset(t, var->type, "preempt_count", 0);

			if (member >= 0)
				preempt = s[i].offset + member;
		} else if (strcmp(name, "hrtimer_bases") == 0) {
			hrtimer = s[i].offset;
		} else if (strcmp(name, "steal_time") == 0 && var &&
			   strcmp(struct_name(t, var->type), "kvm_steal_time") == 0) {
			kvm = s[i].offset;
		} else if (strcmp(name, "kernel_cpustat") == 0) {
			account = s[i].offset + CPUTIME_STEAL * (int64_t)sizeof(uint64_t);
		} else if (strcmp(name, "timer_bases") == 0) {
			timer = s[i].offset;
			out->timer_bases_size = s[i].size;
		}
	}
	if (rq < 0)
		return;
	out->steal_kvm = kvm >= 0 ? kvm - rq : 0;
	out->steal_account = account >= 0 ? account - rq : 0;
	out->preempt_count = preempt >= 0 ? preempt - rq : 0;
	out->hrtimer_bases = hrtimer >= 0 ? hrtimer - rq : 0;
	out->timer_bases = timer >= 0 ? timer - rq : 0;
}

int probe_percpu_parse(const void *btf, size_t n, struct probe_percpu *out, struct err *e)
{
	struct types t = { 0 };
	int rc;

	memset(out, 0, sizeof(*out));
	rc = index_types(&t, btf, n, e);
	/* The section is among the last types. */
	for (uint32_t id = (uint32_t)t.at.n; rc == 0 && id-- > 1;) {
		const struct btf_type *v = type_of(&t, id);

		if (BTF_INFO_KIND(v->info) == BTF_KIND_DATASEC &&
		    strcmp(name_of(&t, v->name_off), ".data..percpu") == 0) {
			read_section(&t, v, out);
			break;
		}
	}
	vec_free(&t.at);
	return rc;
}
