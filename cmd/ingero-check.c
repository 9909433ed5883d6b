/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero-check: whether this machine can record, and what to do where it cannot. Works without
 * rights and says what rights would add; loads probes for a moment where that is allowed, changes
 * nothing.
 */
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/hash.h"
#include "lib/base/fmt.h"
#include "lib/base/vec.h"
#include "lib/cli/exit.h"
#include "lib/cli/message.h"
#include "lib/cli/options.h"
#include "lib/cli/output.h"
#include "lib/cli/term.h"
#include "lib/report/check_json.h"
#include "lib/host/caps.h"
#include "lib/host/cuda.h"
#include "lib/host/maps.h"
#include "lib/host/node.h"
#include "lib/host/ready.h"
#include "lib/symbols/elf.h"
#include "lib/symbols/python.h"
#include "lib/attach/plan.h"
#include "lib/attach/probe_selftest.h"
#include "lib/filter/filter.h"

#define GPU_WAIT_MS	3000
#define KUBELET_WAIT_MS 2000
#define LIBRARIES_SHOWN 8
#define MISSING_SHOWN	4
#define PROCESSES_SHOWN 8
#define MAPPED_SHOWN	4

struct values {
	struct cli_list pids, folders;
	const char *btf;
	bool json, look_only;
};

#define AT(member) offsetof(struct values, member)
static const struct cli_option options[] = {
	{ "pid", 'p', CLI_LIST, AT(pids), "PID[,PID]",
	  "Look at the CUDA libraries of these processes only", "What is checked" },
	{ "library-path", 0, CLI_REPEAT, AT(folders), "DIR",
	  "Look for CUDA libraries there too; may be given again", "What is checked" },
	{ "btf", 0, CLI_STRING, AT(btf), "FILE",
	  "What describes the kernel, where it does not itself", "What is checked" },
	{ "look-only", 0, CLI_FLAG, AT(look_only), NULL, "Load no probe to see whether it works",
	  "What is checked" },
	{ "json", 0, CLI_FLAG, AT(json), NULL, "One JSON value (formats/check.schema.json)",
	  "Output" },
	{ 0 },
};

static const struct cli_program program = {
	.name = "ingero-check",
	.summary = "Can this machine record? What is missing, and what to do",
	.usage = "",
	.options = options,
	.footer = "Status 0: all that recording needs is there; 1: something is missing.",
};

struct state {
	struct host_node node;
	struct host_caps caps;
	struct check_report report;
	struct host_ready_gpus gpus;
	struct probe_selftest tried;
	struct {
		uint64_t *v;
		size_t n, cap;
	} looked_at; /* mapped files, for Python */
	bool nomem;
};

static void describe_host(struct state *s)
{
	s->report.hostname = s->node.hostname;
	s->report.kernel = s->node.kernel;
	s->report.arch = s->node.arch;
	s->report.hypervisor = s->node.hypervisor;
	s->report.cpus = s->node.cpus;
	s->report.memory_bytes = s->node.memory_bytes;
}

static void check_probes(struct state *s, const char *btf, bool look_only)
{
#ifdef INGERO_NO_BPF
	verdict_say(&s->report.lines, "probes", VERDICT_FAIL,
		    "install clang, bpftool and libbpf (make deps), then build again", "%s",
		    INGERO_NO_BPF);
	return;
#endif
	if (look_only) {
		verdict_say(&s->report.lines, "probes", VERDICT_WARN, NULL,
			    "not tried: --look-only loads none");
		return;
	}
	if (!host_caps_may_bpf(&s->caps)) {
		verdict_say(&s->report.lines, "probes", VERDICT_WARN, NULL,
			    "not tried: loading them takes root");
		return;
	}
	probe_selftest(&s->tried, &s->report.lines, btf);
	s->report.links_tried = true;
	memcpy(s->report.links, s->tried.links, sizeof(s->report.links));
	for (size_t i = 0; i < s->tried.nsources; i++) {
		const struct probe_selftest_source *t = &s->tried.sources[i];
		struct check_source source = { t->name, t->requested, t->attached, t->hooks,
					       t->reason };

		if (!vec_push(&s->report.sources, source))
			s->nomem = true;
	}
}

/* Which functions of the table the library has. */
static void plan_library(struct state *s, struct check_library *l, const char *open_as,
			 enum host_cuda kind)
{
	struct probe_plan plan;
	size_t n;
	const struct probe_spec *specs = probe_specs(&n);
	enum probe_library which = kind == HOST_CUDA_RUNTIME ? PROBE_CUDART
				   : kind == HOST_CUDA_NCCL  ? PROBE_NCCL
							     : PROBE_LIBCUDA;

	if (probe_plan_file(&plan, open_as, which, false, NULL))
		return;
	l->planned = true;
	l->places = (unsigned)plan.n;
	probe_plan_sites(&plan, l->sites, sizeof(l->sites));
	for (size_t i = 0; i < n; i++) {
		bool found = false;

		if (specs[i].library != which)
			continue;
		for (size_t k = 0; k < plan.n + plan.nforwarding && !found; k++)
			found = plan.v[k].site.cookie == i;
		l->requested++;
		l->found += found;
		if (!found && !vec_push(&l->missing, specs[i].name))
			s->nomem = true;
	}
	probe_plan_free(&plan);
}

/* ---- CUDA ---- */

static const char *kind_name(enum host_cuda kind)
{
	return kind == HOST_CUDA_RUNTIME ? "runtime"
	       : kind == HOST_CUDA_NCCL	 ? "nccl"
	       : kind == HOST_CUDA_NVML	 ? "nvml"
					 : "driver";
}

static void take_library(struct state *s, const struct host_cuda_file *f)
{
	struct check_library l = { .kind = kind_name(f->kind), .pid = f->pid };

	/* A stub for the linker, or cut off: not a library anybody can load. */
	if (sym_elf_build_id_of(f->open_as, l.build_id, NULL))
		return;
	l.path = strdup(f->path);
	plan_library(s, &l, f->open_as, f->kind);
	if (!l.path || !vec_push(&s->report.libraries, l)) {
		free(l.path);
		s->nomem = true;
	}
}

static void say_library(struct state *s, const struct check_library *l)
{
	size_t shown = cli_settings.verbose ? SIZE_MAX : MISSING_SHOWN;
	struct buf text = { 0 };

	buf_puts(&text, l->path);
	if (l->planned)
		buf_printf(&text, ": %u of %u functions at %u places%s%s", l->found, l->requested,
			   l->places, l->sites[0] ? ", " : "", l->sites);
	for (size_t i = 0; i < l->missing.n && i < shown && l->found; i++)
		buf_printf(&text, "%s%s", i ? ", " : "; not there: ", l->missing.v[i]);
	if (l->missing.n > shown && l->found)
		buf_printf(&text, " and %zu more", l->missing.n - shown);
	/* Old libraries lack the newest functions: no reason to warn. */
	verdict_say(&s->report.lines, l->kind,
		    l->planned && l->found == 0 ? VERDICT_WARN : VERDICT_GOOD,
		    l->planned && l->found == 0
			    ? "nothing of it would be recorded: is it a CUDA library?"
			    : NULL,
		    "%s", buf_text(&text));
	buf_free(&text);
}

/* ---- processes ---- */

/* Whose it is and what it has mapped; one that ends meanwhile is left out. */
static void take_process(struct state *s, uint32_t pid)
{
	struct host_cuda_process found;
	struct check_process p = { .pid = pid };
	const struct passwd *user;

	if (host_cuda_process_read(&found, pid, &(struct err){ 0 }))
		return;
	user = getpwuid(found.uid);
	p.uid = found.uid;
	p.name = strdup(found.name);
	p.user = user ? strdup(user->pw_name) : NULL;
	s->nomem |= !p.name || (user && !p.user);
	for (size_t i = 0; i < found.libraries.n; i++) {
		const struct host_cuda_file *f = &found.libraries.v[i];
		struct check_mapped m = { kind_name(f->kind), strdup(f->path) };

		if (!m.path || !vec_push(&p.libraries, m)) {
			free(m.path);
			s->nomem = true;
		}
	}
	host_cuda_process_free(&found);
	if (!vec_push(&s->report.processes, p)) {
		check_process_free(&p);
		s->nomem = true;
	}
}

/* "4821 python3, user bob: libcudart.so.13, libcuda.so.1" */
static void say_process(struct state *s, const struct check_process *p)
{
	struct buf text = { 0 };

	buf_printf(&text, "%" PRIu32 " %s, ", p->pid, p->name ? p->name : "?");
	if (p->user)
		buf_printf(&text, "user %s", p->user);
	else
		buf_printf(&text, "user id %" PRIu32, p->uid);
	for (size_t i = 0; i < p->libraries.n && i < MAPPED_SHOWN; i++) {
		const char *path = p->libraries.v[i].path,
			   *slash = path ? strrchr(path, '/') : NULL;

		buf_printf(&text, "%s%s", i ? ", " : ": ", slash ? slash + 1 : path);
	}
	if (p->libraries.n > MAPPED_SHOWN)
		buf_printf(&text, " and %zu more", p->libraries.n - MAPPED_SHOWN);
	verdict_say(&s->report.lines, "process", VERDICT_GOOD, NULL, "%s", buf_text(&text));
	buf_free(&text);
}

static void say_processes(struct state *s, bool asked, size_t unseen)
{
	const size_t n = s->report.processes.n;

	if (n && !asked)
		verdict_say(&s->report.lines, "processes", VERDICT_GOOD, NULL,
			    "%zu with CUDA now%s", n,
			    unseen ? "; there are others that we may not look into" : "");
	for (size_t i = 0; i < n && i < PROCESSES_SHOWN; i++)
		say_process(s, &s->report.processes.v[i]);
	if (n > PROCESSES_SHOWN)
		verdict_say(&s->report.lines, "process", VERDICT_GOOD, NULL,
			    "and %zu more (--json lists all)", n - PROCESSES_SHOWN);
}

/* ---- Python ---- */

/* False: the file is no Python runtime. */
static bool take_python(struct state *s, const char *open_as, const char *path, uint32_t pid)
{
	struct check_python p = { .pid = pid };
	struct sym_python found;
	struct sym_elf *f;

	if (sym_elf_open(&f, open_as, &(struct err){ 0 }))
		return false;
	sym_python_read(&found, f, path);
	sym_elf_free(f);
	if (found.kind == SYM_PYTHON_NONE)
		return false;
	p.path = strdup(path);
	memcpy(p.version, found.version, sizeof(p.version));
	memcpy(p.why, found.why, sizeof(p.why));
	if (!p.path || !vec_push(&s->report.pythons, p)) {
		free(p.path);
		s->nomem = true;
	}
	return true;
}

struct python_search {
	struct state *s;
	uint32_t pid;
};

static bool python_mapped(void *ctx, const struct host_mapping *m)
{
	/* Numbers of inodes are those of a file system: another one has the same. */
	const uint64_t id[2] = { m->inode, (uint64_t)m->major << 32 | m->minor };
	const struct python_search *search = ctx;
	struct state *s = search->s;
	uint64_t file = hash_bytes(id, sizeof(id), 1);
	char path[4400];

	if (!m->executable || m->inode == 0)
		return true;
	for (size_t i = 0; i < s->looked_at.n; i++)
		if (s->looked_at.v[i] == file)
			return true;
	if (!vec_push(&s->looked_at, file))
		s->nomem = true;
	take_python(s, host_maps_path(search->pid, m, path, sizeof(path)), m->path.p, search->pid);
	return true;
}

static void python_in_process(struct state *s, uint32_t pid)
{
	struct python_search search = { s, pid };

	host_maps_read(pid, python_mapped, &search, &(struct err){ 0 });
}

/* What python3 starts: an executable with the runtime in it, or beside its libpython. */
static void python_on_disk(struct state *s)
{
	const char *list = getenv("PATH");
	char *folders = strdup(list ? list : ""), *save = NULL, real[PATH_MAX];
	char path[PATH_MAX + 40];

	for (char *f = folders ? strtok_r(folders, ":", &save) : NULL; f;
	     f = strtok_r(NULL, ":", &save)) {
		glob_t found = { 0 };
		char *slash;

		snprintf(path, sizeof(path), "%s/python3", f);
		if (access(path, X_OK) || !realpath(path, real))
			continue;
		if (take_python(s, real, real, 0))
			break;
		slash = strrchr(real, '/');
		*slash = 0;
		snprintf(path, sizeof(path), "%s/../lib/libpython3*.so.*", real);
		if (glob(path, 0, NULL, &found) == 0 && realpath(found.gl_pathv[0], real))
			take_python(s, real, real, 0);
		globfree(&found);
		if (s->report.pythons.n)
			break;
	}
	free(folders);
}

static void check_pythons(struct state *s)
{
	for (size_t i = 0; i < s->report.pythons.n && i < LIBRARIES_SHOWN; i++) {
		const struct check_python *p = &s->report.pythons.v[i];

		verdict_say(&s->report.lines, "python", p->why[0] ? VERDICT_WARN : VERDICT_GOOD,
			    p->why[0] ? "its calls are recorded all the same, with native stacks"
				      : NULL,
			    "%s: %s, %s", p->path, p->version,
			    p->why[0] ? p->why : "its frames will be in stacks");
	}
}

static int find_libraries(struct state *s, const struct values *v, struct err *e)
{
	struct host_cuda_files files = { 0 };
	struct host_pids pids = { 0 };
	struct filter asked = { 0 };
	size_t unseen = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < v->pids.n; i++)
		rc = filter_pid(&asked, v->pids.v[i], e);
	for (size_t i = 0; rc == 0 && i < asked.pids.n; i++) {
		uint32_t pid = asked.pids.v[i];

		if (kill((pid_t)pid, 0) && errno == ESRCH)
			rc = err_set(e, ERR_CANNOT, "no process %" PRIu32, pid);
		else
			rc = host_cuda_in_process(&files, pid, e);
		if (rc == 0) {
			take_process(s, pid);
			python_in_process(s, pid);
		}
	}
	filter_free(&asked);
	if (rc == 0 && v->pids.n == 0)
		rc = host_cuda_processes(&pids, HOST_ANYONE, &unseen, e);
	for (size_t i = 0; rc == 0 && i < pids.n; i++) {
		rc = host_cuda_in_process(&files, pids.v[i], e);
		take_process(s, pids.v[i]);
		python_in_process(s, pids.v[i]);
		if (rc != ERR_NOMEM)
			rc = 0; /* it ended meanwhile */
	}
	if (rc == 0 && v->pids.n == 0 && s->report.pythons.n == 0)
		python_on_disk(s);
	for (size_t i = 0; rc == 0 && i < v->folders.n; i++)
		rc = host_cuda_in(&files, v->folders.v[i], e);
	if (rc == 0 && v->pids.n == 0)
		rc = host_cuda_on_disk(&files, e);
	for (size_t i = 0; rc == 0 && i < files.n; i++) {
		if (files.v[i].kind != HOST_CUDA_NVML)
			take_library(s, &files.v[i]);
	}
	if (rc == 0)
		say_processes(s, v->pids.n > 0, unseen);
	host_pids_free(&pids);
	host_cuda_files_free(&files);
	return rc;
}

static void check_cuda(struct state *s, const struct values *v)
{
	bool runtime = false, driver = false;

	for (size_t i = 0; i < s->report.libraries.n; i++) {
		runtime |= strcmp(s->report.libraries.v[i].kind, "runtime") == 0;
		driver |= strcmp(s->report.libraries.v[i].kind, "driver") == 0;
		if (i < LIBRARIES_SHOWN)
			say_library(s, &s->report.libraries.v[i]);
	}
	if (s->report.libraries.n > LIBRARIES_SHOWN)
		verdict_say(&s->report.lines, "runtime", VERDICT_GOOD, NULL,
			    "and %zu more libraries (--json lists all)",
			    s->report.libraries.n - LIBRARIES_SHOWN);
	if (v->pids.n && !runtime && !driver)
		verdict_say(&s->report.lines, "cuda", VERDICT_WARN,
			    "it may load one later: ingero-record -p waits for that",
			    "no CUDA library in %s",
			    v->pids.n == 1 ? "this process" : "these processes");
	else if (!v->pids.n && !driver)
		verdict_say(&s->report.lines, "driver", VERDICT_WARN,
			    "libcuda.so.1 comes with NVIDIA's driver; programs in containers bring "
			    "their "
			    "own",
			    "no libcuda found on this machine");
}

static void check_gpu(struct state *s)
{
	static const char *const modules[] = { NULL, "open", "proprietary" };
	struct check_report *r = &s->report;

	host_ready_gpus(&r->lines, &s->gpus, GPU_WAIT_MS);
	r->gpu_driver = s->gpus.driver;
	r->gpu_module = modules[s->gpus.module];
	r->gpus = s->gpus.count;
	r->ngpu_named = s->gpus.named;
	for (unsigned i = 0; i < s->gpus.named; i++) {
		const struct host_ready_gpu *g = &s->gpus.v[i];

		r->gpu[i] = (struct check_gpu){ g->name, g->uuid, g->memory_known, g->memory_used,
						g->memory_total };
	}
}

/* What the kernel took decides about the kernel, so that is tried first. */
static void check_host(struct state *s, const char *btf, bool look_only)
{
	static const char *const lockdown[] = { NULL, "none", "integrity", "confidentiality" };
	struct verdicts first = { 0 }, *lines = &s->report.lines;

	check_probes(s, btf, look_only);
	first = *lines;
	*lines = (struct verdicts){ 0 };
	host_ready_kernel(lines, &s->caps, s->node.kernel, btf, s->report.links[0] != NULL);
	host_ready_rights(lines, &s->caps);
	for (size_t i = 0; i < first.n; i++)
		if (!vec_push(lines, first.v[i]))
			lines->nomem = true;
	lines->nomem |= first.nomem;
	vec_free(&first);
	host_ready_samples(lines, &s->caps);
	s->report.lockdown = lockdown[s->caps.lockdown];
}

int main(int argc, char **argv)
{
	struct values v = { 0 };
	struct cli_operands operands;
	struct state s = { 0 };
	struct buf out = { 0 };
	struct err e = { 0 };
	int rc, status;

	cli_start();
	status = cli_parse(&program, &v, argc, argv, &operands);
	if (status != CLI_GO)
		return status;
	if (operands.n)
		return cli_usage_error(&program,
				       "'%s' is too much: ingero-check takes options only",
				       operands.v[0]);
	host_node_read(&s.node);
	host_caps_read(&s.caps);
	describe_host(&s);
	check_host(&s, v.btf, v.look_only);
	rc = find_libraries(&s, &v, &e);
	if (rc == 0) {
		check_cuda(&s, &v);
		check_gpu(&s);
		host_ready_pods(&s.report.lines, KUBELET_WAIT_MS);
		check_pythons(&s);
	}
	if (rc == 0 && (s.nomem || s.report.lines.nomem))
		rc = err_nomem(&e);
	if (rc == 0) {
		if (v.json)
			check_json(&s.report, &out);
		else
			check_text(&s.report, &out, cli_settings.quiet, cli_color(STDOUT_FILENO));
		rc = cli_print(&out, &e);
	}
	status = rc ? cli_fail(&e) : verdicts_passed(&s.report.lines) ? CLI_EXIT_DONE : CLI_EXIT_NO;
	buf_free(&out);
	check_report_free(&s.report);
	vec_free(&s.looked_at);
	cli_list_free(&v.pids);
	cli_list_free(&v.folders);
	return cli_finish_stdout(status);
}
