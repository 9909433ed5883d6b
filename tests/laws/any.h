/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random events and records of every kind, with every field present or absent, and records as text:
 * for laws that hold for whatever a recording says.
 */
#ifndef INGERO_TESTS_LAWS_ANY_H
#define INGERO_TESTS_LAWS_ANY_H

#include <string.h>

#include "tests/unit/fixture.h"

static uint64_t state = 5;

static inline uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Small ones, large ones, and those at the edges. */
static inline uint64_t number(void)
{
	switch (any() % 6) {
	case 0:
		return 0;
	case 1:
		return any();
	case 2:
		return UINT64_MAX - any() % 2;
	default:
		return any() % (UINT64_C(1) << any() % 40);
	}
}

struct subjects {
	struct fixture f;
	uint32_t cgroup, gpu;
};

static inline uint64_t subject(const struct subjects *s, int kind)
{
	switch (kind) {
	case WORLD_NODE:
		return s->f.node;
	case WORLD_PROCESS:
		return s->f.process;
	case WORLD_THREAD:
		return s->f.thread[any() % 2];
	case WORLD_CGROUP:
		return s->cgroup;
	case WORLD_GPU:
		return s->gpu;
	case WORLD_STACK:
		return s->f.stack[any() % 3];
	default:
		return number();
	}
}

/* World kind of a role of columns or of records, -1 for plain numbers: both lists end alike. */
static inline int column_kind(enum column_role role)
{
	return role == ROLE_THREAD    ? WORLD_THREAD
	       : role == ROLE_PROCESS ? WORLD_PROCESS
	       : role == ROLE_CGROUP  ? WORLD_CGROUP
	       : role == ROLE_GPU     ? WORLD_GPU
	       : role == ROLE_STACK   ? WORLD_STACK
				      : -1;
}

static inline int field_kind(enum record_role role)
{
	return role == RROLE_NODE      ? WORLD_NODE
	       : role == RROLE_THREAD  ? WORLD_THREAD
	       : role == RROLE_PROCESS ? WORLD_PROCESS
	       : role == RROLE_CGROUP  ? WORLD_CGROUP
	       : role == RROLE_GPU     ? WORLD_GPU
	       : role == RROLE_STACK   ? WORLD_STACK
				       : -1;
}

static inline struct event random_event(const struct subjects *s, int64_t end)
{
	unsigned n;
	const struct op_def *ops = op_builtin_all(&n), *def = ops + any() % n;
	struct event ev = { .end_ns = end,
			    .dur_ns = number() >> (any() % 60 + 3),
			    .op = def->id,
			    .depth = (uint16_t)(any() % 4 ? any() % 3 : any()),
			    .ret = any() % 3 ? 0 : (int32_t)any(),
			    .ctx = any() % 5 ? s->f.ctx[any() % 2] : s->f.cpu_ctx,
			    .stack = any() % 2 ? s->f.stack[any() % 3] : 0 };

	for (unsigned i = 0; i < def->ncols; i++) {
		const struct column_def *column = column_builtin(def->cols[i]);

		if (any() % 4 == 0)
			continue;
		ev.x[i] = subject(s, column_kind(column->role));
		ev.present |= 1u << i;
	}
	return ev;
}

static inline struct record random_record(const struct subjects *s, char *text, size_t room)
{
	unsigned n;
	const struct record_def *kinds = record_builtin_all(&n), *def = kinds + any() % n;
	struct record r = { .kind = def->kind };

	for (size_t i = 0; i < room; i++)
		text[i] = (char)any();
	for (unsigned i = 0; i < def->nfields; i++) {
		const struct record_field *field = &def->fields[i];
		char *at = (char *)&r.u + field->offset;
		uint64_t v = subject(s, field_kind(field->role));
		uint32_t v4 = (uint32_t)v;
		double f = (double)(int64_t)v / 7;
		struct bytes t = { text + any() % 20, any() % (room - 20) };

		if (i && any() % 4 == 0)
			continue;
		r.present |= 1u << (field->number - 1);
		switch (field->type) {
		case REC_U32:
			memcpy(at, &v4, 4);
			break;
		case REC_F64:
			memcpy(at, &f, 8);
			break;
		case REC_TEXT:
			memcpy(at, &t, sizeof(t));
			break;
		default:
			memcpy(at, &v, 8);
		}
	}
	return r;
}

/* A record as text that says everything but where its texts lie. */
static inline void put_record(struct buf *out, const struct record *r)
{
	const struct record_def *def = record_builtin(r->kind);

	buf_printf(out, "record %u %x", r->kind, r->present);
	for (unsigned i = 0; i < def->nfields; i++) {
		const char *at = (const char *)&r->u + def->fields[i].offset;
		struct bytes t;

		if (!record_has(r, def->fields[i].number))
			continue;
		if (def->fields[i].type != REC_TEXT) {
			buf_add(out, at, def->fields[i].type == REC_U32 ? 4 : 8);
			continue;
		}
		memcpy(&t, at, sizeof(t));
		buf_printf(out, " %zu ", t.n);
		buf_add(out, t.p, t.n);
	}
}

static inline bool equal(const struct buf *a, const struct buf *b)
{
	return !a->failed && !b->failed && a->n == b->n && (a->n == 0 || !memcmp(a->p, b->p, a->n));
}

#endif
