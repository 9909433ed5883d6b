/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack is whole when its outermost native frame is main, or what calls main or a thread's function. The C library's
 * part of that is often without a name (its symbols are stripped): such a frame counts when it called main, and where a
 * thread that was started ends in one. (A callback of pthread_once in such a thread is then taken for its start.)
 */
#include "lib/world/stack_ends.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/human.h"

bool stack_ends_add(struct stack_ends *s, uint32_t stack, uint32_t ctx)
{
	if (stack == 0)
		return true;
	if (stack >= s->rows.n) {
		size_t more = stack + 1 - s->rows.n;

		if (!vec_reserve(&s->rows, more))
			return false;
		memset(s->rows.v + s->rows.n, 0, more * sizeof(s->rows.v[0]));
		s->rows.n += more;
	}
	if (s->rows.v[stack].events++ == 0)
		s->rows.v[stack].ctx = ctx;
	return true;
}

void stack_ends_free(struct stack_ends *s)
{
	vec_free(&s->rows);
}

void stack_ends_sum_free(struct stack_ends_sum *sum)
{
	vec_free(&sum->ends);
}

static bool is_start(struct bytes name)
{
	static const char *const starts[] = {
		"main",	   "_start",   "start_thread",	    "clone",	    "clone3",
		"__clone", "__clone3", "__libc_start_main", "pthread_start"
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (bytes_equal(name, bytes_of(starts[i])))
			return true;
	/* __libc_start_main_impl, __libc_start_main@@GLIBC_2.34, __libc_start_call_main */
	return name.n > 13 && memcmp(name.p, "__libc_start_", 13) == 0;
}

/* libc.so.6, libc-2.31.so, libpthread.so.0, ld-musl-x86_64.so.1, whose pthread_create is its libc's */
static bool is_c_library(struct bytes path)
{
	static const char *const names[] = { "libc.so", "libc-", "libc.musl", "libpthread",
					     "ld-musl" };
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	const char *base = slash ? slash + 1 : path.p;
	size_t n = path.n - (size_t)(base - path.p);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (n >= strlen(names[i]) && memcmp(base, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

enum end { NO_FRAMES, WHOLE, DEEP, ENDS };

/* A thread that its process did not begin with. */
static bool started_later(const struct world *w, uint32_t ctx)
{
	const struct world_ctx *c = world_get_ctx(w, ctx);
	const struct world_thread *t = c ? world_get_thread(w, c->thread) : NULL;
	const struct world_process *p = t ? world_get_process(w, t->process) : NULL;

	return p && t->tid != p->tgid;
}

static enum end end_of(const struct world *w, uint32_t stack, uint32_t ctx, uint32_t *module)
{
	const struct world_symbol *name = NULL, *inner = NULL;
	const struct world_frame *last = NULL;
	const struct world_module *m;
	unsigned n, walked = 0;
	const uint32_t *f = world_get_stack(w, stack, &n);

	*module = 0;
	for (unsigned i = 0; f && i < n; i++) {
		const struct world_frame *frame = world_get_frame(w, f[i]);

		if (!frame) /* its definition was lost */
			continue;
		walked += frame->kind == FRAME_NATIVE || frame->kind == FRAME_UNKNOWN;
		/* What lies in no file behind the last that does was no frame. */
		if (frame->kind != FRAME_NATIVE)
			continue;
		inner = name;
		last = frame;
		name = world_get_symbol(w, f[i]);
	}
	if (walked == 0)
		return NO_FRAMES;
	if (!last)
		return walked >= STACK_ENDS_DEEP ? DEEP : ENDS;
	*module = last->module;
	m = world_get_module(w, last->module);
	if (name && is_start(world_text(w, name->name)))
		return WHOLE;
	if (m && !name && is_c_library(world_text(w, m->path)) &&
	    ((inner && is_start(world_text(w, inner->name))) || started_later(w, ctx)))
		return WHOLE;
	return walked >= STACK_ENDS_DEEP ? DEEP : ENDS;
}

static bool count_end(struct stack_ends_sum *sum, uint32_t module, uint64_t events)
{
	for (size_t i = 0; i < sum->ends.n; i++)
		if (sum->ends.v[i].module == module) {
			sum->ends.v[i].events += events;
			return true;
		}
	return vec_push(&sum->ends, (struct stack_ends_module){ module, events });
}

static int by_events(const void *a, const void *b)
{
	const struct stack_ends_module *x = a, *y = b;

	if (x->events != y->events)
		return x->events > y->events ? -1 : 1;
	return x->module < y->module ? -1 : x->module > y->module;
}

bool stack_ends_count(const struct stack_ends *s, const struct world *w, struct stack_ends_sum *sum)
{
	sum->events = sum->whole = sum->deep = 0;
	sum->ends.n = 0;
	for (size_t i = 1; i < s->rows.n; i++) {
		uint64_t events = s->rows.v[i].events;
		uint32_t module;
		enum end end =
			events ? end_of(w, (uint32_t)i, s->rows.v[i].ctx, &module) : NO_FRAMES;

		if (end == NO_FRAMES)
			continue;
		sum->events += events;
		sum->whole += end == WHOLE ? events : 0;
		sum->deep += end == DEEP ? events : 0;
		if (end == ENDS && !count_end(sum, module, events))
			return false;
	}
	if (sum->ends.n)
		qsort(sum->ends.v, sum->ends.n, sizeof(sum->ends.v[0]), by_events);
	return true;
}

void stack_ends_text(const struct stack_ends_sum *sum, const struct world *w, unsigned most,
		     struct buf *out)
{
	uint64_t rest = 0;

	for (size_t i = 0; i < sum->ends.n; i++) {
		const struct stack_ends_module *end = &sum->ends.v[i];
		const struct world_module *m = world_get_module(w, end->module);
		struct bytes path = m ? world_text(w, m->path) : bytes_of("code of no file");
		const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;

		if (i >= most) {
			rest += end->events;
			continue;
		}
		if (slash)
			path = (struct bytes){ slash + 1, (size_t)(path.p + path.n - slash - 1) };
		buf_printf(out, "%s%.2f%% %sin ", i ? ", " : "; ",
			   100.0 * (double)end->events / (double)sum->events, i ? "" : "end ");
		human_safe(out, path);
	}
	if (rest)
		buf_printf(out, ", %.2f%% elsewhere", 100.0 * (double)rest / (double)sum->events);
	if (sum->ends.n)
		buf_puts(out, " (built without frame pointers)");
	if (sum->deep)
		buf_printf(out, "; %.2f%% are deeper than %d frames",
			   100.0 * (double)sum->deep / (double)sum->events, STACK_ENDS_DEEP);
}
