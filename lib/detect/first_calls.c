/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers each kind of call that a process made, and keeps the slow ones that were the first. Most
 * calls are of a kind that was met a moment ago: a small table of hashes knows those.
 */
#include "lib/detect/first_calls.h"

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

static bool add_kinds(struct first_calls *f, const struct event *ev, bool launch, uint64_t func)
{
	const struct world_ctx *ctx = world_get_ctx(f->w, ev->ctx);
	const struct world_thread *t = ctx ? world_get_thread(f->w, ctx->thread) : NULL;
	bool failed = false, first_op, first_launch = false;
	struct slow_first c = { .start_ns = event_start(ev), .end_ns = ev->end_ns, .op = ev->op };

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

bool first_calls_event(struct first_calls *f, const struct event *ev)
{
	const struct op_def *op = ev->depth ? NULL : world_op(f->w, ev->op);
	bool launch = op && op->flags & OP_LAUNCH;
	uint64_t func = 0, kind;

	if (!op || !(op->flags & OP_CALL))
		return true;
	launch = launch && event_get(ev, op, COL_FUNC, &func);
	kind = kind_of(ev->ctx, ev->op, func);
	if (f->recent[kind % FIRST_CALLS_RECENT] == kind)
		return true;
	f->recent[kind % FIRST_CALLS_RECENT] = kind;
	return add_kinds(f, ev, launch, func);
}

bool first_calls_record(struct first_calls *f, const struct record *r)
{
	return r->kind != RECORD_KERNEL || launched_name(&f->names, r);
}

void first_calls_free(struct first_calls *f)
{
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
