/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows by step: which calls are counted in the steps of which loop, also where the steps are known
 * late, are made anew, or never come.
 */
#include "tests/tap.h"

#include "lib/query/group_by.h"
#include "lib/query/by_steps.h"
#include "tests/unit/loops_play.h"

struct counting {
	struct play play; /* what it plays goes to the rows */
	struct query_by *by;
	uint64_t calls;
};

static void count(struct counting *c, struct actor a, const char *stack)
{
	const struct world_ctx *ctx = world_get_ctx(c->play.s.w, a.ctx);
	const struct world_thread *th = world_get_thread(c->play.s.w, ctx->thread);
	struct event ev = { .end_ns = c->play.now + c->play.step_ns / 2,
			    .dur_ns = (uint64_t)c->play.step_ns / 4,
			    .op = OP_CUDA_LAUNCH,
			    .ctx = a.ctx,
			    .stack = stack_of(c->play.s.w, stack) };
	const struct stream_item item = { .kind = STREAM_EVENTS, .events = &ev, .n = 1 };

	if (query_by_item(c->by, &item, NULL) ||
	    !query_by_event(c->by, &ev, op_builtin(ev.op), th->process, 0) ||
	    !query_by_add_time(c->by, &ev, op_builtin(ev.op), th->process, 3, 1))
		abort();
	c->calls++;
	c->play.now += c->play.step_ns;
}

static struct counting counting_new(void)
{
	struct counting c = { .play = play_new() };

	c.by = query_by_new(c.play.s.w, BY_STEP, 0);
	if (!c.by)
		abort();
	return c;
}

/* "10 steps of main (loop.py:5-7), 30 calls; 2 calls in none" */
static void rows(struct counting *c, const char *name, const char *want)
{
	const struct by_table *t;
	struct buf text = { 0 };
	uint64_t calls = 0, self_ns = 0, lost_ns = 0;

	if (!query_by_end(c->by))
		abort();
	t = query_by_rows(c->by);
	for (size_t i = 0; t && i < t->rows.n; i++) {
		const struct by_row *r = &t->rows.v[i];

		calls += r->calls;
		self_ns += r->self_ns;
		lost_ns += r->lost_ns;
		buf_puts(&text, i ? "; " : "");
		if (r->kind == BY_KNOWN)
			buf_printf(&text, "%" PRIu64 " steps of %s, %" PRIu64 " calls", r->count,
				   world_text(c->play.s.w, r->key).p, r->calls);
		else
			buf_printf(&text, "%" PRIu64 " calls in none", r->calls);
	}
	is_str(buf_text(&text), want, "%s", name);
	is_u64(calls, c->calls, "%s: every call is counted once", name);
	is_u64(self_ns + lost_ns, 4 * c->calls, "%s: with all of its time", name);
	buf_free(&text);
	query_by_free(c->by);
	play_free(&c->play);
}

static void plain(void)
{
	struct counting c = counting_new();

	for (int i = 0; i < 7; i++)
		count(&c, c.play.a, "main:2");
	for (int i = 0; i < 100; i++) {
		count(&c, c.play.a, "main:5 f:1");
		count(&c, c.play.a, "main:6");
		/* Of a thread that has no loop of its own. */
		count(&c, c.play.b, "helper:1");
	}
	count(&c, c.play.a, "main:9");
	rows(&c, "a loop, and a thread beside it",
	     "100 steps of main (loop.py:5-6), 300 calls; 8 calls in none");
}

/* The loop is decided as that of layers at first. */
static void wider(void)
{
	struct counting c = counting_new();

	for (int i = 0; i < 40; i++) {
		c.play.step_ns = i ? 10 * US : 50 * MS;
		count(&c, c.play.a, "main:12");
		for (int layer = 0; layer < 80; layer++) {
			count(&c, c.play.a, "main:13 layer:20");
			count(&c, c.play.a, "main:13 layer:21");
		}
		count(&c, c.play.a, "main:14");
	}
	rows(&c, "a wider loop that is found later",
	     "40 steps of main (loop.py:12-14), 6480 calls");
}

static void other_process(void)
{
	struct counting c = counting_new();
	struct actor other = stage_actor(&c.play.s, 77, 77, 3, "other");

	for (int i = 0; i < 100; i++) {
		count(&c, c.play.a, "main:5 f:1");
		count(&c, c.play.a, "main:6");
		count(&c, other, "serve:1");
	}
	rows(&c, "another process meanwhile",
	     "100 steps of main (loop.py:5-6), 200 calls; 100 calls in none");
}

/* More calls than are held, of no step; then a loop. */
static void bound(void)
{
	struct counting c = counting_new();

	for (unsigned i = 0; i < BY_STEPS_HELD + 100000; i++)
		count(&c, c.play.a, "main:2");
	for (int i = 0; i < 1000; i++) {
		count(&c, c.play.a, "main:5 f:1");
		count(&c, c.play.a, "main:6");
	}
	rows(&c, "many calls before it",
	     "1000 steps of main (loop.py:5-6), 2000 calls; 362144 calls in none");
}

int main(void)
{
	plain();
	wider();
	other_process();
	bound();
	return tap_done();
}
