/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a traced call costs the traced thread: entry and return of one function of the runtime
 * (NVIDIA's own library where there is one, else the double's) and of the driver (the double's,
 * with NVIDIA's first instructions), against programs that do nothing and against the usual way to
 * do it. Then, what is lost near the highest rate of one core, and how long putting on and taking
 * off all probes of three libraries takes.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <glob.h>

#include "lib/attach/plan.h"
#include "lib/attach/session.h"
#include "tests/bench/cost.bpf.skel.h"
#include "tests/bench/cost.h"

#define ROUNDS 15
#define CALLS  40000

static int (*runtime)(void *, const void *, size_t, int, void *);
static int (*driver)(uint64_t, uint64_t, size_t, void *);

struct function {
	char path[4096]; /* PATH_MAX */
	struct plan_site site;
	struct probe_plan plan;
};
static struct function in_runtime, in_driver;

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* ---- the work ---- */

enum { CALL_RUNTIME, CALL_DRIVER, CALL_RATE };

static uint64_t call(const struct cost_order *o)
{
	uint64_t from = cost_now();

	if (o->what == CALL_DRIVER)
		for (uint64_t i = 0; i < o->n; i++)
			driver(4096, 8192, 0, NULL);
	else
		for (uint64_t i = 0; i < o->n; i++)
			runtime(NULL, NULL, 0, 1, NULL);
	return cost_now() - from;
}

/* 800,000 a second, as far as it can. */
static uint64_t call_at_rate(const struct cost_order *o)
{
	uint64_t from = cost_now();

	for (uint64_t i = 0; i < o->n; i++) {
		if (i % 64 == 0)
			while ((cost_now() - from) * 8 < i * 10000)
				;
		runtime(NULL, NULL, 0, 1, NULL);
	}
	return cost_now() - from;
}

__attribute__((noinline,
	       optimize("no-omit-frame-pointer", "no-optimize-sibling-calls"))) static uint64_t
deep(const struct cost_order *o, uint32_t depth)
{
	volatile char room[32];
	uint64_t ns;

	room[0] = (char)depth;
	ns = depth > 1 ? deep(o, depth - 1) : o->what == CALL_RATE ? call_at_rate(o) : call(o);
	room[1] = room[0];
	return ns;
}

static uint64_t work(const struct cost_order *o)
{
	return deep(o, o->depth ? o->depth : 1);
}

/* ---- where ---- */

static void find(struct function *f, void *address, const char *name, enum probe_library library)
{
	struct err e = { 0 };
	Dl_info info;

	if (!address || !dladdr(address, &info) || !realpath(info.dli_fname, f->path))
		cost_skip("no %s to call (make double)", name);
	if (probe_plan_file(&f->plan, f->path, library, false, &e))
		cost_die(f->path, &e);
	for (size_t i = 0; i < f->plan.n; i++)
		if (strcmp(f->plan.v[i].name, name) == 0)
			f->site = f->plan.v[i];
	if (!f->site.site.offset)
		cost_skip("%s of %s is not in the plan", name, f->path);
}

static void *load(const char *path)
{
	char in_build[600];
	void *lib;

	snprintf(in_build, sizeof(in_build), "%s/double/%s",
		 getenv("BUILD") ? getenv("BUILD") : "build", path);
	lib = dlopen(path[0] == '/' ? path : in_build, RTLD_NOW | RTLD_GLOBAL);
	if (!lib)
		cost_skip("%s", dlerror());
	return lib;
}

static void libraries(void)
{
	void *cuda = load("libcuda.so.1");
	glob_t real;

	if (glob("/usr/local/cuda*/lib*/libcudart.so.*", 0, NULL, &real) == 0 &&
	    !getenv("COST_DOUBLE")) {
		printf("# runtime: %s\n", real.gl_pathv[0]);
		*(void **)&runtime = dlsym(load(real.gl_pathv[0]), "cudaMemcpyAsync");
	} else {
		printf("# runtime: the double\n");
		*(void **)&runtime = dlsym(load("libcudart.so.13"), "cudaMemcpyAsync");
	}
	*(void **)&driver = dlsym(cuda, "cuMemcpyAsync");
	find(&in_runtime, *(void **)&runtime, "cudaMemcpyAsync", PROBE_CUDART);
	find(&in_driver, *(void **)&driver, "cuMemcpyAsync", PROBE_LIBCUDA);
}

/* ---- variants ---- */

static struct cost_bpf *common;
static struct probe_session *no_stack, *with_stack;
static struct probe_programs empty_programs, common_programs;

static struct op_spec *specs(size_t *n)
{
	const struct probe_spec *from = probe_specs(n);
	struct op_spec *to = calloc(*n, sizeof(*to));

	for (size_t i = 0; to && i < *n; i++)
		to[i] = from[i].op;
	return to;
}

static struct probe_session *session(enum probe_link link, int walker)
{
	struct probe_options opt = { .link = link, .walker = walker };
	struct probe_session *s;
	struct err e = { 0 };

	opt.specs = specs(&opt.nspecs);
	if (!opt.specs || probe_session_open(&s, &opt, &e)) {
		printf("# %s links: %s\n", probe_link_name(link), e.text);
		return NULL;
	}
	return s;
}

static void open_common(void)
{
	struct bpf_program *p;

	libbpf_set_print(quiet);
	common = cost_bpf__open();
	if (!common)
		cost_skip("cannot open the programs to compare with");
	bpf_object__for_each_program(p, common->obj)
	{
		bool uprobe = strcmp(bpf_program__section_name(p), "uprobe") == 0;

		bpf_program__set_autoload(p, uprobe);
		if (uprobe)
			bpf_program__set_expected_attach_type(
				p, (enum bpf_attach_type)PROBE_ATTACH_SESSION);
	}
	if (cost_bpf__load(common))
		cost_skip("this kernel takes no session programs to compare with: %s",
			  strerror(errno));
	empty_programs = (struct probe_programs){ PROBE_LINK_SESSION,
						  bpf_program__fd(common->progs.empty_call), -1 };
	common_programs = (struct probe_programs){ PROBE_LINK_SESSION,
						   bpf_program__fd(common->progs.common_call), -1 };
}

enum {
	BARE,
	EMPTY,
	COMMON,
	OURS,
	STACK24,
	STACK44,
	DRIVER_BARE,
	DRIVER_AHEAD,
	DRIVER_START,
	NVARIANTS
};

struct variant {
	const struct probe_programs *programs; /* NULL: bare */
	struct probe_session *session;
	const struct function *at;
	uint32_t what, depth;
	bool start; /* at the symbol itself, not where the plan says */
};

static struct probe_ring common_ring;
static uint64_t records[WIRE_NAME + 1];

static void count(void *ctx, const void *p, size_t n)
{
	uint8_t kind = *(const uint8_t *)p;

	(void)ctx;
	(void)n;
	records[kind <= WIRE_NAME ? kind : 0]++;
}

static void drain_session(void *s)
{
	probe_session_drain(s, count, count, NULL);
}

static void drain_common(void *ctx)
{
	(void)ctx;
	probe_ring_drain(&common_ring, count, NULL);
}

static double run(struct cost_child *child, const struct variant *v)
{
	struct probe_fds fds = { 0 };
	struct probe_site site = { 0 };
	struct err e = { 0 };
	bool failed = false;
	double ns;
	bool wakes = v->programs == &common_programs;
	void (*drain)(void *) = v->session ? drain_session : wakes ? drain_common : NULL;

	if (v->programs) {
		site = v->at->site.site;
		if (v->start)
			site.offset = v->at->site.symbol;
		if (probe_link_attach(v->programs, v->at->path, v->at->path, &site, 1, &failed,
				      &fds, &e) != 1)
			cost_die("attach", &e);
	}
	cost_child_do(child, v->what, v->depth, 2000, -1, drain, v->session);
	ns = cost_child_do(child, v->what, v->depth, CALLS, wakes ? common_ring.fd : -1, drain,
			   v->session);
	probe_link_detach(&fds);
	return ns;
}

static void calls(struct cost_child *child)
{
	const struct probe_programs *ours = probe_session_programs(no_stack);
	const struct probe_programs *stack = with_stack ? probe_session_programs(with_stack) : NULL;
	const struct variant variants[NVARIANTS] = {
		[BARE] = { .at = &in_runtime },
		[EMPTY] = { &empty_programs, NULL, &in_runtime, CALL_RUNTIME, 1, false },
		[COMMON] = { &common_programs, NULL, &in_runtime, CALL_RUNTIME, 1, false },
		[OURS] = { ours, no_stack, &in_runtime, CALL_RUNTIME, 1, false },
		[STACK24] = { stack, with_stack, &in_runtime, CALL_RUNTIME, 20, false },
		[STACK44] = { stack, with_stack, &in_runtime, CALL_RUNTIME, 40, false },
		[DRIVER_BARE] = { .at = &in_driver, .what = CALL_DRIVER },
		[DRIVER_AHEAD] = { ours, no_stack, &in_driver, CALL_DRIVER, 1, false },
		[DRIVER_START] = { ours, no_stack, &in_driver, CALL_DRIVER, 1, true },
	};
	static struct cost_table t = { .rounds = ROUNDS };

	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned i = 0; i < NVARIANTS; i++) {
			unsigned v = round % 2 ? NVARIANTS - 1 - i : i;

			t.ns[v][round] = run(child, &variants[v]);
		}
	bench_say("cost.empty_pair_ns", cost_added(&t, EMPTY, BARE), "ns");
	bench_say("cost.common_pair_ns", cost_added(&t, COMMON, BARE), "ns");
	bench_say("cost.runtime_call_ns", cost_added(&t, OURS, BARE), "ns");
	bench_say("cost.runtime_call_x", cost_ratio(&t, OURS, BARE, EMPTY, BARE), "x");
	bench_say("cost.runtime_call_vs_common_x", cost_ratio(&t, OURS, BARE, COMMON, BARE), "x");
	bench_say("cost.stack24_x", cost_ratio(&t, STACK24, BARE, EMPTY, BARE), "x");
	bench_say("cost.stack44_x", cost_ratio(&t, STACK44, BARE, EMPTY, BARE), "x");
	bench_say("cost.driver_call_ns", cost_added(&t, DRIVER_AHEAD, DRIVER_BARE), "ns");
	bench_say("cost.driver_call_x", cost_ratio(&t, DRIVER_AHEAD, DRIVER_BARE, OURS, BARE), "x");
	bench_say("cost.driver_at_start_x",
		  cost_ratio(&t, DRIVER_START, DRIVER_BARE, DRIVER_AHEAD, DRIVER_BARE), "x");
}

static uint64_t lost(struct probe_session *s)
{
	struct loss_slot sum;
	uint64_t n = 0;

	probe_session_losses(s, &sum);
	for (unsigned i = 1; i < LOSS_SOURCES; i++)
		for (unsigned k = 0; k < LOSS_REASONS; k++)
			n += sum.n[i][k];
	return n;
}

static void losses(struct cost_child *child)
{
	uint64_t n = 800000, before = lost(no_stack), gone;
	struct probe_fds fds = { 0 };
	struct err e = { 0 };
	bool failed;
	double ns;

	if (probe_link_attach(probe_session_programs(no_stack), in_runtime.path, in_runtime.path,
			      &in_runtime.site.site, 1, &failed, &fds, &e) != 1)
		cost_die("attach", &e);
	memset(records, 0, sizeof(records));
	ns = cost_child_do(child, CALL_RATE, 1, n, -1, drain_session, no_stack);
	drain_session(no_stack);
	probe_link_detach(&fds);
	gone = lost(no_stack) - before;
	bench_say("cost.rate_mcps", 1e3 / ns, "M/s");
	bench_say("cost.lost_events", (double)gone, "events");
	bench_say("cost.unaccounted_events",
		  (double)n - (double)gone - (double)records[WIRE_CALL] -
			  (double)records[WIRE_CALL_LONG],
		  "events");
}

/* All probes of three libraries; perf links only four of each, at a tenth of a second to take off
 * one. */
static void attach(enum probe_link link)
{
	const struct function *at[3] = { &in_runtime, &in_driver, NULL };
	struct function other;
	struct probe_session *s = session(link, WALKER_NONE);
	double on[5], off[5];
	size_t sites = 0, most = link == PROBE_LINK_PERF ? 4 : SIZE_MAX;
	unsigned rounds = link == PROBE_LINK_PERF ? 1 : 5;
	char name[64];

	if (!s)
		return;
	memset(&other, 0, sizeof(other));
	find(&other, dlsym(load("libcudart.so.12"), "cudaMemcpyAsync"), "cudaMemcpyAsync",
	     PROBE_CUDART);
	at[2] = &other;
	for (unsigned round = 0; round < rounds; round++) {
		struct probe_fds fds = { 0 };
		uint64_t t0 = cost_now(), t1;

		sites = 0;
		for (unsigned i = 0; i < 3; i++) {
			size_t n = at[i]->plan.n < most ? at[i]->plan.n : most;
			struct probe_site *site = calloc(n, sizeof(*site));
			bool *failed = calloc(n, sizeof(*failed));
			struct err e = { 0 };

			if (!site || !failed)
				cost_die("memory", NULL);
			for (size_t k = 0; k < n; k++)
				site[k] = at[i]->plan.v[k].site;
			if (probe_link_attach(probe_session_programs(s), at[i]->path, at[i]->path,
					      site, n, failed, &fds, &e) != n)
				cost_die("attach", &e);
			sites += n;
			free(site);
			free(failed);
		}
		t1 = cost_now();
		on[round] = (double)(t1 - t0) / 1e9;
		probe_link_detach(&fds);
		off[round] = (double)(cost_now() - t1) / 1e9;
	}
	snprintf(name, sizeof(name), "cost.%s_sites", probe_link_name(link));
	bench_say(name, (double)sites, "sites");
	snprintf(name, sizeof(name), "cost.attach_%s_s", probe_link_name(link));
	bench_say(name, cost_median(on, rounds), "s");
	snprintf(name, sizeof(name), "cost.detach_%s_s", probe_link_name(link));
	bench_say(name, cost_median(off, rounds), "s");
	probe_session_free(s);
	probe_plan_free(&other.plan);
}

int main(void)
{
	struct cost_child child;
	struct err e = { 0 };

	cost_start();
	libraries();
	open_common();
	no_stack = session(PROBE_LINK_SESSION, WALKER_NONE);
	with_stack = session(PROBE_LINK_SESSION, WALKER_LOOP);
	if (!no_stack || !with_stack)
		cost_skip("this kernel takes no session links");
	if (probe_ring_open(&common_ring, bpf_map__fd(common->maps.common_ring), 16 << 20, &e))
		cost_die("ring", &e);
	cost_child_start(&child, work);
	if (probe_session_target(no_stack, (uint32_t)child.pid, 0, &e) ||
	    probe_session_target(with_stack, (uint32_t)child.pid, 0, &e))
		cost_die("target", &e);
	cost_pin(1);
	calls(&child);
	losses(&child);
	cost_child_end(&child);
	for (enum probe_link link = PROBE_LINK_SESSION; link <= PROBE_LINK_PERF; link++)
		attach(link);
	probe_session_free(no_stack);
	probe_session_free(with_stack);
	probe_ring_close(&common_ring);
	cost_bpf__destroy(common);
	probe_plan_free(&in_runtime.plan);
	probe_plan_free(&in_driver.plan);
	return 0;
}
