/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the stack of a call costs the traced thread at 12, 22 and 42 frames, over the same call
 * without a stack: walked by unwind tables, by frame pointers, and as bpf_get_stackid does it (over
 * a pair of programs that do nothing). The callers keep frame pointers, so that all find the same
 * frames.
 */
#include <dlfcn.h>
#include <limits.h>

#include "lib/attach/plan.h"
#include "lib/attach/session.h"
#include "lib/attach/unwinds.h"
#include "tests/bench/cost.bpf.skel.h"
#include "tests/bench/cost.h"

#define ROUNDS 15
#define CALLS  20000
#define NAME   "cudaMemcpyAsync"
#define MEMORY (64u << 20)

enum { BARE, EMPTY, PLAIN, STACKID, POINTERS, TABLES };
#define WALKS		    3
#define VARIANT(walk, size) ((unsigned)(walk) + WALKS * (size))
#define NVARIANTS	    VARIANT(STACKID, NSIZES)

static const uint32_t sizes[] = { 12, 22, 42 };
#define NSIZES (sizeof(sizes) / sizeof(sizes[0]))

static int (*memcpy_async)(void *, const void *, size_t, int, void *);
static char library[PATH_MAX];
static struct plan_site site;
static struct op_spec *table;
static struct probe_session *plain, *pointers, *tables;
static struct probe_programs empty_pair, stackid_pair;

static uint64_t call(const struct cost_order *o)
{
	uint64_t from = cost_now();

	for (uint64_t i = 0; i < o->n; i++)
		memcpy_async(NULL, NULL, 0, 1, NULL);
	return cost_now() - from;
}

__attribute__((noinline,
	       optimize("no-omit-frame-pointer", "no-optimize-sibling-calls"))) static uint64_t
deep(const struct cost_order *o, uint32_t depth)
{
	volatile char room[32];
	uint64_t ns;

	room[0] = (char)depth;
	ns = depth > 1 ? deep(o, depth - 1) : call(o);
	room[1] = room[0];
	return ns;
}

static uint64_t work(const struct cost_order *o)
{
	return deep(o, o->depth);
}

static void find_site(void)
{
	struct probe_plan plan;
	struct err e = { 0 };
	char path[PATH_MAX];
	void *lib;

	snprintf(path, sizeof(path), "%s/double/libcudart.so.13",
		 getenv("BUILD") ? getenv("BUILD") : "build");
	if (!realpath(path, library))
		cost_skip("no %s to call (make double)", path);
	lib = dlopen(library, RTLD_NOW);
	if (!lib)
		cost_skip("%s", dlerror());
	*(void **)&memcpy_async = dlsym(lib, NAME);
	if (probe_plan_file(&plan, library, PROBE_CUDART, false, &e))
		cost_die(library, &e);
	for (size_t i = 0; i < plan.n; i++)
		if (strcmp(plan.v[i].name, NAME) == 0)
			site = plan.v[i];
	probe_plan_free(&plan);
	if (!memcpy_async || !site.site.offset)
		cost_skip("no %s in %s", NAME, library);
}

static struct probe_session *session(int walker, uint64_t unwind_bytes)
{
	struct probe_options opt = { .link = PROBE_LINK_SESSION,
				     .walker = walker,
				     .unwind_bytes = unwind_bytes };
	const struct probe_spec *specs = probe_specs(&opt.nspecs);
	struct probe_session *s;
	struct err e = { 0 };

	if (!table)
		table = calloc(opt.nspecs, sizeof(*table));
	for (size_t i = 0; table && i < opt.nspecs; i++)
		table[i] = specs[i].op;
	opt.specs = table;
	if (!table || probe_session_open(&s, &opt, &e))
		cost_skip("session links: %s", e.text);
	return s;
}

static struct cost_bpf *open_pairs(void)
{
	struct cost_bpf *common = cost_bpf__open();
	struct bpf_program *p;

	if (!common)
		cost_skip("cannot open the programs to compare with");
	bpf_object__for_each_program(p, common->obj)
	{
		bool wanted = p == common->progs.empty_call || p == common->progs.stackid_call;

		bpf_program__set_autoload(p, wanted);
		if (wanted)
			bpf_program__set_expected_attach_type(
				p, (enum bpf_attach_type)PROBE_ATTACH_SESSION);
	}
	if (cost_bpf__load(common))
		cost_skip("this kernel takes no session programs to compare with: %s",
			  strerror(errno));
	empty_pair = (struct probe_programs){ PROBE_LINK_SESSION,
					      bpf_program__fd(common->progs.empty_call), -1 };
	stackid_pair = (struct probe_programs){ PROBE_LINK_SESSION,
						bpf_program__fd(common->progs.stackid_call), -1 };
	return common;
}

static uint32_t frames; /* of the newest stack */

static void see(void *ctx, const void *p, size_t n)
{
	const struct wire_stack *s = p;

	(void)ctx;
	if (n >= WIRE_STACK_HEAD && s->kind == WIRE_STACK)
		frames = s->n;
}

static void drain(void *s)
{
	probe_session_drain(s, see, see, NULL);
}

static double run(struct cost_child *child, const struct probe_programs *programs,
		  struct probe_session *s, uint32_t depth, uint64_t calls)
{
	struct probe_fds fds = { 0 };
	struct err e = { 0 };
	bool failed = false;
	double ns;

	if (programs &&
	    probe_link_attach(programs, library, library, &site.site, 1, &failed, &fds, &e) != 1)
		cost_die("attach", &e);
	cost_child_do(child, 0, depth, calls / 20 + 1, -1, s ? drain : NULL, s);
	ns = cost_child_do(child, 0, depth, calls, -1, s ? drain : NULL, s);
	if (s)
		drain(s);
	probe_link_detach(&fds);
	return ns;
}

/* Frames that a walk finds around one level of recursion. */
static uint32_t frames_around(struct cost_child *child, struct probe_session *s)
{
	frames = 0;
	run(child, probe_session_programs(s), s, 1, 20);
	if (frames == 0 || frames > sizes[0])
		cost_skip("a stack of %u frames where one of %u was wanted", frames, sizes[0]);
	return frames - 1;
}

static void say(uint32_t size, const char *what, double value, const char *unit)
{
	char name[64];

	snprintf(name, sizeof(name), "unwind.frames%u.%s", size, what);
	bench_say(name, value, unit);
}

static void measure(struct cost_child *child)
{
	static struct cost_table t = { .rounds = ROUNDS };
	uint32_t by_pointers = frames_around(child, pointers),
		 by_tables = frames_around(child, tables);

	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned i = 0; i < NVARIANTS; i++) {
			unsigned v = round % 2 ? NVARIANTS - 1 - i : i, walk = v, size = 0;
			const struct probe_programs *programs = NULL;
			struct probe_session *s = NULL;
			uint32_t depth = 1;

			if (v >= STACKID) {
				walk = STACKID + (v - STACKID) % WALKS;
				size = (v - STACKID) / WALKS;
				depth = sizes[size] - (walk == TABLES ? by_tables : by_pointers);
			}
			if (walk == EMPTY || walk == STACKID)
				programs = walk == EMPTY ? &empty_pair : &stackid_pair;
			else if (walk != BARE)
				s = walk == PLAIN ? plain : walk == POINTERS ? pointers : tables;
			t.ns[v][round] = run(child, s ? probe_session_programs(s) : programs, s,
					     depth, CALLS);
		}
	bench_say("unwind.empty_pair_ns", cost_added(&t, EMPTY, BARE), "ns");
	bench_say("unwind.call_without_stack_ns", cost_added(&t, PLAIN, BARE), "ns");
	for (unsigned i = 0; i < NSIZES; i++) {
		say(sizes[i], "tables_ns", cost_added(&t, VARIANT(TABLES, i), PLAIN), "ns");
		say(sizes[i], "pointers_ns", cost_added(&t, VARIANT(POINTERS, i), PLAIN), "ns");
		say(sizes[i], "stackid_ns", cost_added(&t, VARIANT(STACKID, i), EMPTY), "ns");
		say(sizes[i], "tables_vs_pointers_x",
		    cost_ratio(&t, VARIANT(TABLES, i), PLAIN, VARIANT(POINTERS, i), PLAIN), "x");
		say(sizes[i], "tables_vs_stackid_x",
		    cost_ratio(&t, VARIANT(TABLES, i), PLAIN, VARIANT(STACKID, i), EMPTY), "x");
		say(sizes[i], "call_vs_empty_x",
		    cost_ratio(&t, VARIANT(TABLES, i), BARE, EMPTY, BARE), "x");
	}
}

int main(void)
{
	struct probe_unwinds *unwinds;
	struct probe_unwinds_sum sum;
	struct cost_child child;
	struct cost_bpf *common;
	struct err e = { 0 };

	cost_start_of("unwind");
	find_site();
	common = open_pairs();
	plain = session(WALKER_NONE, 0);
	pointers = session(WALKER_LOOP, 0);
	tables = session(WALKER_LOOP, MEMORY);
	if (probe_unwinds_new(&unwinds, tables, MEMORY, &e))
		cost_die("tables", &e);
	if (!unwinds)
		cost_skip("stacks are walked by frame pointers on this machine");
	cost_child_start(&child, work);
	if (probe_session_target(plain, (uint32_t)child.pid, 0, &e) ||
	    probe_session_target(pointers, (uint32_t)child.pid, 0, &e) ||
	    probe_session_target(tables, (uint32_t)child.pid, 0, &e))
		cost_die("target", &e);
	cost_child_do(&child, 0, 1, 100, -1, NULL, NULL); /* it is there now */
	probe_unwinds_look(unwinds, (uint32_t)child.pid, true);
	cost_pin(1);
	measure(&child);
	sum = probe_unwinds_totals(unwinds);
	if (sum.walks)
		bench_say("unwind.searched_per_call", (double)sum.searched / (double)sum.walks,
			  "rules");
	cost_child_end(&child);
	probe_unwinds_free(unwinds);
	probe_session_free(plain);
	probe_session_free(pointers);
	probe_session_free(tables);
	cost_bpf__destroy(common);
	free(table);
	return 0;
}
