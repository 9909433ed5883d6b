/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures are counted by stack while events pass, since names of frames may come later; stacks
 * that are the same call site become one in the end.
 */
#include "lib/query/failures.h"

#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/account/names.h"
#include "lib/world/who.h"

#define FAILURES_MAX 1024
#define WAITING_MAX  256

struct query_failures {
	const struct world *world;
	struct failures answer;
	struct arena texts;
	size_t newest; /* the row found last: failures come in runs */
	/* Failed inside calls that have not returned yet. */
	VEC(struct waiting {
		size_t row;
		uint32_t thread;
		uint16_t depth;
		int64_t start_ns; /* of the first */
		uint64_t count;
	})
	waiting;
};

struct query_failures *query_failures_new(const struct world *w)
{
	struct query_failures *a = calloc(1, sizeof(*a));

	if (a)
		a->world = w;
	return a;
}

static struct bytes comm_of(const struct world *w, const struct event *ev)
{
	struct bytes name = world_text(w, who_of(w, ev->ctx, ev->end_ns).process_name);

	return name.n ? name : bytes_of("?");
}

static struct bytes node_of(const struct world *w, const struct event *ev)
{
	const struct world_ctx *c = world_get_ctx(w, ev->ctx);
	const struct world_node *n = c ? world_get_node(w, c->node) : NULL;

	return n ? world_text(w, n->name) : (struct bytes){ 0 };
}

/* NULL with *full: there are too many different ones. */
static struct failure *row_of(struct query_failures *a, const struct event *ev,
			      const struct op_def *op, bool *full)
{
	uint32_t process = world_ctx_process_id(a->world, ev->ctx);
	struct failures *f = &a->answer;

	for (size_t k = 0; k < f->v.n; k++) {
		size_t i = (a->newest + k) % f->v.n;

		if (f->v.v[i].op == op && f->v.v[i].ret == ev->ret &&
		    f->v.v[i].process == process) {
			a->newest = i;
			return &f->v.v[i];
		}
	}
	*full = f->v.n == FAILURES_MAX;
	if (*full || !vec_push(&f->v, (struct failure){ .op = op,
							.ret = ev->ret,
							.process = process,
							.pid = world_process_pid(a->world, process),
							.comm = comm_of(a->world, ev),
							.node = node_of(a->world, ev),
							.first_ns = ev->end_ns,
							.last_ns = ev->end_ns }))
		return NULL;
	a->newest = f->v.n - 1;
	return &f->v.v[a->newest];
}

static uint32_t thread_of(const struct world *w, const struct event *ev)
{
	const struct world_ctx *c = world_get_ctx(w, ev->ctx);

	return c ? c->thread : 0;
}

/* A call returned: what failed directly inside it is known now to be the same failure, or not. */
static void on_return(struct query_failures *a, const struct event *ev)
{
	uint32_t thread = thread_of(a->world, ev);
	size_t left = 0;

	for (size_t i = 0; i < a->waiting.n; i++) {
		const struct waiting *w = &a->waiting.v[i];

		if (w->thread != thread || w->depth <= ev->depth)
			a->waiting.v[left++] = *w;
		else if (ev->ret && event_start(ev) <= w->start_ns)
			a->answer.v.v[w->row].passed_on += w->count;
	}
	a->waiting.n = left;
}

/* Of too many it stays unknown: they are failures of their own. False: out of memory. */
static bool wait_for_caller(struct query_failures *a, const struct event *ev)
{
	struct waiting new = { .row = a->newest,
			       .thread = thread_of(a->world, ev),
			       .depth = ev->depth,
			       .start_ns = event_start(ev),
			       .count = 1 };

	for (size_t i = 0; i < a->waiting.n; i++) {
		struct waiting *w = &a->waiting.v[i];

		if (w->row == new.row && w->thread == new.thread && w->depth == new.depth) {
			w->count++;
			return true;
		}
	}
	return a->waiting.n >= WAITING_MAX || vec_push(&a->waiting, new);
}

static int count_call(struct query_failures *a, const struct event *ev, const struct op_def *op,
		      struct err *e)
{
	struct failure *f;
	bool full = false;
	uint32_t i;

	if (a->waiting.n)
		on_return(a, ev);
	if (!event_failed(ev->op, ev->ret))
		return 0;
	f = row_of(a, ev, op, &full);
	if (!f) {
		a->answer.untold++;
		return full ? 0 : err_nomem(e);
	}
	f->count++;
	f->inside += ev->depth > 0;
	if (ev->depth && !wait_for_caller(a, ev))
		return err_nomem(e);
	f->dur_ns += ev->dur_ns;
	if (ev->end_ns < f->first_ns)
		f->first_ns = ev->end_ns;
	if (ev->end_ns > f->last_ns)
		f->last_ns = ev->end_ns;
	for (i = 0; i < f->nsites && f->sites[i].stack != ev->stack;)
		i++;
	if (i == FAILURE_SITES) {
		f->elsewhere++;
		return 0;
	}
	if (i == f->nsites)
		f->sites[f->nsites++] = (struct failure_site){ .stack = ev->stack };
	f->sites[i].count++;
	return 0;
}

int query_failures_item(struct query_failures *a, const struct stream_item *item, struct err *e)
{
	for (size_t i = 0; i < item->n; i++) {
		const struct event *ev = &item->events[i];
		const struct op_def *op =
			ev->ret || a->waiting.n ? world_op(a->world, ev->op) : NULL;
		int rc = op && op->flags & OP_CALL ? count_call(a, ev, op, e) : 0;

		if (rc)
			return rc;
	}
	return 0;
}

static int by_count(const void *a, const void *b)
{
	const struct failure_site *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* Stacks of one call site become one, with its name. */
static bool name_sites(struct query_failures *a, struct failure *f)
{
	struct buf text = { 0 };
	uint32_t n = 0;
	bool ok = true;

	for (uint32_t i = 0; i < f->nsites && ok; i++) {
		uint32_t frame = name_site_frame(a->world, f->sites[i].stack), k = 0;
		struct failure_site s = f->sites[i];
		char *copy;

		buf_reset(&text);
		if (frame)
			name_frame(&text, a->world, frame);
		else
			buf_puts(&text, "(no stack)");
		copy = text.failed ? NULL : arena_copy(&a->texts, text.p, text.n);
		ok = copy != NULL;
		s.text = (struct bytes){ copy, copy ? text.n : 0 };
		while (k < n && !bytes_equal(f->sites[k].text, s.text))
			k++;
		if (k < n)
			f->sites[k].count += s.count;
		else
			f->sites[n++] = s;
	}
	f->nsites = n;
	qsort(f->sites, n, sizeof(f->sites[0]), by_count);
	buf_free(&text);
	return ok;
}

static int by_calls(const void *a, const void *b)
{
	const struct failure *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->op->id != y->op->id)
		return x->op->id < y->op->id ? -1 : 1;
	if (x->ret != y->ret)
		return x->ret < y->ret ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

const struct failures *query_failures_end(struct query_failures *a)
{
	for (size_t i = 0; i < a->answer.v.n; i++)
		if (!name_sites(a, &a->answer.v.v[i]))
			return NULL;
	if (a->answer.v.n)
		qsort(a->answer.v.v, a->answer.v.n, sizeof(a->answer.v.v[0]), by_calls);
	return &a->answer;
}

void query_failures_free(struct query_failures *a)
{
	if (!a)
		return;
	vec_free(&a->answer.v);
	vec_free(&a->waiting);
	arena_free(&a->texts);
	free(a);
}
