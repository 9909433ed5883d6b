/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring bytes to events, without a kernel: what records mean, what is refused, who is told what
 * once. Also the ring itself, on plain memory: busy records, discarded ones, wrapping.
 */
#include <string.h>

#include "bpf/spec.h"
#include "lib/decode/kernel_handles.h"
#include "lib/attach/ring.h"
#include "lib/decode/wire.h"
#include "tests/tap.h"

static struct event last;
static unsigned events, exes, stacks, processes;
static uint64_t lost;

static void on_event(void *ctx, const struct event *ev)
{
	(void)ctx;
	last = *ev;
	events++;
}

static void on_lost(void *ctx, uint64_t n)
{
	(void)ctx;
	lost += n;
}

static void on_exe(void *ctx, uint32_t tgid, uint32_t execs, struct decode_exe *out)
{
	(void)tgid;
	(void)execs;
	out->exe = world_string(ctx, bytes_of("/bin/work"));
	exes++;
}

static uint32_t on_stack(void *ctx, const struct wire_stack *s,
			 const struct decode_python_frames *python)
{
	uint32_t frames[WIRE_STACK_MAX];

	(void)python;
	for (unsigned i = 0; i < s->n; i++)
		frames[i] = world_frame(ctx, &(struct world_frame){ .kind = FRAME_UNKNOWN,
								    .offset = s->ip[i] });
	stacks++;
	return world_stack(ctx, frames, s->n);
}

static void on_process(void *ctx, const struct wire_thread *w, uint32_t process)
{
	(void)ctx;
	(void)w;
	processes += process != 0;
}

static struct wire_thread thread_of(uint32_t tgid, uint32_t tid, uint32_t execs)
{
	return (struct wire_thread){ .kind = WIRE_THREAD,
				     .tid = tid,
				     .tgid = tgid,
				     .execs = execs,
				     .cgroup = 7,
				     .start_ns = 1000000000 + tid,
				     .tgid_start_ns = 1000000000 + tgid,
				     .comm = "worker" };
}

static struct wire_call call_of(uint32_t tid, uint64_t end)
{
	return (struct wire_call){ .kind = WIRE_CALL,
				   .op = OP_CUDA_MALLOC,
				   .tid = tid,
				   .end_ns = end,
				   .dur_ns = 500,
				   .depth_present = 3 << 4 | 1,
				   .ret = 2,
				   .x = { 4096, 0xdead } };
}

static void calls(struct wire_decoder *wire, struct world *w)
{
	uint64_t no_kind = 0xff; /* records are 8-aligned, as the ring hands them out */
	struct wire_thread t = thread_of(10, 11, 0);
	struct wire_call c = call_of(11, 2000);
	struct wire_call_long l = { .call = c, .x2 = 0xbeef, .dur_high = 2 };
	struct wire_call_wide wide = {
		.call = c, .dur_high = 1, .present = 0x1b, .more = { 7, 8, 0x42 }
	};
	const struct world_ctx *ctx;
	uint32_t process;

	wire_decoder_record(wire, &c, sizeof(c));
	is_u64(events, 0, "a call of a thread nobody announced is refused");
	is_u64(wire_decoder_refused(wire), 1, "and counted");
	wire_decoder_record(wire, &t, sizeof(t));
	wire_decoder_record(wire, &c, sizeof(c));
	is_u64(events, 1, "a call");
	is_i64(last.end_ns, 2000, "its end");
	is_u64(last.dur_ns, 500, "its duration");
	is_int(last.ret, 2, "its return value");
	is_u64(last.depth, 1, "its depth");
	is_u64(last.present, 3, "which columns hold something");
	is_u64(last.x[1], 0xdead, "a column");
	ctx = world_get_ctx(w, last.ctx);
	is_u64(world_get_thread(w, ctx->thread)->tid, 11, "its thread");
	process = world_get_thread(w, ctx->thread)->process;
	is_u64(world_get_process(w, world_get_thread(w, ctx->thread)->process)->start_ns,
	       1000000000, "its process, started when /proc says");
	is_str(world_text(w, world_get_image(w, ctx->image)->exe).p, "/bin/work",
	       "what it executes");
	l.call.kind = WIRE_CALL_LONG;
	l.call.op = OP_CUDA_MALLOC_ASYNC;
	l.call.depth_present = 7 << 4;
	wire_decoder_record(wire, &l, sizeof(l));
	is_u64(last.dur_ns, 500 + (2ull << 32), "a call longer than 32 bits of nanoseconds");
	is_u64(last.x[2], 0xbeef, "a third column");
	wide.call.op = OP_CUDA_LAUNCH;
	wide.call.kind = WIRE_CALL_WIDE;
	wire_decoder_record(wire, &wide, sizeof(wide));
	is_u64(last.dur_ns, 500 + (1ull << 32), "a call with many columns, and long");
	is_u64(last.present, 0x1b, "which of them hold something");
	is_u64(last.x[1] << 32 | last.x[4], 0xdead00000042, "the first and the last");
	wire_decoder_record(wire, &wide, sizeof(wide) - 1);
	is_u64(events, 3, "one cut short is refused");
	is_u64(wire_decoder_delivered(wire, process, 0), 3,
	       "delivered, per process and library file");
	l.call.copy = COOKIE_TO_COPY(COOKIE_COPY(70));
	wire_decoder_record(wire, &l, sizeof(l));
	wire_decoder_record(wire, &c, sizeof(c));
	ok(wire_decoder_delivered(wire, process, 70) == 1 &&
		   wire_decoder_delivered(wire, process, 0) == 4 &&
		   wire_decoder_delivered(wire, process, 1) == 0 &&
		   wire_decoder_delivered(wire, process + 1, 0) == 0,
	   "each file has its own count");
	is_u64(COOKIE_TO_COPY(COOKIE_COPY(5000) | 7), COOKIE_COPY_MAX,
	       "those that do not fit share a number");
	is_u64(COOKIE_TO_SPEC(COOKIE_COPY(5000) | 7), 7, "beside the number of the spec");
	wire_decoder_record(wire, &c, sizeof(c) - 1);
	is_u64(events, 5, "a record cut short is refused");
	wire_decoder_record(wire, &no_kind, 1);
	wire_decoder_record(wire, "", 0);
	is_u64(wire_decoder_refused(wire), 5, "so is one of no kind, and an empty one");
}

static void identities(struct wire_decoder *wire, struct world *w)
{
	struct wire_thread t = thread_of(10, 12, 0), u = thread_of(10, 11, 1);
	struct wire_call c = call_of(12, 3000);
	uint32_t before;

	exes = processes = 0;
	wire_decoder_record(wire, &t, sizeof(t));
	wire_decoder_record(wire, &t, sizeof(t));
	is_u64(exes, 0, "a second thread of a known process asks nothing");
	wire_decoder_record(wire, &c, sizeof(c));
	before = last.ctx;
	wire_decoder_record(wire, &u, sizeof(u));
	is_u64(exes + processes, 2, "after an exec it is asked once again");
	c.tid = 11;
	wire_decoder_record(wire, &c, sizeof(c));
	ok(world_get_ctx(w, last.ctx)->image != world_get_ctx(w, before)->image,
	   "and is another image");
	/* The number comes again with another start: another process. */
	t = thread_of(10, 11, 1);
	t.start_ns = t.tgid_start_ns = 90000000000;
	wire_decoder_record(wire, &t, sizeof(t));
	wire_decoder_record(wire, &c, sizeof(c));
	is_u64(world_get_process(w,
				 world_get_thread(w, world_get_ctx(w, last.ctx)->thread)->process)
		       ->start_ns,
	       90000000000, "a process number used again is another process");
	is_u64(wire_decoder_delivered(
		       wire, world_get_thread(w, world_get_ctx(w, last.ctx)->thread)->process, 0),
	       1, "with calls of its own");
}

static void stack_records(struct wire_decoder *wire, struct world *w)
{
	struct wire_stack s = {
		.kind = WIRE_STACK, .n = 3, .id = 77, .tgid = 10, .ip = { 1, 2, 3 }
	};
	struct wire_call c = call_of(11, 4000);
	unsigned n;

	wire_decoder_record(wire, &s, WIRE_STACK_HEAD + 24);
	c.stack = 77;
	wire_decoder_record(wire, &c, sizeof(c));
	ok(world_get_stack(w, last.stack, &n) && n == 3, "a call's stack");
	c.stack = 78;
	wire_decoder_record(wire, &c, sizeof(c));
	is_u64(last.stack, 0, "a stack that was lost is none");
	stacks = 0;
	wire_decoder_record(wire, &s, WIRE_STACK_HEAD + 23);
	s.n = WIRE_STACK_MAX + 1;
	wire_decoder_record(wire, &s, sizeof(s));
	s.n = 0;
	wire_decoder_record(wire, &s, sizeof(s));
	is_u64(stacks, 0, "stacks that do not fit their record are refused");
}

static unsigned kernels;
static char kernel[64];

static void on_kernel(void *ctx, uint32_t process, uint64_t handle, struct bytes name,
		      int64_t since_ns)
{
	(void)ctx;
	(void)since_ns;
	kernels += process != 0 && handle != 0;
	snprintf(kernel, sizeof(kernel), "%.*s", (int)name.n, name.p);
}

static void name(struct wire_decoder *wire, uint32_t tgid, uint64_t handle, const char *text)
{
	struct wire_kernel k = { .kind = WIRE_KERNEL, .tgid = tgid, .handle = handle };

	snprintf(k.name, sizeof(k.name), "%s", text);
	wire_decoder_record(wire, &k, WIRE_KERNEL_HEAD + WIRE_NAME_SHORT);
}

static void named(struct wire_decoder *wire)
{
	struct wire_call c = call_of(11, 4500);
	struct wire_kernel k = { .kind = WIRE_KERNEL, .tgid = 10, .name = "cut" };
	uint64_t refused = wire_decoder_refused(wire);

	name(wire, 10, 0x100, "first");
	name(wire, 60, 0x100, "elsewhere");
	name(wire, 10, 0x200, "kernel of a library");
	is_u64(kernels, 0, "what is never launched is not told");
	c.op = OP_CU_LAUNCH;
	c.x[0] = 0x100;
	wire_decoder_record(wire, &c, sizeof(c));
	wire_decoder_record(wire, &c, sizeof(c));
	is_u64(kernels, 1, "a launched kernel's name is told once");
	is_str(kernel, "first", "as its own process calls it");
	name(wire, 10, 0x100, "again");
	wire_decoder_record(wire, &c, sizeof(c));
	is_str(kernel, "again", "a handle that is used again has its new name");
	c.op = OP_CU_KERNEL_GET_FUNCTION;
	c.x[0] = 0x300;
	c.x[1] = 0x200;
	wire_decoder_record(wire, &c, sizeof(c));
	c.op = OP_CU_LAUNCH;
	wire_decoder_record(wire, &c, sizeof(c));
	is_str(kernel, "kernel of a library", "a kernel's function is called as the kernel");
	wire_decoder_record(wire, &k, WIRE_KERNEL_HEAD + 3);
	wire_decoder_record(wire, &k, WIRE_KERNEL_HEAD);
	is_u64(wire_decoder_refused(wire), refused + 2, "names without an end are refused");
}

static void losses(struct wire_decoder *wire)
{
	struct wire_call c = call_of(11, 5000);

	lost = 0;
	c.lost = 5;
	wire_decoder_record(wire, &c, sizeof(c));
	c.lost = 4; /* read a moment earlier, on another CPU */
	wire_decoder_record(wire, &c, sizeof(c));
	c.lost = 9;
	wire_decoder_record(wire, &c, sizeof(c));
	is_u64(lost, 9, "losses are told where they happened, and once");
}

static void lives(struct wire_decoder *wire, struct world *w)
{
	struct wire_life l = { .kind = WIRE_FORK,
			       .process = 1,
			       .child = 50,
			       .child_tgid = 50,
			       .time_ns = 6000,
			       .child_start_ns = 2000000000,
			       .who = thread_of(10, 11, 1) };
	unsigned before = events;

	wire_decoder_life(wire, &l);
	is_u64(last.op, OP_PROC_FORK, "a fork");
	is_u64(world_get_thread(w, (uint32_t)last.x[0])->tid, 50, "and its child");
	l.kind = WIRE_EXIT;
	l.status = 9;
	l.who = thread_of(60, 60, 0);
	wire_decoder_life(wire, &l);
	is_u64(last.x[0], 9, "the exit of a thread that made no call, with its status");
	l.kind = WIRE_LOADER;
	wire_decoder_life(wire, &l);
	is_u64(events, before + 2, "loaders are no events");

	/* Known by a call it made, in the program before this one. */
	l.kind = WIRE_EXIT;
	l.who = thread_of(10, 11, 2);
	wire_decoder_life(wire, &l);
	is_u64(world_get_image(w, world_get_ctx(w, last.ctx)->image)->exec, 2,
	       "the exit of a program that made no call is not that of the one before it");
	/* Its number is another one's now. */
	l.who = thread_of(70, 11, 0);
	l.who.start_ns = l.who.tgid_start_ns = 9000000000;
	wire_decoder_life(wire, &l);
	is_u64(world_get_thread(w, world_get_ctx(w, last.ctx)->thread)->start_ns, 9000000000,
	       "the exit of a thread is not that of who had its number before");
	is_u64(world_get_process(w,
				 world_get_thread(w, world_get_ctx(w, last.ctx)->thread)->process)
		       ->tgid,
	       70, "nor its process's");
}

/* A copy of a process launches what that one was told the names of. */
static void copies(struct wire_decoder *wire)
{
	struct wire_life l = { .kind = WIRE_FORK,
			       .process = 1,
			       .child = 90,
			       .child_tgid = 90,
			       .time_ns = 8000,
			       .child_start_ns = 2000000000,
			       .who = thread_of(10, 11, 1) };
	struct wire_thread t = thread_of(90, 90, 0);
	struct wire_call c = call_of(90, 8500);
	unsigned before = kernels;

	name(wire, 10, 0x500, "of the parent");
	wire_decoder_life(wire, &l);
	wire_decoder_record(wire, &t, sizeof(t));
	c.op = OP_CU_LAUNCH;
	c.x[0] = 0x500;
	wire_decoder_record(wire, &c, sizeof(c));
	wire_decoder_record(wire, &c, sizeof(c));
	is_u64(kernels, before + 1, "a copy launches by the name that its parent was told, once");
	is_str(kernel, "of the parent", "as that one calls it");

	l.kind = WIRE_EXIT;
	l.who = thread_of(90, 90, 0);
	wire_decoder_life(wire, &l);
	l.kind = WIRE_FORK;
	l.who = thread_of(60, 60, 0);
	wire_decoder_life(wire, &l);
	t.start_ns = t.tgid_start_ns = 97000000000;
	wire_decoder_record(wire, &t, sizeof(t));
	wire_decoder_record(wire, &c, sizeof(c));
	is_u64(kernels, before + 1, "who has its number afterwards knows nothing of that");
	name(wire, 90, 0x500, "of the parent");
	wire_decoder_record(wire, &c, sizeof(c));
	is_u64(kernels, before + 2, "and is told of by itself");

	l.child = l.child_tgid = 91;
	l.who = thread_of(10, 11, 1);
	wire_decoder_life(wire, &l);
	l.kind = WIRE_EXEC;
	l.who = thread_of(91, 91, 1);
	wire_decoder_life(wire, &l);
	t = thread_of(91, 91, 1);
	wire_decoder_record(wire, &t, sizeof(t));
	c.tid = 91;
	wire_decoder_record(wire, &c, sizeof(c));
	is_u64(kernels, before + 2, "nor does another program know of it that a copy executes");

	name(wire, 90, 0x600, "early");
	name(wire, 90, 0x700, "late");
	l.kind = WIRE_EXIT;
	l.who = thread_of(90, 90, 0);
	wire_decoder_life(wire, &l);
	kernel_handles_forget(wire_decoder_handles(wire));
	c.tid = 90;
	c.x[0] = 0x600;
	wire_decoder_record(wire, &c, sizeof(c));
	is_u64(kernels, before + 3, "what a process did may be told after its end");
	kernel_handles_forget(wire_decoder_handles(wire));
	c.x[0] = 0x700;
	wire_decoder_record(wire, &c, sizeof(c));
	is_u64(kernels, before + 3, "but nothing is kept of it for ever");
}

/* Others end, as many as are remembered. */
static void others_end(struct wire_decoder *wire)
{
	for (uint32_t i = 0; i < WIRE_DECODER_TAIL; i++) {
		struct wire_thread t = thread_of(100000 + i, 100000 + i, 0);

		wire_decoder_over(wire, &t);
	}
}

/* What has ended is forgotten, when nothing of it can come any more: numbers mean nobody then. */
static void ended(struct wire_decoder *wire, struct world *w)
{
	struct ended_processes all = { 0 };
	const struct gone_processes *gone;
	struct wire_life l = { .kind = WIRE_EXIT, .process = 1, .time_ns = 9000 };
	struct wire_thread t = thread_of(300, 301, 1), other = thread_of(400, 400, 0);
	struct wire_stack s = { .kind = WIRE_STACK, .n = 1, .id = 900, .tgid = 300, .ip = { 1 } };
	struct wire_call c = call_of(301, 9500), d = call_of(400, 9500);
	uint64_t refused;
	uint32_t process;

	/* It is told of after it has ended. */
	l.who = t;
	wire_decoder_life(wire, &l);
	wire_decoder_record(wire, &t, sizeof(t));
	wire_decoder_record(wire, &s, WIRE_STACK_HEAD + 8);
	wire_decoder_record(wire, &other, sizeof(other));
	c.stack = 900;
	wire_decoder_forget(wire);
	wire_decoder_record(wire, &c, sizeof(c));
	wire_decoder_record(wire, &d, sizeof(d));
	ok(last.ctx && wire_decoder_thread(wire, 301) && wire_decoder_stack(wire, 900),
	   "a thread is known a while after its end");
	process = wire_decoder_thread(wire, 301)->process;
	ended_processes_add(&all, 300, process);
	ok(!ended_processes_next(&all), "and so is its process");
	wire_decoder_forget(wire);
	ok(wire_decoder_thread(wire, 301), "a longer while");
	others_end(wire);
	wire_decoder_forget(wire);
	ok(!wire_decoder_thread(wire, 301) && wire_decoder_thread(wire, 400),
	   "then no more, but others are");
	is_u64(wire_decoder_delivered(wire, process, 0), 1, "what came of a process is told last");
	gone = ended_processes_next(&all);
	ok(gone != NULL, "when it is gone");
	if (gone)
		wire_decoder_gone(wire, gone);
	ok(!wire_decoder_delivered(wire, process, 0) && !wire_decoder_stack(wire, 900),
	   "then nothing is kept of it");
	is_u64(wire_decoder_delivered(wire, wire_decoder_thread(wire, 400)->process, 0), 1,
	       "but of others");
	refused = wire_decoder_refused(wire);
	wire_decoder_record(wire, &c, sizeof(c));
	is_u64(wire_decoder_refused(wire), refused + 1, "its number is nobody's");

	/* One thread of several executes a program: it has the number of the first, and its birth. */
	t = thread_of(500, 500, 0);
	wire_decoder_record(wire, &t, sizeof(t));
	l.who = t;
	l.process = 0;
	wire_decoder_life(wire, &l);
	t = thread_of(500, 500, 1);
	wire_decoder_record(wire, &t, sizeof(t));
	others_end(wire);
	wire_decoder_forget(wire);
	wire_decoder_forget(wire);
	ok(wire_decoder_thread(wire, 500), "who took over a number has it");

	/* A number that is another process's by then. */
	s.id = 901;
	s.tgid = 500;
	wire_decoder_record(wire, &s, WIRE_STACK_HEAD + 8);
	ended_processes_add(&all, 500, wire_decoder_thread(wire, 500)->process);
	ended_processes_taken(&all, 500, 0);
	ended_processes_next(&all);
	gone = ended_processes_next(&all);
	if (gone)
		wire_decoder_gone(wire, gone);
	ok(gone && wire_decoder_stack(wire, 901), "what is known by a number used again stays");
	ok(!world_failed(w), "with memory for all");
	ended_processes_free(&all);
}

static void shares(struct wire_decoder *wire)
{
	struct wire_thread t = thread_of(80, 80, 0);
	struct wire_stack s = { .kind = WIRE_STACK,
				.python = PYTHON_PROCESS,
				.n = 1,
				.id = 500,
				.tgid = 80,
				.ip = { 1 } };
	struct wire_call c = call_of(80, 9000);
	uint64_t before = wire_decoder_shares(wire)->python;

	wire_decoder_record(wire, &t, sizeof(t));
	wire_decoder_record(wire, &s, WIRE_STACK_HEAD + 8);
	wire_decoder_record(wire, &c, sizeof(c));
	is_u64(wire_decoder_shares(wire)->python, before + 1,
	       "a call without its stack ran in Python where calls of that process do");
	t.start_ns = t.tgid_start_ns = 98000000000;
	wire_decoder_record(wire, &t, sizeof(t));
	wire_decoder_record(wire, &c, sizeof(c));
	is_u64(wire_decoder_shares(wire)->python, before + 1,
	       "and not in that which has its number now");
}

/* ---- the ring */

static unsigned seen;
static uint64_t sum;

static void on_record(void *ctx, const void *p, size_t n)
{
	uint64_t v;

	(void)ctx;
	memcpy(&v, p, sizeof(v));
	seen++;
	sum += v * n;
}

#define SIZE 4096
static uint8_t memory[2 * SIZE] __attribute__((aligned(8)));

static void put(unsigned long at, uint32_t head, uint64_t v)
{
	for (int copy = 0; copy < 2; copy++) {
		size_t i = (at & (SIZE - 1)) + (size_t)copy * SIZE;

		if (i + 16 <= sizeof(memory)) {
			memcpy(memory + i, &head, 4);
			memcpy(memory + i + 8, &v, 8);
		}
	}
}

static void rings(void)
{
	unsigned long consumer = SIZE - 16, producer = SIZE + 48;
	struct probe_ring r = {
		.fd = -1, .consumer = &consumer, .producer = &producer, .data = memory, .size = SIZE
	};

	put(SIZE - 16, 8, 1);
	put(SIZE, 8 | 1u << 30, 100);
	put(SIZE + 16, 8, 2);
	put(SIZE + 32, 8 | 1u << 31, 4);
	ok(!probe_ring_drain(&r, on_record, NULL), "a record still being written stops the reader");
	is_u64(seen, 2, "discarded records are passed by");
	is_u64(sum, 24, "around the end of the ring");
	is_u64(consumer, SIZE + 32, "the reader stands before it");
	put(SIZE + 32, 8, 4);
	ok(probe_ring_drain_to(&r, SIZE + 32, on_record, NULL) && consumer == SIZE + 32,
	   "nor does it go further than it is told");
	ok(probe_ring_drain(&r, on_record, NULL), "written, it is read");
	is_u64(sum, 56, "and nothing twice");
	is_u64(consumer, producer, "all is given back");
}

int main(void)
{
	struct world *w = world_new();
	struct wire_decoder_owner owner = { .ctx = w,
					    .event = on_event,
					    .lost = on_lost,
					    .exe = on_exe,
					    .stack = on_stack,
					    .process = on_process,
					    .kernel = on_kernel };
	struct wire_decoder *wire;
	struct err e = { 0 };
	uint32_t node = world_node(w, &(struct world_node){ .boot = 1 });

	if (wire_decoder_new(&wire, w, node, &owner, &e))
		return 1;
	calls(wire, w);
	identities(wire, w);
	stack_records(wire, w);
	named(wire);
	losses(wire);
	lives(wire, w);
	copies(wire);
	ended(wire, w);
	shares(wire);
	rings();
	wire_decoder_free(wire);
	world_free(w);
	return tap_done();
}
