/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where stacks end: by the names of their outermost functions, by the C library without names,
 * weighted by events.
 */
#include "lib/world/stack_ends.h"

#include <string.h>

#include "tests/tap.h"

static struct world *w;

static uint32_t module(const char *path)
{
	return path ? world_module(
			      w, &(struct world_module){ .path = world_string(w, bytes_of(path)) })
		    : 0;
}

/* name: NULL none; path NULL: code of no file */
static uint32_t frame(const char *path, const char *name)
{
	static uint64_t offset;
	uint32_t f =
		world_frame(w, &(struct world_frame){ .kind = path ? FRAME_NATIVE : FRAME_UNKNOWN,
						      .module = module(path),
						      .offset = ++offset });

	if (name)
		world_symbol(w, f,
			     &(struct world_symbol){ .name = world_string(w, bytes_of(name)) });
	return f;
}

static uint32_t other(enum world_frame_kind kind, const char *name)
{
	return world_frame(w, &(struct world_frame){ .kind = (uint8_t)kind,
						     .name = world_string(w, bytes_of(name)) });
}

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"
#define APP  "/opt/app/train"
#define LOST "/opt/app/liblost.so"

static struct stack_ends ends;
static uint64_t whole, all;
static uint32_t ctx;

/* Events to come are of this thread of process 100. */
static void in_thread(uint32_t tid)
{
	uint32_t process = world_process(w, &(struct world_process){ .tgid = 100 });

	ctx = world_ctx(
		w, &(struct world_ctx){
			   .thread = world_thread(w, &(struct world_thread){ .process = process,
									     .tid = tid }) });
}

static void add(const char *what, unsigned events, bool is_whole, const uint32_t *f, unsigned n)
{
	struct stack_ends_sum sum = { 0 };
	uint32_t stack = world_stack(w, f, n);
	uint64_t before = whole;

	for (unsigned i = 0; i < events; i++)
		stack_ends_add(&ends, stack, ctx);
	all += events;
	whole += is_whole ? events : 0;
	ok(stack_ends_count(&ends, w, &sum) && sum.events == all && sum.whole == whole, "%s", what);
	is_u64(sum.whole - before, is_whole ? events : 0, "weighted by its events");
	stack_ends_sum_free(&sum);
}
#define ADD(what, events, whole, ...)                                     \
	do {                                                              \
		const uint32_t f_[] = { __VA_ARGS__ };                    \
		add(what, events, whole, f_, sizeof(f_) / sizeof(f_[0])); \
	} while (0)

/* One event of a stack that was walked so. */
static uint32_t add_end(uint32_t end, const uint32_t *f, unsigned n)
{
	uint32_t stack = world_stack_with_end(w, f, n, end);

	stack_ends_add(&ends, stack, ctx);
	return stack;
}
#define ADD_END(end, ...)                                     \
	do {                                                  \
		const uint32_t f_[] = { __VA_ARGS__ };        \
		add_end(end, f_, sizeof(f_) / sizeof(f_[0])); \
	} while (0)

/* The walk's own word holds, whatever the last function is called. */
static void by_tables(void)
{
	static const enum stack_end_reason of_each[] = {
		END_CHANGING, END_GUESSED,	 END_RUN_TIME_CODE, END_NO_TABLE,
		END_NO_RULE,  END_RUN_TIME_CODE, END_UNREADABLE,    END_STUCK,
	};
	struct stack_ends_sum sum = { 0 };
	uint64_t want[END_REASONS] = { 0 };
	struct buf text = { 0 };
	uint32_t start = frame(LOST, "go"), top = frame(APP, "main");

	ADD_END(STACK_AT_START, start);
	ADD_END(STACK_AT_START, frame(APP, "work"), frame(NULL, NULL));
	ADD_END(STACK_CUT, frame(APP, "again"), top);
	ADD_END(STACK_AT_START | STACK_CHANGING, start, top);
	ADD_END(STACK_AT_START | STACK_GUESSED, start, top);
	ADD_END(STACK_AT_START | STACK_GUESSED, frame("[anonymous code]", NULL), top);
	ADD_END(STACK_NO_TABLE, top, start);
	ADD_END(STACK_NO_RULE, start, top);
	ADD_END(STACK_NO_RULE, top, frame("[anonymous code]", NULL));
	ADD_END(STACK_UNREADABLE, frame(APP, "work"), top);
	ADD_END(STACK_STUCK, frame(APP, "work"), top);
	for (size_t i = 0; i < sizeof(of_each) / sizeof(of_each[0]); i++)
		want[of_each[i]]++;
	ok(stack_ends_count(&ends, w, &sum), "of walks by tables");
	is_u64(sum.events, 11, "events");
	is_u64(sum.whole, 2, "whole: where the walk says so");
	is_u64(sum.deep, 1, "cut: although the last frame is main");
	is_u64(sum.by_pointers, 0, "none by frame pointers");
	ok(memcmp(sum.reasons, want, sizeof(want)) == 0, "the others by reason");
	stack_ends_text(&sum, w, 2, &text);
	is_str(buf_text(&text),
	       "18.18% of 11 reach main or a thread's start; 9.09% end in liblost.so (no unwind "
	       "table); "
	       "9.09% end in train (no unwind rule); 18.18% go through code made at run time; "
	       "9.09% "
	       "have a caller that was guessed by its frame pointer; 9.09% were taken while "
	       "libraries "
	       "were loaded or closed; 9.09% end in train (the next frame made no sense); 9.09% "
	       "end in "
	       "train (its memory could not be read); 9.09% are deeper than 2 frames",
	       "each reason for people");
	buf_free(&text);
	stack_ends_sum_free(&sum);
	stack_ends_free(&ends);
}

/* What led nowhere is not whole for what lies behind it, and that frame pointers found it is said. */
static void by_pointers(void)
{
	struct stack_ends_sum sum = { 0 };
	struct buf text = { 0 };
	uint32_t many[130];

	in_thread(101);
	for (unsigned i = 0; i < 130; i++)
		many[i] = frame(APP, "again");
	add_end(STACK_FRAME_POINTERS | STACK_STUCK, many, 127);
	many[127] = frame(LIBC, NULL);
	add_end(STACK_FRAME_POINTERS | STACK_CUT, many, 128);
	ADD_END(STACK_FRAME_POINTERS | STACK_STUCK, frame(APP, "step"), frame(APP, "main"));
	ADD_END(STACK_AT_START, frame(APP, "step"), frame(APP, "main"));
	ok(stack_ends_count(&ends, w, &sum), "of walks by frame pointers");
	is_u64(sum.events, 4, "events");
	is_u64(sum.whole, 2, "whole: main");
	is_u64(sum.deep, 1, "deep: what was cut, and no other");
	is_u64(sum.reasons[END_FRAME_POINTERS], 1, "127 frames that led nowhere are not");
	is_u64(sum.by_pointers, 3, "by frame pointers");
	stack_ends_text(&sum, w, 2, &text);
	is_str(buf_text(&text),
	       "50.00% of 4 reach main or a thread's start; 25.00% end in train (built without "
	       "frame "
	       "pointers); 25.00% are deeper than 128 frames; 75.00% were found by frame pointers, "
	       "which can leave callers out",
	       "for people");
	buf_free(&text);
	stack_ends_sum_free(&sum);
	stack_ends_free(&ends);
}

int main(void)
{
	struct stack_ends_sum sum = { 0 };
	struct buf text = { 0 };
	uint32_t deep[200];

	w = world_new();
	in_thread(100);
	ok(stack_ends_count(&ends, w, &sum) && sum.events == 0, "nothing is counted at first");
	ok(stack_ends_add(&ends, 0, ctx) && stack_ends_count(&ends, w, &sum) && sum.events == 0,
	   "events without a stack are not");
	ADD("main", 3, true, frame(APP, "step"), frame(APP, "main"));
	ADD("what calls main", 2, true, frame(APP, "main"), frame(LIBC, "__libc_start_call_main"));
	ADD("a thread", 1, true, frame(APP, "work"), frame(LIBC, "start_thread"),
	    frame(LIBC, "__clone3"));
	ADD("a C library without names that called main", 2, true, frame(APP, "main"),
	    frame(LIBC, NULL));
	ADD("one that called something else", 1, false, frame(APP, "once"), frame(LIBC, NULL));
	in_thread(101);
	ADD("in a thread", 3, true, frame(APP, "work"), frame(LIBC, NULL));
	in_thread(100);
	ADD("another function of the C library", 7, false, frame(APP, "compare"),
	    frame(LIBC, "qsort"));
	ADD("the C library called by nobody", 1, false, frame(LIBC, NULL));
	ADD("a name that only begins like one", 4, false, frame(APP, "main_loop"));
	ADD("garbage behind main", 2, true, frame(APP, "main"), frame(NULL, NULL));
	ADD("code of no file alone", 2, false, frame(NULL, NULL), frame(NULL, NULL));
	ADD("Python frames behind the gap do not help", 30, false, frame(LOST, "call"),
	    other(FRAME_GAP, "native frames end in liblost.so"), other(FRAME_PYTHON, "main"));
	ADD("nor hurt", 6, true, frame(APP, "eval"), other(FRAME_PYTHON, "step"),
	    frame(APP, "main"));
	stack_ends_add(&ends, world_stack(w, (uint32_t[]){ other(FRAME_PYTHON, "main") }, 1), ctx);
	ok(stack_ends_count(&ends, w, &sum) && sum.events == all,
	   "Python alone is no native stack");
	stack_ends_add(&ends, world_stack(w, (uint32_t[]){ 0, 0 }, 2), ctx);
	ok(stack_ends_count(&ends, w, &sum) && sum.events == all, "nor are frames nobody defined");
	for (unsigned i = 0; i < STACK_ENDS_DEEP; i++)
		deep[i] = frame(APP, "again");
	add("as deep as stacks go", 8, false, deep, STACK_ENDS_DEEP);

	ok(stack_ends_count(&ends, w, &sum), "in sum");
	is_u64(sum.deep, 8, "deep ones end nowhere");
	is_u64(sum.ends.n, 4, "modules in which stacks end");
	ok(sum.ends.n == 4 && sum.ends.v[0].module == module(LOST) && sum.ends.v[0].events == 30 &&
		   sum.ends.v[1].module == module(LIBC) && sum.ends.v[1].events == 9 &&
		   sum.ends.v[2].module == module(APP) && sum.ends.v[2].events == 4 &&
		   sum.ends.v[3].module == 0 && sum.ends.v[3].events == 2,
	   "most events first");
	stack_ends_text(&sum, w, 2, &text);
	is_str(buf_text(&text),
	       "26.39% of 72 reach main or a thread's start; 41.67% end in liblost.so, 12.50% in "
	       "libc.so.6, 8.33% elsewhere (built without frame pointers); 11.11% are deeper than "
	       "127 frames",
	       "for people");
	buf_free(&text);
	stack_ends_sum_free(&sum);
	stack_ends_free(&ends);
	by_tables();
	by_pointers();
	world_free(w);
	return done_testing();
}
