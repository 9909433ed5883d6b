/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers each kind of call that a process made, and keeps the slow ones that were the first.
 * Most calls are of a kind that was met a moment ago: a small table of hashes knows those.
 */
#include "lib/tracks/first_calls.h"

#include "lib/base/demangle.h"
#include "lib/base/hash.h"
#include "lib/base/shorten.h"

#define NAME_MAX_BYTES 64

static uint64_t kind_of(uint64_t of, uint16_t op, uint64_t func)
{
	return hash_u64(hash_u64(of << 16 | op) ^ func);
}

/* Whether no call of that kind came before. False, and *failed: out of memory. */
static bool is_first(struct first_calls *f, uint64_t kind, bool *failed)
{
	uint64_t seen;

	if (map_get(&f->seen, kind, &seen))
		return false;
	*failed |= !map_put(&f->seen, kind, 1);
	return !*failed;
}

bool first_calls_look(struct first_calls *f, const struct event *ev, uint64_t func)
{
	const struct world_ctx *ctx = world_get_ctx(f->w, ev->ctx);
	const struct world_thread *t = ctx ? world_get_thread(f->w, ctx->thread) : NULL;
	bool launch = f->ops.v[ev->op] >= FIRST_OP_LAUNCH &&
		      ev->present >> (f->ops.v[ev->op] - FIRST_OP_LAUNCH) & 1;
	struct slow_first c = { .start_ns = event_start(ev), .end_ns = ev->end_ns, .op = ev->op };
	bool failed = false, first_op, first_launch = false;

	if (!t)
		return true;
	first_op = is_first(f, kind_of(t->process, ev->op, 0), &failed);
	if (launch)
		first_launch = is_first(f, kind_of(t->process, 0, func), &failed);
	if (failed)
		return false;
	if ((!first_op && !first_launch) || ev->dur_ns < FIRST_CALLS_SLOW_NS ||
	    f->v.n >= FIRST_CALLS_MAX)
		return true;
	c.thread = ctx->thread;
	c.process = t->process;
	c.launch = first_launch;
	c.func = func;
	return vec_push(&f->v, c);
}

uint8_t first_calls_op(struct first_calls *f, uint16_t op)
{
	const struct op_def *def = world_op(f->w, op);
	int func = def && def->flags & OP_LAUNCH ? op_column(def, COL_FUNC) : -1;

	if (!vec_reach(&f->ops, op))
		return FIRST_OP_UNKNOWN;
	f->ops.v[op] = !def || !(def->flags & OP_CALL) ? FIRST_OP_OTHER
		       : func < 0		       ? FIRST_OP_CALL
						       : (uint8_t)(FIRST_OP_LAUNCH + func);
	return f->ops.v[op];
}

bool first_calls_record(struct first_calls *f, const struct record *r)
{
	return r->kind != RECORD_KERNEL || launched_name(&f->names, r);
}

void first_calls_free(struct first_calls *f)
{
	vec_free(&f->ops);
	map_free(&f->seen);
	vec_free(&f->v);
	launched_names_free(&f->names);
}

const struct slow_first *first_calls_find(const struct first_calls *f, uint32_t thread, uint16_t op,
					  int64_t at_ns)
{
	for (size_t i = 0; i < f->v.n; i++) {
		const struct slow_first *c = &f->v.v[i];

		if (c->thread == thread && c->op == op && at_ns >= c->start_ns && at_ns < c->end_ns)
			return c;
	}
	return NULL;
}

void slow_first_print(struct buf *out, const struct first_calls *f, const struct slow_first *c)
{
	struct bytes known =
		c->launch ? launched_name_of(&f->names, c->process, c->func) : (struct bytes){ 0 };
	struct buf mangled = { 0 }, name = { 0 };

	if (!c->launch) {
		buf_puts(out, "the first recorded call");
		return;
	}
	buf_puts(out, "the first recorded launch of ");
	if (!known.n) {
		buf_puts(out, "its kernel");
		return;
	}
	buf_add(&mangled, known.p, known.n);
	demangle_name(&name, buf_text(&mangled));
	buf_puts(out, "kernel ");
	shorten_one(out, buf_bytes(&name), NAME_MAX_BYTES);
	out->failed |= mangled.failed || name.failed;
	buf_free(&mangled);
	buf_free(&name);
}
