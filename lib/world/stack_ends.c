/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts how far stacks reach: to main, to a thread's start, or where they were cut. A stack that
 * was walked by unwind tables is whole when the walk says that it reached the start, and nothing in
 * it was guessed. Of others the names decide: the outermost native frame is main, or what calls
 * main or a thread's function. The C library's part of that is often without a name (its symbols
 * are stripped): such a frame counts when it called main, and where a thread that was started ends
 * in one. (A callback of pthread_once in such a thread is then taken for its start.)
 */
#include "lib/world/stack_ends.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/fmt.h"

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

/* libc.so.6, libc-2.31.so, libpthread.so.0, ld-musl-x86_64.so.1, whose pthread_create is its libc's
 */
static bool is_c_library(struct bytes path)
{
	static const char *const names[] = { "libc.so", "libc-", "libc.musl", "libpthread",
					     "ld-musl" };
	struct bytes name = bytes_file_name(path);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (bytes_begin_with(name, names[i]))
			return true;
	return false;
}

static const struct {
	const char *name, *text;
} reasons[END_REASONS] = {
	[END_FRAME_POINTERS] = { "frame-pointers", "built without frame pointers" },
	[END_NO_TABLE] = { "no-table", "no unwind table" },
	[END_NO_RULE] = { "no-rule", "no unwind rule" },
	[END_RUN_TIME_CODE] = { "run-time-code", "code made at run time" },
	[END_GUESSED] = { "guessed", "a caller was guessed by its frame pointer" },
	[END_CHANGING] = { "changing", "libraries were loaded or closed meanwhile" },
	[END_STUCK] = { "stuck", "the next frame made no sense" },
	[END_UNREADABLE] = { "unreadable", "its memory could not be read" },
};

const char *stack_end_reason_name(enum stack_end_reason reason)
{
	return reasons[reason].name;
}

const char *stack_end_reason_text(enum stack_end_reason reason)
{
	return reasons[reason].text;
}

enum verdict { NO_FRAMES, WHOLE, DEEP, ENDS };

/* The native frames of a stack. */
struct walk {
	unsigned frames;
	const struct world_frame *outermost;	 /* of any file */
	const struct world_frame *last;		 /* of code that is known */
	const struct world_symbol *name, *inner; /* of that, and of the one before */
	bool run_time_code;
};

struct end {
	enum verdict verdict;
	enum stack_end_reason reason;
	uint32_t module;
};

/* A thread that its process did not begin with. */
static bool started_later(const struct world *w, uint32_t ctx)
{
	const struct world_ctx *c = world_get_ctx(w, ctx);
	const struct world_thread *t = c ? world_get_thread(w, c->thread) : NULL;
	const struct world_process *p = t ? world_get_process(w, t->process) : NULL;

	return p && t->tid != p->tgid;
}

static bool is_run_time_code(const struct world *w, const struct world_frame *f)
{
	const struct world_module *m = world_get_module(w, f->module);

	/* As lib/attach/stacks.c calls it. */
	return f->kind == FRAME_NATIVE && m &&
	       bytes_equal(world_text(w, m->path), bytes_of("[anonymous code]"));
}

static struct walk walk_of(const struct world *w, uint32_t stack)
{
	struct walk k = { 0 };
	unsigned n;
	const uint32_t *f = world_get_stack(w, stack, &n);

	for (unsigned i = 0; f && i < n; i++) {
		const struct world_frame *frame = world_get_frame(w, f[i]);

		if (!frame) /* its definition was lost */
			continue;
		if (frame->kind != FRAME_NATIVE && frame->kind != FRAME_UNKNOWN)
			continue;
		k.frames++;
		k.outermost = frame;
		k.run_time_code |= is_run_time_code(w, frame);
		/* What lies in no file behind the last that does was no frame. */
		if (frame->kind != FRAME_NATIVE)
			continue;
		k.inner = k.name;
		k.last = frame;
		k.name = world_get_symbol(w, f[i]);
	}
	return k;
}

/* What the walk itself says of its end. */
static struct end end_by_tables(const struct world *w, const struct walk *k, uint32_t mask)
{
	struct end e = { .verdict = ENDS };

	if (mask & STACK_CHANGING) {
		e.reason = END_CHANGING;
		return e;
	}
	if (mask & STACK_GUESSED) {
		e.reason = k->run_time_code ? END_RUN_TIME_CODE : END_GUESSED;
		return e;
	}
	if (mask & (STACK_AT_START | STACK_CUT)) {
		e.verdict = mask & STACK_AT_START ? WHOLE : DEEP;
		return e;
	}
	e.module = k->outermost->module;
	if (mask & STACK_NO_TABLE)
		e.reason = END_NO_TABLE;
	else if (mask & STACK_STUCK)
		e.reason = END_STUCK;
	else if (mask & STACK_UNREADABLE)
		e.reason = END_UNREADABLE;
	else
		e.reason = is_run_time_code(w, k->outermost) ? END_RUN_TIME_CODE : END_NO_RULE;
	return e;
}

static struct end end_by_names(const struct world *w, const struct walk *k, uint32_t mask,
			       uint32_t ctx)
{
	struct end e = { .verdict = ENDS, .reason = END_FRAME_POINTERS };
	bool deep = mask ? mask & STACK_CUT : k->frames >= STACK_ENDS_DEEP;
	const struct world_module *m;

	if (k->last) {
		e.module = k->last->module;
		m = world_get_module(w, e.module);
		if (k->name && is_start(world_text(w, k->name->name)))
			e.verdict = WHOLE;
		else if (m && !k->name && !deep && is_c_library(world_text(w, m->path)) &&
			 ((k->inner && is_start(world_text(w, k->inner->name))) ||
			  started_later(w, ctx)))
			e.verdict = WHOLE;
	}
	if (e.verdict != WHOLE && deep)
		e.verdict = DEEP;
	return e;
}

static bool count_end(struct stack_ends_sum *sum, const struct end *e, uint64_t events)
{
	sum->reasons[e->reason] += events;
	for (size_t i = 0; i < sum->ends.n; i++)
		if (sum->ends.v[i].module == e->module && sum->ends.v[i].reason == e->reason) {
			sum->ends.v[i].events += events;
			return true;
		}
	return vec_push(&sum->ends, (struct stack_ends_module){ e->module, e->reason, events });
}

static bool count_stack(struct stack_ends_sum *sum, const struct world *w, uint32_t stack,
			const struct stack_ends_row *row)
{
	uint32_t mask = world_stack_end(w, stack);
	struct walk k = walk_of(w, stack);
	bool by_tables = mask && !(mask & STACK_FRAME_POINTERS);
	struct end e;

	if (k.frames == 0)
		return true;
	e = by_tables ? end_by_tables(w, &k, mask) : end_by_names(w, &k, mask, row->ctx);
	sum->events += row->events;
	sum->walks_known += mask ? row->events : 0;
	sum->by_pointers += mask & STACK_FRAME_POINTERS ? row->events : 0;
	sum->whole += e.verdict == WHOLE ? row->events : 0;
	sum->deep += e.verdict == DEEP ? row->events : 0;
	if (e.verdict == DEEP && k.frames > sum->deepest)
		sum->deepest = k.frames;
	return e.verdict != ENDS || count_end(sum, &e, row->events);
}

static int by_events(const void *a, const void *b)
{
	const struct stack_ends_module *x = a, *y = b;

	if (x->events != y->events)
		return x->events > y->events ? -1 : 1;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->reason < y->reason ? -1 : x->reason > y->reason;
}

bool stack_ends_count(const struct stack_ends *s, const struct world *w, struct stack_ends_sum *sum)
{
	vec_free(&sum->ends);
	*sum = (struct stack_ends_sum){ 0 };
	for (size_t i = 1; i < s->rows.n; i++)
		if (s->rows.v[i].events && !count_stack(sum, w, (uint32_t)i, &s->rows.v[i]))
			return false;
	if (sum->ends.n)
		qsort(sum->ends.v, sum->ends.n, sizeof(sum->ends.v[0]), by_events);
	return true;
}

static double percent_of(const struct stack_ends_sum *sum, uint64_t events)
{
	return 100.0 * (double)events / (double)sum->events;
}

static void text_of_reason(const struct stack_ends_sum *sum, const struct world *w,
			   enum stack_end_reason reason, unsigned most, struct buf *out)
{
	uint64_t rest = 0;
	unsigned told = 0;

	for (size_t i = 0; i < sum->ends.n; i++) {
		const struct stack_ends_module *end = &sum->ends.v[i];
		const struct world_module *m = world_get_module(w, end->module);
		struct bytes path = m ? world_text(w, m->path) : bytes_of("code of no file");

		if (end->reason != reason)
			continue;
		if (told >= most) {
			rest += end->events;
			continue;
		}
		buf_printf(out, "%s%.2f%% %sin ", told ? ", " : "; ", percent_of(sum, end->events),
			   told ? "" : "end ");
		fmt_safe(out, bytes_file_name(path));
		told++;
	}
	if (rest)
		buf_printf(out, ", %.2f%% elsewhere", percent_of(sum, rest));
	buf_printf(out, " (%s)", reasons[reason].text);
}

/* Reasons that stand in no one module. */
static bool is_of_no_module(enum stack_end_reason reason)
{
	return reason == END_RUN_TIME_CODE || reason == END_GUESSED || reason == END_CHANGING;
}

void stack_ends_text(const struct stack_ends_sum *sum, const struct world *w, unsigned most,
		     struct buf *out)
{
	static const char *const alone[END_REASONS] = {
		[END_RUN_TIME_CODE] = "go through code made at run time",
		[END_GUESSED] = "have a caller that was guessed by its frame pointer",
		[END_CHANGING] = "were taken while libraries were loaded or closed",
	};

	if (sum->events == 0)
		return;
	buf_printf(out, "%.2f%% of %s reach main or a thread's start", percent_of(sum, sum->whole),
		   fmt_count(sum->events).s);
	for (int i = 0; i < END_REASONS; i++)
		if (sum->reasons[i] && is_of_no_module(i))
			buf_printf(out, "; %.2f%% %s", percent_of(sum, sum->reasons[i]), alone[i]);
		else if (sum->reasons[i])
			text_of_reason(sum, w, i, most, out);
	if (sum->deep)
		buf_printf(out, "; %.2f%% are deeper than %u frames", percent_of(sum, sum->deep),
			   sum->deepest);
	if (sum->by_pointers == sum->events)
		buf_puts(out, "; found by frame pointers, which can leave callers out");
	else if (sum->by_pointers)
		buf_printf(out,
			   "; %.2f%% were found by frame pointers, which can leave callers out",
			   percent_of(sum, sum->by_pointers));
}
