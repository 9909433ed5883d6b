/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call out of Python costs the traced thread when its stack is taken, with and without its
 * Python frames, against a pair of programs that do nothing. The frames are all known already: what
 * a program does most of the time. Each python3 that $PYTHONS names, else the one on the path.
 */
#include <limits.h>

#include "lib/host/maps.h"
#include "lib/attach/plan.h"
#include "lib/attach/pythons.h"
#include "lib/attach/session.h"
#include "lib/world/world.h"
#include "tests/bench/cost.bpf.skel.h"
#include "tests/bench/cost.h"

#define ROUNDS 15
#define CALLS  20000
#define NAME   "cudaMemcpyAsync"

enum { BARE, EMPTY, NATIVE, PYTHON10, PYTHON40, NVARIANTS };

static char library[PATH_MAX];
static struct plan_site site;
static struct probe_session *native, *with_python;
static struct op_spec *table;
static struct probe_pythons *pythons; /* of the interpreter that is measured, as long as it is */
static struct probe_stacks *stacks;
static struct world *world;

static void find_site(void)
{
	struct probe_plan plan;
	struct err e = { 0 };
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/double/libcudart.so.13",
		 getenv("BUILD") ? getenv("BUILD") : "build");
	if (!realpath(path, library))
		cost_skip("no %s to call (make double)", path);
	if (probe_plan_file(&plan, library, PROBE_CUDART, false, &e))
		cost_die(library, &e);
	for (size_t i = 0; i < plan.n; i++)
		if (strcmp(plan.v[i].name, NAME) == 0)
			site = plan.v[i];
	probe_plan_free(&plan);
	if (!site.site.offset)
		cost_skip("no %s in %s", NAME, library);
}

static struct probe_session *session(void)
{
	struct probe_options opt = { .link = PROBE_LINK_SESSION, .walker = WALKER_LOOP };
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

static void python_start(struct cost_child *c, const char *python)
{
	int orders[2], done[2];

	fflush(stdout);
	if (pipe(orders) || pipe(done) || (c->pid = fork()) < 0)
		cost_die("child", NULL);
	if (c->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(orders[0], 0);
		dup2(done[1], 1);
		close(orders[1]);
		close(done[0]);
		cost_pin(0);
		execlp(python, python, "tests/bench/cost_python.py", library, NAME, (char *)NULL);
		_exit(127);
	}
	close(orders[0]);
	close(done[1]);
	c->orders = orders[1];
	c->done = done[0];
}

static bool look(void *found, const struct host_mapping *m)
{
	probe_pythons_mapping(found, m, false);
	return true;
}

/* False: no Python whose frames are known. */
static bool find_python(uint32_t pid, char *version, size_t size)
{
	struct probe_python_file *const *files;
	struct err e = { 0 };
	bool found;
	size_t n;

	world = world_new();
	if (!world || probe_stacks_new(&stacks, world, &e) ||
	    probe_pythons_new(&pythons, with_python, stacks, &e))
		cost_die("python", &e);
	probe_pythons_begin(pythons, pid);
	if (host_maps_read(pid, look, pythons, &e))
		cost_die("python", &e);
	found = probe_pythons_end(pythons);
	files = probe_pythons_files(pythons, &n);
	for (size_t i = 0; i < n; i++)
		if (files[i]->python.kind == SYM_PYTHON_KNOWN)
			snprintf(version, size, "3%u", files[i]->python.layout.minor);
	return found;
}

static void pass(void *ctx, const void *p, size_t n)
{
	(void)ctx;
	(void)p;
	(void)n;
}

static void drain(void *s)
{
	probe_session_drain(s, pass, pass, NULL);
}

static double run(struct cost_child *child, unsigned variant, const struct probe_programs *empty)
{
	struct probe_session *s = variant == NATIVE  ? native
				  : variant > NATIVE ? with_python
						     : NULL;
	const struct probe_programs *programs = variant == BARE	   ? NULL
						: variant == EMPTY ? empty
								   : probe_session_programs(s);
	uint32_t depth = variant == PYTHON40 ? 40 : 10;
	struct probe_fds fds = { 0 };
	struct err e = { 0 };
	bool failed = false;
	double ns;

	if (programs &&
	    probe_link_attach(programs, library, library, &site.site, 1, &failed, &fds, &e) != 1)
		cost_die("attach", &e);
	cost_child_do(child, 0, depth, 1000, -1, s ? drain : NULL, s);
	ns = cost_child_do(child, 0, depth, CALLS, -1, s ? drain : NULL, s);
	probe_link_detach(&fds);
	return ns;
}

static void say(const char *what, const char *version, double value, const char *unit)
{
	char name[64];

	snprintf(name, sizeof(name), "cost.python%s_%s", version, what);
	bench_say(name, value, unit);
}

static void python(const char *path, const struct probe_programs *empty)
{
	static struct cost_table t = { .rounds = ROUNDS };
	struct cost_child child;
	char version[16] = "";
	struct err e = { 0 };

	native = session();
	with_python = session();
	python_start(&child, path);
	cost_child_do(&child, 0, 10, 100, -1, NULL, NULL); /* it is there now */
	if (probe_session_target(native, (uint32_t)child.pid, 0, &e) ||
	    probe_session_target(with_python, (uint32_t)child.pid, 0, &e))
		cost_die("target", &e);
	if (find_python((uint32_t)child.pid, version, sizeof(version))) {
		for (unsigned round = 0; round < ROUNDS; round++)
			for (unsigned i = 0; i < NVARIANTS; i++) {
				unsigned v = round % 2 ? NVARIANTS - 1 - i : i;

				t.ns[v][round] = run(&child, v, empty);
			}
		say("empty_pair_ns", version, cost_added(&t, EMPTY, BARE), "ns");
		say("native_x", version, cost_ratio(&t, NATIVE, BARE, EMPTY, BARE), "x");
		say("10_ns", version, cost_added(&t, PYTHON10, BARE), "ns");
		say("10_x", version, cost_ratio(&t, PYTHON10, BARE, EMPTY, BARE), "x");
		say("40_x", version, cost_ratio(&t, PYTHON40, BARE, EMPTY, BARE), "x");
	} else {
		printf("bench: SKIP cost.python*: %s is no Python whose frames are known\n", path);
	}
	cost_child_end(&child);
	probe_pythons_free(pythons);
	probe_stacks_free(stacks);
	world_free(world);
	probe_session_free(native);
	probe_session_free(with_python);
}

int main(void)
{
	char *which = strdup(getenv("PYTHONS") ? getenv("PYTHONS") : "python3"), *save = NULL;
	struct probe_programs empty = { .link = PROBE_LINK_SESSION, .exit = -1 };
	struct bpf_program *p;
	struct cost_bpf *common;

	cost_start();
	find_site();
	common = cost_bpf__open();
	if (!common)
		cost_skip("cannot open the programs to compare with");
	bpf_object__for_each_program(p, common->obj)
		bpf_program__set_autoload(p, p == common->progs.empty_call);
	bpf_program__set_expected_attach_type(common->progs.empty_call,
					      (enum bpf_attach_type)PROBE_ATTACH_SESSION);
	if (cost_bpf__load(common))
		cost_skip("this kernel takes no session programs to compare with: %s",
			  strerror(errno));
	empty.entry = bpf_program__fd(common->progs.empty_call);
	cost_pin(1);
	for (char *path = which ? strtok_r(which, " ", &save) : NULL; path;
	     path = strtok_r(NULL, " ", &save))
		python(path, &empty);
	cost_bpf__destroy(common);
	free(which);
	free(table);
	return 0;
}
