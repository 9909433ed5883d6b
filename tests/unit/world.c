/* SPDX-License-Identifier: Apache-2.0 */
/* Equal things have equal ids, ids are dense, pointers stay, first definitions hold. */
#include "lib/event/event.h"
#include "lib/world/late_names.h"
#include "lib/world/world.h"

#include <stdio.h>

#include "tests/tap.h"

static void test_strings(void)
{
	struct world *w = world_new();
	uint32_t a = world_string(w, bytes_of("cudaMalloc"));
	const char *before = world_text(w, a).p;

	is_u64(world_string(w, bytes_of("cudaMalloc")), a, "the same text has the same id");
	is_u64(world_string(w, (struct bytes){ NULL, 0 }), 0, "the absent text is 0");
	ok(world_string(w, (struct bytes){ "", 0 }) != 0, "the empty text is not the absent one");
	for (int i = 0; i < 5000; i++) {
		char text[32];

		snprintf(text, sizeof(text), "text %d", i);
		world_string(w, bytes_of(text));
	}
	is_u64(world_count(w, WORLD_STRING), 5002, "ids are dense");
	ok(world_text(w, a).p == before, "a text does not move when the table grows");
	is_str(world_text(w, world_string(w, bytes_of("text 4321"))).p, "text 4321",
	       "found again among many");
	ok(world_text(w, 99999).p == NULL, "an id never minted has no text");
	ok(!world_failed(w), "nothing failed");
	world_free(w);
}

static void test_subjects(void)
{
	struct world *w = world_new();
	struct world_node node = { .uuid = { 1 },
				   .boot = 7,
				   .name = world_string(w, bytes_of("a")) };
	uint32_t n = world_node(w, &node);
	struct world_process p = { .node = n, .tgid = 100, .start_ns = 5, .uid = 1000 };
	uint32_t first = world_process(w, &p);
	struct world_thread t = { .process = first, .tid = 101, .start_ns = 6 };

	node.name = world_string(w, bytes_of("renamed"));
	is_u64(world_node(w, &node), n, "a node is its uuid and boot, whatever its name");
	is_str(world_text(w, world_get_node(w, n)->name).p, "a", "the first name holds");
	p.uid = 0;
	is_u64(world_process(w, &p), first, "a process is node, pid and start");
	p.start_ns = 6;
	ok(world_process(w, &p) != first, "a reused pid is another process");
	ok(world_thread(w, &t) != 0 && world_get_thread(w, world_thread(w, &t))->tid == 101,
	   "threads too");
	ok(world_get_process(w, 0) == NULL && world_get_process(w, 77) == NULL,
	   "unknown ids give nothing");
	world_free(w);
}

static void test_frames(void)
{
	struct world *w = world_new();
	struct world_module m = { .path = world_string(w, bytes_of("/lib/x.so")) };
	struct world_frame f = { .kind = FRAME_NATIVE,
				 .module = world_module(w, &m),
				 .offset = 0x1234 };
	uint32_t frames[3] = { world_frame(w, &f), 0, 0 };
	struct world_symbol s = { .name = world_string(w, bytes_of("one")), .delta = 4 };
	uint32_t deep[WORLD_STACK_MAX + 1] = { 0 };
	unsigned depth;

	f.offset++;
	frames[1] = world_frame(w, &f);
	is_u64(world_stack(w, frames, 2), world_stack(w, frames, 2), "equal stacks are one");
	ok(world_stack(w, frames, 1) != world_stack(w, frames, 2), "a shorter stack is another");
	ok(world_stack_with_end(w, frames, 2, STACK_CUT) != world_stack(w, frames, 2),
	   "one that ended otherwise is another");
	is_u64(world_stack_end(w, world_stack_with_end(w, frames, 2, STACK_CUT)), STACK_CUT,
	       "its end comes back");
	is_u64(world_stack_end(w, world_stack(w, frames, 2)), 0, "no end is known of others");
	is_u64(world_get_stack(w, world_stack(w, frames, 2), &depth)[1], frames[1],
	       "frames come back");
	is_u64(depth, 2, "and their number");
	is_u64(world_stack(w, frames, 0), 0, "no frames is no stack");
	is_u64(world_stack(w, deep, WORLD_STACK_MAX + 1), 0, "too deep is refused");
	ok(world_get_symbol(w, frames[0]) == NULL, "no name yet");
	world_symbol(w, frames[0], &s);
	s.name = world_string(w, bytes_of("two"));
	world_symbol(w, frames[0], &s);
	is_str(world_text(w, world_get_symbol(w, frames[0])->name).p, "one",
	       "the first name holds");
	is_u64(world_symbols(w), 1, "and is listed once");
	is_u64(world_symbol_frame(w, 1), frames[0], "with its frame");
	world_free(w);
}

static void test_ops(void)
{
	struct world *w = world_new();
	struct op_def def = { .id = 0x2101,
			      .source = 0x21,
			      .name = "newThing",
			      .source_name = "new",
			      .track = TRACK_THREAD,
			      .ncols = 1,
			      .cols = { COL_BYTES } };
	struct op_def other = *op_builtin(OP_CUDA_MALLOC);
	struct event ev = { .op = OP_CUDA_MALLOC };
	uint64_t value = 7;

	is_str(world_op(w, OP_CUDA_MALLOC)->name, "cudaMalloc", "built-in ops are there");
	ok(op_column(op_builtin(OP_SCHED_OFFCPU), COL_CPU_IN) > 0, "with their columns");
	ok(world_op(w, 0x2101) == NULL, "a foreign op is not");
	ok(world_op_define(w, &def), "until it is defined");
	is_str(world_op(w, 0x2101)->name, "newThing", "then it is");
	def.id++;
	def.name = "new\033[2J";
	ok(world_op_define(w, &def), "whatever it is called");
	is_str(world_op(w, def.id)->name, "new?[2J", "but for what drives terminals");
	ok(world_op_define(w, &other), "a definition equal to the built-in one is welcome");
	other.name = "cudaFree";
	ok(!world_op_define(w, &other), "a contradiction is refused");
	ok(!event_get(&ev, op_builtin(ev.op), COL_PTR, &value) && value == 7,
	   "an absent column is not zero");
	event_set(&ev, op_builtin(ev.op), COL_PTR, 0);
	ok(event_get(&ev, op_builtin(ev.op), COL_PTR, &value) && value == 0, "zero is not absent");
	is_str(event_error_name(SOURCE_CUDA, 2), "cudaErrorMemoryAllocation", "codes have names");
	is_str(event_error_name(SOURCE_DRIVER, 2), "CUDA_ERROR_OUT_OF_MEMORY", "per library");
	ok(event_error_name(SOURCE_CUDA, 0) == NULL, "success is no error");
	world_free(w);
}

static void clock_told(struct late_names *t, struct world *w, int64_t mono, int64_t real,
		       const char *source)
{
	struct record r = { .kind = RECORD_CLOCK };

	REC_SET(&r, CLOCK, mono_ns, mono);
	REC_SET(&r, CLOCK, real_ns, real);
	REC_SET(&r, CLOCK, source, bytes_of(source));
	ok(late_names_record(t, w, &r), "a reading of the clock is taken");
}

static void test_clocks(void)
{
	struct world *w = world_new();
	struct late_names t = { 0 };

	clock_told(&t, w, 10, 1010, "start");
	is_i64(t.real_minus_mono_ns, 1000, "it says what time it was");
	clock_told(&t, w, 100, 1120, "tick");
	is_i64(t.real_minus_mono_ns, 1020, "the newest does");
	clock_told(&t, w, 500, 7500, "merge");
	is_i64(t.real_minus_mono_ns, 1020, "what was done to the clock of one machine does not");
	late_names_free(&t);
	world_free(w);
}

int main(void)
{
	test_strings();
	test_subjects();
	test_frames();
	test_ops();
	test_clocks();
	return tap_done();
}
