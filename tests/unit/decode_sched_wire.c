/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host tracks without a kernel: each column by its name, occupants that execute something else,
 * per-CPU distances out of made-up type information, and every shortened or bent byte of it.
 */
#include <linux/btf.h>
#include <string.h>

#include "lib/decode/cpu_masks.h"
#include "lib/attach/sched_config.h"
#include "lib/decode/wire.h"
#include "tests/tap.h"

static unsigned asked; /* for the path of a cgroup */
static struct event got[8];
static unsigned ngot;
static struct world *w;

static void on_event(void *ctx, const struct event *ev)
{
	(void)ctx;
	if (ngot < 8)
		got[ngot] = *ev;
	ngot++;
}

static uint64_t column(const struct event *ev, uint16_t col, uint64_t absent)
{
	uint64_t v;

	return event_get(ev, op_builtin(ev->op), col, &v) ? v : absent;
}

static uint32_t on_cgroup(void *ctx, uint32_t tgid)
{
	char path[32];

	(void)ctx;
	asked++;
	snprintf(path, sizeof(path), "/slice/of-%u", tgid);
	return world_string(w, bytes_of(path));
}

static bool on_gil(void *ctx, uint32_t tgid, uint64_t address)
{
	(void)ctx;
	return tgid == 7 && address == 0x7e00;
}

static struct wire_decoder *new_wire(void)
{
	struct wire_decoder_owner owner = { .event = on_event, .cgroup = on_cgroup, .gil = on_gil };
	struct wire_decoder *wire = NULL;
	struct err e;

	w = world_new();
	ngot = 0;
	return w && wire_decoder_new(&wire, w, 1, &owner, &e) == 0 ? wire : NULL;
}

static void announce(struct wire_decoder *wire, int kind, uint32_t tid, const char *comm)
{
	struct wire_thread t = { .kind = (uint8_t)kind,
				 .tid = tid,
				 .tgid = tid,
				 .parent = 1,
				 .start_ns = 5000000000,
				 .tgid_start_ns = 5000000000,
				 .cgroup = kind == WIRE_OCCUPANT ? tid % 2 : 0 };

	snprintf(t.comm, sizeof(t.comm), "%s", comm);
	wire_decoder_record(wire, &t, sizeof(t));
}

static const char *who(uint64_t thread)
{
	const struct world_thread *t = world_get_thread(w, (uint32_t)thread);

	return t ? world_text(w, t->comm).p : "nobody";
}

static const char *cgroup_of(const struct event *ev)
{
	const struct world_cgroup *g = world_get_cgroup(w, world_get_ctx(w, ev->ctx)->cgroup);

	return g ? world_text(w, g->path).p : "none";
}

static void test_offcpu(void)
{
	struct wire_offcpu o = { .kind = WIRE_OFFCPU,
				 .flags = OFFCPU_OBJECT | OFFCPU_FUTEX | OFFCPU_THROTTLED |
					  OFFCPU_STOLEN | OFFCPU_WAKING,
				 .stolen_ns = 60,
				 .waking_ns = 30,
				 .object_kind = OBJECT_FUTEX,
				 .waker_kind = WAKER_TASK,
				 .tid = 7,
				 .end_ns = 9000,
				 .dur_ns = 800,
				 .wait_ns = 300,
				 .throttled_ns = 200,
				 .object = 0x7f00,
				 .occupied_ns = 250,
				 .occupant = 9,
				 .waker = 8,
				 .futex_val = 2,
				 .syscall = 202,
				 .cpu_out = 3,
				 .cpu_in = 4,
				 .futex_op = 6,
				 .depth = 2 };
	struct wire_decoder *wire = new_wire();

	wire_decoder_record(wire, &o, sizeof(o));
	ok(ngot == 0 && wire_decoder_refused(wire) == 1, "nobody announced: refused");
	announce(wire, WIRE_THREAD, 7, "work");
	announce(wire, WIRE_OCCUPANT, 8, "waker");
	announce(wire, WIRE_OCCUPANT, 9, "hog");
	wire_decoder_record(wire, &o, sizeof(o) - 1);
	ok(ngot == 0 && wire_decoder_refused(wire) == 2, "a short one: refused");
	wire_decoder_record(wire, &o, sizeof(o));
	is_int(ngot, 2, "the slice, then the interval");
	is_int(got[0].op, OP_SCHED_OCCUPIED, "first what it waited behind");
	ok(got[0].end_ns == 9000 && got[0].dur_ns == 250, "up to the interval's end");
	is_u64(column(&got[0], COL_CPU, 99), 4, "on the CPU it got");
	is_str(who(column(&got[0], COL_OCCUPANT, 0)), "hog", "by whom");
	ok(world_get_ctx(w, got[0].ctx)->thread == 0, "on no thread's track");
	is_u64(asked, 1, "asked for the one cgroup that was told");
	is_str(cgroup_of(&got[0]), "/slice/of-9", "in which cgroup");
	ok(got[1].op == OP_SCHED_OFFCPU && got[1].end_ns == 9000 && got[1].dur_ns == 800 &&
		   got[1].depth == 2,
	   "the interval");
	is_u64(column(&got[1], COL_WAIT_NS, 0), 300, "wait");
	is_u64(column(&got[1], COL_THROTTLED_NS, 0), 200, "throttled");
	is_u64(column(&got[1], COL_STOLEN_NS, 0), 60, "stolen");
	is_u64(column(&got[1], COL_WAKING_NS, 0), 30, "from when the waker acted");
	is_u64(column(&got[1], COL_SYSCALL, 0), 202, "system call");
	is_u64(column(&got[1], COL_OBJECT_KIND, 0), OBJECT_FUTEX, "kind of object");
	is_u64(column(&got[1], COL_OBJECT, 0), 0x7f00, "object");
	is_str(who(column(&got[1], COL_WAKER, 0)), "waker", "waker");
	is_u64(column(&got[1], COL_WAKER_KIND, 0), WAKER_TASK, "kind of waker");
	is_u64(column(&got[1], COL_CPU_OUT, 0), 3, "left from");
	is_u64(column(&got[1], COL_CPU_IN, 0), 4, "came back on");
	is_u64(column(&got[1], COL_FUTEX_OP, 0), 6, "futex command");
	is_u64(column(&got[1], COL_FUTEX_VAL, 0), 2, "futex value");

	ngot = 0;
	o.own_ns = 40;
	wire_decoder_record(wire, &o, sizeof(o));
	is_int(ngot, 3, "given the CPU when it was woken: two slices");
	ok(got[0].end_ns == 8960 && got[0].dur_ns == 210, "the other's ends then");
	ok(got[1].end_ns == 9000 && got[1].dur_ns == 40, "and its own begins");
	is_str(who(column(&got[1], COL_OCCUPANT, 0)), "work", "which is its own");
	ngot = 0;
	o.occupant = 0;
	wire_decoder_record(wire, &o, sizeof(o));
	ok(ngot == 2 && got[0].dur_ns == 250, "of a CPU that idled there is one");
	o.occupant = 9;
	o.own_ns = 0;

	ngot = 0;
	o.object = 0x7e00;
	o.occupied_ns = 0;
	wire_decoder_record(wire, &o, sizeof(o));
	is_u64(column(&got[0], COL_OBJECT_KIND, 0), OBJECT_GIL,
	       "a futex of the interpreter's lock");
	is_u64(column(&got[0], COL_OBJECT, 0), 0x7e00, "and where it is");

	ngot = 0;
	o.flags = 0;
	o.syscall = -1;
	o.object_kind = OBJECT_NONE;
	o.waker_kind = WAKER_NONE;
	o.occupied_ns = 0;
	wire_decoder_record(wire, &o, sizeof(o));
	is_int(ngot, 1, "no slice");
	ok(column(&got[0], COL_STOLEN_NS, 77) == 77 && column(&got[0], COL_WAKING_NS, 77) == 77 &&
		   column(&got[0], COL_THROTTLED_NS, 77) == 77 &&
		   column(&got[0], COL_SYSCALL, 77) == 77 &&
		   column(&got[0], COL_OBJECT_KIND, 77) == 77 &&
		   column(&got[0], COL_OBJECT, 77) == 77 && column(&got[0], COL_WAKER, 77) == 77 &&
		   column(&got[0], COL_WAKER_KIND, 77) == 77 &&
		   column(&got[0], COL_FUTEX_OP, 77) == 77,
	   "what the kernel did not say is absent");
	wire_decoder_free(wire);
	world_free(w);
}

static void test_others(void)
{
	struct wire_occupied o = {
		.kind = WIRE_OCCUPIED, .cpu = 1, .tid = 9, .end_ns = 100, .dur_ns = 40
	};
	struct wire_migrate m = {
		.kind = WIRE_MIGRATE, .tid = 7, .time_ns = 55, .cpu_out = 1, .cpu_in = 2
	};
	struct wire_decoder *wire = new_wire();
	uint64_t shell, hog;

	announce(wire, WIRE_THREAD, 7, "work");
	wire_decoder_record(wire, &m, sizeof(m));
	ok(got[0].op == OP_SCHED_MIGRATE && got[0].end_ns == 55 &&
		   column(&got[0], COL_CPU_OUT, 0) == 1 && column(&got[0], COL_CPU_IN, 0) == 2,
	   "a move");

	ngot = 0;
	announce(wire, WIRE_OCCUPANT, 9, "sh");
	wire_decoder_record(wire, &o, sizeof(o));
	announce(wire, WIRE_OCCUPANT, 9, "hog");
	wire_decoder_record(wire, &o, sizeof(o));
	shell = column(&got[0], COL_OCCUPANT, 0);
	hog = column(&got[1], COL_OCCUPANT, 0);
	ok(shell != hog && strcmp(who(shell), "sh") == 0 && strcmp(who(hog), "hog") == 0,
	   "a program is not the shell it was");
	is_int(world_get_thread(w, (uint32_t)hog)->tid, 9, "but has its number");
	is_int(world_get_thread(w, (uint32_t)hog)->process,
	       world_get_thread(w, (uint32_t)shell)->process, "and process");

	announce(wire, WIRE_OCCUPANT, 7, "work");
	wire_decoder_record(wire, &m, sizeof(m));
	ok(world_get_ctx(w, got[2].ctx) && world_get_ctx(w, got[2].ctx)->thread,
	   "a target met as an occupant stays a target");
	o.tid = 0;
	wire_decoder_record(wire, &o, sizeof(o));
	is_str(who(column(&got[3], COL_OCCUPANT, 0)), "swapper", "nobody: the idle task");
	wire_decoder_free(wire);
	world_free(w);
}

static void test_sample(void)
{
	struct wire_sample s = {
		.kind = WIRE_SAMPLE, .depth = 2, .in_kernel = 1, .tid = 7, .time_ns = 9000, .cpu = 5
	};
	struct wire_decoder *wire = new_wire();

	wire_decoder_record(wire, &s, sizeof(s));
	is_u64(wire_decoder_refused(wire), 1, "a sample of nobody announced: refused");
	announce(wire, WIRE_THREAD, 7, "train");
	wire_decoder_record(wire, &s, sizeof(s) - 1);
	is_u64(wire_decoder_refused(wire), 2, "half a sample: refused");
	wire_decoder_record(wire, &s, sizeof(s));
	ok(ngot == 1 && got[0].op == OP_CPU_SAMPLE && got[0].end_ns == 9000 && got[0].dur_ns == 0 &&
		   got[0].depth == 2 && column(&got[0], COL_CPU, 99) == 5 &&
		   column(&got[0], COL_IN_KERNEL, 99) == 1,
	   "a sample: when, in which call, on which CPU, in the kernel");
	wire_decoder_free(wire);
	world_free(w);
}

static void test_stolen(void)
{
	struct wire_stolen s = {
		.kind = WIRE_STOLEN, .depth = 2, .cpu = 5, .tid = 7, .end_ns = 900, .dur_ns = 250
	};
	struct wire_decoder *wire = new_wire();

	wire_decoder_record(wire, &s, sizeof(s));
	is_u64(wire_decoder_refused(wire), 1, "stolen from nobody announced: refused");
	announce(wire, WIRE_THREAD, 7, "work");
	wire_decoder_record(wire, &s, sizeof(s) - 1);
	is_u64(wire_decoder_refused(wire), 2, "a short one: refused");
	wire_decoder_record(wire, &s, sizeof(s));
	ok(ngot == 1 && got[0].op == OP_SCHED_STOLEN && got[0].end_ns == 900 &&
		   got[0].dur_ns == 250 && got[0].depth == 2 && column(&got[0], COL_CPU, 0) == 5,
	   "stolen while it ran: when, how much, in which call, on which CPU");
	is_u64(world_get_thread(w, world_get_ctx(w, got[0].ctx)->thread)->tid, 7, "and from whom");
	wire_decoder_free(wire);
	world_free(w);
}

static void test_outside(void)
{
	struct wire_offcpu o = { .kind = WIRE_OFFCPU,
				 .flags = OFFCPU_OUTSIDE | OFFCPU_OBJECT | OFFCPU_WAKING,
				 .object_kind = OBJECT_FD,
				 .waker_kind = WAKER_TASK,
				 .tid = 9,
				 .end_ns = 9000,
				 .dur_ns = 800,
				 .wait_ns = 300,
				 .waking_ns = 20,
				 .object = 5,
				 .waker = 7,
				 .syscall = 0,
				 .cpu_out = 3,
				 .cpu_in = 4 };
	struct wire_decoder *wire = new_wire();

	wire_decoder_record(wire, &o, sizeof(o));
	is_u64(wire_decoder_refused(wire), 1, "outside, of nobody announced: refused");
	announce(wire, WIRE_OCCUPANT, 9, "server");
	announce(wire, WIRE_THREAD, 7, "work");
	wire_decoder_record(wire, &o, sizeof(o));
	ok(ngot == 1 && got[0].op == OP_SCHED_OUTSIDE && got[0].end_ns == 9000 &&
		   got[0].dur_ns == 800,
	   "an interval of a thread outside");
	ok(world_get_ctx(w, got[0].ctx)->thread == 0 && world_get_ctx(w, got[0].ctx)->image == 0,
	   "on no thread's track, of no process");
	is_str(cgroup_of(&got[0]), "/slice/of-9", "in its cgroup");
	is_str(who(column(&got[0], COL_RELEASER, 0)), "server", "whose");
	is_str(who(column(&got[0], COL_WAKER, 0)), "work", "ended by whom");
	ok(column(&got[0], COL_WAIT_NS, 0) == 300 && column(&got[0], COL_WAKING_NS, 0) == 20 &&
		   column(&got[0], COL_SYSCALL, 99) == 0 &&
		   column(&got[0], COL_OBJECT_KIND, 0) == OBJECT_FD &&
		   column(&got[0], COL_OBJECT, 0) == 5 &&
		   column(&got[0], COL_WAKER_KIND, 0) == WAKER_TASK &&
		   column(&got[0], COL_CPU_OUT, 0) == 3 && column(&got[0], COL_CPU_IN, 0) == 4 &&
		   column(&got[0], COL_FUTEX_OP, 77) == 77,
	   "what it waited for");
	o.flags = OFFCPU_OUTSIDE | OFFCPU_UNENDED | OFFCPU_FUTEX;
	o.syscall = -1;
	o.object_kind = OBJECT_NONE;
	o.waker_kind = WAKER_NONE;
	o.futex_val = 6;
	wire_decoder_record(wire, &o, sizeof(o));
	ok(ngot == 2 && column(&got[1], COL_CPU_IN, 77) == 77 &&
		   column(&got[1], COL_SYSCALL, 77) == 77 &&
		   column(&got[1], COL_OBJECT_KIND, 77) == 77 &&
		   column(&got[1], COL_OBJECT, 77) == 77 && column(&got[1], COL_WAKER, 77) == 77 &&
		   column(&got[1], COL_WAKER_KIND, 77) == 77 &&
		   column(&got[1], COL_WAKING_NS, 77) == 77 &&
		   column(&got[1], COL_FUTEX_VAL, 0) == 6,
	   "and what nobody said of one that has not ended is absent");
	wire_decoder_free(wire);
	world_free(w);
}

static char allowed_text[64];
static unsigned nallowed;
static bool allowed_of_thread;

static void on_allowed(void *ctx, struct record *r)
{
	(void)ctx;
	nallowed += r->kind == RECORD_ALLOWED;
	allowed_of_thread = REC_HAS(r, ALLOWED, thread);
	snprintf(allowed_text, sizeof(allowed_text), "%.*s", (int)r->u.ALLOWED.cpus.n,
		 r->u.ALLOWED.cpus.p);
}

static void test_allowed(void)
{
	static const struct {
		uint64_t cpus[2];
		const char *text;
	} lists[] = {
		{ { 1, 0 }, "0" },	     { { 0xf, 0 }, "0-3" },
		{ { 0x10f, 0 }, "0-3,8" },   { { ~0ull, 1 }, "0-64" },
		{ { 1ull << 63, 0 }, "63" }, { { 0, 1ull << 63 }, "127" },
		{ { 5, 5 }, "0,2,64,66" },   { { 0, 0 }, "" },
	};
	/* Threads of one process, in order: what each may run on, and whether it is told. */
	static const struct {
		uint32_t thread;
		uint64_t cpus;
		bool told, own;
		const char *name;
	} row[] = {
		{ 1, 3, true, false, "the first thread: told of the process" },
		{ 2, 3, false, false, "another that is alike: not told" },
		{ 2, 1, true, true, "one that changes: told of it" },
		{ 2, 1, false, false, "and not again" },
		{ 3, 2, true, true, "one that differs from the first" },
		{ 2, 3, true, true, "one that is as the process again" },
		{ 1, 1, true, true, "the first one changes: told of it alone" },
	};
	struct cpu_masks a = { 0 };
	struct gone_processes gone = { 0 };
	struct buf text = { 0 };

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		buf_reset(&text);
		cpu_masks_list(lists[i].cpus, 2, &text);
		is_str(buf_text(&text), lists[i].text, "CPUs as a list: \"%s\"", lists[i].text);
	}
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct wire_allowed at = { .words = 1, .cpus = { row[i].cpus } };

		nallowed = 0;
		cpu_masks_take(&a, &at, 5, row[i].thread, on_allowed, NULL);
		ok(nallowed == row[i].told && (!row[i].told || allowed_of_thread == row[i].own),
		   "%s", row[i].name);
	}
	nallowed = 0;
	cpu_masks_again(&a, 7, on_allowed, NULL);
	is_u64(nallowed, 4, "all of it for another file");
	map_put(&gone.processes, 5, 1);
	cpu_masks_gone(&a, &gone);
	nallowed = 0;
	cpu_masks_again(&a, 7, on_allowed, NULL);
	is_u64(nallowed, 0, "nothing is kept of a process that is gone");
	map_free(&gone.processes);
	cpu_masks_free(&a);
	buf_free(&text);
}

static void test_allowed_wire(void)
{
	struct wire_allowed a = { .kind = WIRE_ALLOWED, .words = 1, .tid = 7, .cpus = { 6 } };
	struct wire_decoder_owner owner = { .event = on_event, .record = on_allowed };
	struct wire_decoder *wire = NULL;
	struct err e;

	w = world_new();
	if (!w || wire_decoder_new(&wire, w, 1, &owner, &e))
		return;
	nallowed = 0;
	wire_decoder_record(wire, &a, sizeof(a));
	is_u64(wire_decoder_refused(wire), 1, "CPUs of nobody announced: refused");
	announce(wire, WIRE_THREAD, 7, "work");
	wire_decoder_record(wire, &a, sizeof(a) - 1);
	is_u64(wire_decoder_refused(wire), 2, "a short one: refused");
	a.words = 60000;
	wire_decoder_record(wire, &a, sizeof(a));
	ok(nallowed == 1 && strcmp(allowed_text, "1-2") == 0, "where a thread may run: \"%s\"",
	   allowed_text);
	wire_decoder_free(wire);
	world_free(w);
}

static void test_steal_known(void)
{
	static const struct {
		const char *stat, *cpuinfo;
		enum probe_steal want;
		const char *name;
	} row[] = {
		{ "cpu  1 0 1 9 0 0 0 3 0 0\ncpu0 1 0 1 9 0 0 0 3 0 0\n",
		  "processor\t: 0\nflags\t\t: fpu hypervisor lahf_lm\n", PROBE_STEAL_KEPT,
		  "an account that moved is kept" },
		{ "cpu  1 0 1 9 0 0 0 0 0 0\ncpu0 1 0 1 9 0 0 0 0 0 0\n",
		  "processor\t: 0\nflags\t\t: fpu hypervisor lahf_lm\nbugs\t: none\n",
		  PROBE_STEAL_UNKNOWN, "a guest whose account stands at 0: not known" },
		{ "cpu  1 0 1 9 0 0 0 0 0 0\ncpu0 1 0 1 9 0 0 0 0 0 0\n",
		  "processor\t: 0\nflags\t\t: fpu lahf_lm\nbugs\t: hypervisor\n", PROBE_STEAL_NONE,
		  "no hypervisor: nothing to take" },
		{ "cpu  1 0 1 9 0 0 0 0 0 0\n", "processor\t: 0\nFeatures\t: fp asimd\n",
		  PROBE_STEAL_UNKNOWN, "another architecture does not say" },
		{ "cpu  1 0 1 9 0 0 0 0 0 0\n", "flags\t\t: fpu", PROBE_STEAL_UNKNOWN,
		  "flags cut short" },
		{ "", "", PROBE_STEAL_UNKNOWN, "nothing to read" },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		is_int(probe_steal_of(bytes_of(row[i].stat), bytes_of(row[i].cpuinfo)), row[i].want,
		       "%s", row[i].name);
}

/* Type information with one percpu section, as of 6.2: pcpu_hot has the preempt count. */
static size_t make_btf(uint8_t *out, bool hot, bool kvm_there)
{
	static const char strings[] =
		"\0runqueues\0pcpu_hot\0preempt_count\0hrtimer_bases\0timer_"
		"bases\0.data..percpu\0__preempt_count\0steal_time\0kvm_steal_"
		"time\0kernel_cpustat";
	struct btf_header h = {
		.magic = BTF_MAGIC, .version = 1, .hdr_len = sizeof(h), .str_len = sizeof(strings)
	};
	uint32_t at = sizeof(h), rq = 1, hot_name = 11, count = 20, hr = 34, timer = 48,
		 section = 60, plain = 74, steal = 90, kvm = 101, account = 116;
	uint32_t words[] = {
		/* 1: an integer */ 0,
		BTF_KIND_INT << 24,
		4,
		32,
		/* 2: what pcpu_hot holds, without a name */ 0,
		BTF_KIND_STRUCT << 24 | 1,
		16,
		count,
		1,
		64,
		/* 3: pcpu_hot */ hot_name,
		BTF_KIND_STRUCT << 24 | 1,
		64,
		0,
		2,
		0,
		/* 4 to 7: variables */ rq,
		BTF_KIND_VAR << 24,
		1,
		1,
		hot ? hot_name : plain,
		BTF_KIND_VAR << 24,
		3,
		1,
		hr,
		BTF_KIND_VAR << 24,
		1,
		1,
		timer,
		BTF_KIND_VAR << 24,
		1,
		1,
		/* 8: KVM's counter, 9: a variable of it, 10: the kernel's account */ kvm,
		BTF_KIND_STRUCT << 24,
		64,
		steal,
		BTF_KIND_VAR << 24,
		kvm_there ? 8 : 1,
		1,
		account,
		BTF_KIND_VAR << 24,
		1,
		1,
		/* 11: where they are */ section,
		BTF_KIND_DATASEC << 24 | 6,
		9000,
		4,
		5000,
		100,
		5,
		200,
		64,
		6,
		3000,
		640,
		7,
		7000,
		900,
		9,
		4000,
		64,
		10,
		4500,
		80,
	};

	h.type_len = sizeof(words);
	h.str_off = sizeof(words);
	memcpy(out, &h, sizeof(h));
	memcpy(out + at, words, sizeof(words));
	memcpy(out + at + sizeof(words), strings, sizeof(strings));
	return at + sizeof(words) + sizeof(strings);
}

static void test_percpu(void)
{
	_Alignas(8) uint8_t btf[1024], bent[1024];
	struct probe_percpu p;
	struct err e;
	size_t n = make_btf(btf, true, true);

	is_int(probe_percpu_parse(btf, n, &p, &e), 0, "a section of per-CPU variables");
	is_i64(p.preempt_count, 200 + 8 - 5000, "the preempt count, inside pcpu_hot");
	is_i64(p.hrtimer_bases, 3000 - 5000, "timers");
	ok(p.timer_bases == 7000 - 5000 && p.timer_bases_size == 900,
	   "more timers, and how many bytes of them");
	is_i64(p.steal_kvm, 4000 - 5000, "what the hypervisor took");
	is_i64(p.steal_account, 4500 + 7 * 8 - 5000, "and the kernel's account of it");
	n = make_btf(btf, false, false);
	is_int(probe_percpu_parse(btf, n, &p, &e), 0, "and without pcpu_hot");
	is_i64(p.preempt_count, 200 - 5000, "the preempt count, a variable of its own");
	is_i64(p.steal_kvm, 0,
	       "a variable of that name that is something else is not taken for it");
	for (size_t i = 0; i < n; i++) {
		uint8_t *cut =
			malloc(i + 1); /* so that a sanitizer sees every byte read too many */

		memcpy(cut, btf, i);
		probe_percpu_parse(cut, i, &p, &e);
		free(cut);
	}
	for (size_t i = 0; i < n * 8; i++) {
		memcpy(bent, btf, n);
		bent[i / 8] ^= (uint8_t)(1u << (i % 8));
		probe_percpu_parse(bent, n, &p, &e);
	}
	ok(true, "%zu cut and %zu bent ones survived", n, n * 8);
}

static void test_majors(void)
{
	uint32_t m[PROBE_GPU_MAJORS];
	const char *text = "Character devices:\n  1 mem\n195 nvidia-frontend\n 10 misc\n508 "
			   "nvidia-uvm\n\nBlock devices:\n"
			   "259 nvidia-not\n";

	probe_gpu_majors(bytes_of(text), m);
	ok(m[0] == 195 && m[1] == 508 && m[2] == 0, "majors of the GPU's devices: %u %u %u", m[0],
	   m[1], m[2]);
	probe_gpu_majors(bytes_of(""), m);
	is_int(m[0], 0, "none");
}

int main(void)
{
	test_offcpu();
	test_others();
	test_sample();
	test_stolen();
	test_outside();
	test_allowed();
	test_allowed_wire();
	test_steal_known();
	test_percpu();
	test_majors();
	return tap_done();
}
