/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero-check: whether this machine can record, and what to do where it cannot. Works without rights and says
 * what rights would add; loads probes for a moment where that is allowed, changes nothing.
 */
#include <linux/capability.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/human.h"
#include "lib/base/vec.h"
#include "lib/cli/exit.h"
#include "lib/cli/message.h"
#include "lib/cli/options.h"
#include "lib/cli/output.h"
#include "lib/cli/term.h"
#include "lib/emit/check_json.h"
#include "lib/host/caps.h"
#include "lib/host/cuda.h"
#include "lib/host/maps.h"
#include "lib/host/node.h"
#include "lib/sym/elf.h"
#include "lib/sym/python.h"
#ifdef INGERO_HAVE_BPF
#include "lib/probe/plan.h"
#include "lib/probe/session.h"
#endif

#define OLDEST_MAJOR	5
#define OLDEST_MINOR	15
#define LIBRARIES_SHOWN 8
#define MISSING_SHOWN	4

struct values {
	struct cli_list pids, folders;
	bool json;
};

#define AT(member) offsetof(struct values, member)
static const struct cli_option options[] = {
	{ "pid", 'p', CLI_LIST, AT(pids), "PID[,PID]",
	  "Look at the CUDA libraries of these processes only", "What is checked" },
	{ "library-path", 0, CLI_REPEAT, AT(folders), "DIR",
	  "Look for CUDA libraries there too; may be given again", "What is checked" },
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
	bool nvml; /* its library was found */
	struct {
		uint64_t *v;
		size_t n, cap;
	} looked_at; /* inodes of mapped files, for Python */
	bool nomem;
};

__attribute__((format(printf, 5, 6))) static void say(struct state *s, const char *id,
						      enum check_verdict verdict,
						      const char *advice, const char *fmt, ...)
{
	struct check_line l = { .id = id, .verdict = verdict };
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&l.text, fmt, ap) < 0)
		l.text = NULL;
	va_end(ap);
	l.advice = advice ? strdup(advice) : NULL;
	if (!l.text || (advice && !l.advice) || !vec_push(&s->report.lines, l)) {
		s->nomem = true;
		free(l.text);
		free(l.advice);
	}
}

static void describe_host(struct state *s)
{
	s->report.hostname = s->node.hostname;
	s->report.kernel = s->node.kernel;
	s->report.arch = s->node.arch;
	s->report.hypervisor = s->node.hypervisor;
	s->report.cpus = s->node.cpus;
	s->report.memory_bytes = s->node.memory_bytes;
}

/* ---- the kernel ---- */

static void check_kernel(struct state *s)
{
	const struct host_caps *c = &s->caps;
	bool recent =
		c->major > OLDEST_MAJOR || (c->major == OLDEST_MAJOR && c->minor >= OLDEST_MINOR);

	if (recent)
		say(s, "kernel", CHECK_GOOD, NULL, "%s", s->node.kernel);
	else
		say(s, "kernel", CHECK_FAIL, "boot Linux 5.15 or later", "%s is too old",
		    s->node.kernel);
	if (c->btf_bytes)
		say(s, "btf", CHECK_GOOD, NULL, "/sys/kernel/btf/vmlinux, %s",
		    human_bytes(c->btf_bytes).s);
	else
		say(s, "btf", CHECK_FAIL,
		    "use a kernel built with CONFIG_DEBUG_INFO_BTF=y (those of Debian 12, Ubuntu "
		    "22.04, RHEL 9 and later are)",
		    "no /sys/kernel/btf/vmlinux: the kernel does not describe its own structures");
	if (!c->uprobes)
		say(s, "uprobes", CHECK_FAIL, "use a kernel built with CONFIG_UPROBE_EVENTS=y",
		    "this kernel has no probes on user code");
}

static void check_rights(struct state *s)
{
	const struct host_caps *c = &s->caps;

	if (!c->initial_user_ns)
		say(s, "rights", CHECK_FAIL,
		    "run it on the host, or in a privileged container without a user namespace",
		    "in a user namespace of its own: the kernel loads no BPF programs from here");
	else if (!host_caps_may_bpf(c))
		say(s, "rights", CHECK_FAIL,
		    "run it with sudo: that adds loading probes and looking into other users' "
		    "processes",
		    "user %u may not load BPF programs (CAP_BPF and CAP_PERFMON are needed)",
		    (unsigned)geteuid());
	else if (!host_caps_has(c, CAP_SYS_PTRACE) && geteuid() != 0)
		say(s, "rights", CHECK_WARN,
		    "add CAP_SYS_PTRACE to look into other users' processes",
		    "BPF is allowed, the memory maps of other users are not");
	else
		say(s, "rights", CHECK_GOOD, NULL, "%s",
		    geteuid() == 0 ? "root" : "CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE");
	if (c->lockdown == HOST_LOCKDOWN_CONFIDENTIALITY)
		say(s, "lockdown", CHECK_FAIL, "boot with lockdown=integrity or without lockdown",
		    "the kernel is locked down for confidentiality: BPF programs may not read "
		    "memory");
}

static void check_host(struct state *s)
{
	const struct host_caps *c = &s->caps;

	if (c->pressure && c->schedstat)
		say(s, "samples", CHECK_GOOD, NULL, "CPU, memory, pressure, run delay, cgroups %s",
		    c->cpu_cgroup_v1 ? "(version 1)"
		    : c->cgroup_v2   ? "(version 2)"
				     : "(not mounted)");
	else
		say(s, "samples", CHECK_WARN,
		    c->pressure ? NULL : "boot with psi=1 to record pressure",
		    "this kernel tells no %s%s%s", c->pressure ? "" : "pressure",
		    c->pressure || c->schedstat ? "" : " and no ", c->schedstat ? "" : "run delay");
}

/* ---- what the kernel loads ---- */

#ifdef INGERO_HAVE_BPF

static bool loads(enum probe_link link, bool sched, int *walker, struct err *e)
{
	struct probe_options o = {
		.link = link, .walker = WALKER_LOOP, .ring_bytes = 1 << 16, .sched = sched
	};
	struct probe_session *session;

	if (probe_session_open(&session, &o, e))
		return false;
	*walker = probe_session_walker(session);
	probe_session_free(session);
	return true;
}

static void check_probes(struct state *s)
{
	static const enum probe_link kinds[] = { PROBE_LINK_SESSION, PROBE_LINK_MULTI,
						 PROBE_LINK_PERF };
	enum probe_link best = PROBE_LINK_AUTO;
	struct buf good = { 0 }, bad = { 0 };
	unsigned taken = 0;
	struct err e = { 0 };
	int walker = WALKER_NONE;

	if (!host_caps_may_bpf(&s->caps)) {
		say(s, "probes", CHECK_WARN, NULL, "not tried: loading them takes root");
		return;
	}
	s->report.links_tried = true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int with = WALKER_NONE;

		if (!loads(kinds[i], false, &with, &e)) {
			buf_printf(&bad, "%s%s", bad.n ? ", " : "", probe_link_name(kinds[i]));
			continue;
		}
		buf_printf(&good, "%s%s", good.n ? ", " : "", probe_link_name(kinds[i]));
		s->report.links[taken++] = probe_link_name(kinds[i]);
		if (best == PROBE_LINK_AUTO) {
			best = kinds[i];
			walker = with;
		}
	}
	if (best == PROBE_LINK_AUTO) {
		say(s, "probes", CHECK_FAIL,
		    "the reason is the kernel's own; please report it with the kernel's version",
		    "%s", e.text);
	} else {
		say(s, "probes", best == PROBE_LINK_PERF ? CHECK_WARN : CHECK_GOOD,
		    best == PROBE_LINK_PERF
			    ? "Linux 6.6 and later attach and detach many functions at once"
			    : NULL,
		    "%s links%s%s%s", buf_text(&good), bad.n ? " (this kernel has no " : "",
		    buf_text(&bad), bad.n ? ")" : "");
		say(s, "stacks", CHECK_GOOD, NULL, "walked %s",
		    walker == WALKER_LOOP ? "by our own loop" : "by the kernel's helper");
		if (loads(best, true, &walker, &e))
			say(s, "scheduler", CHECK_GOOD, NULL,
			    "off-CPU intervals, wakers, occupancy");
		else
			say(s, "scheduler", CHECK_FAIL,
			    "until then, ingero-record --no-sched records calls alone", "%s",
			    e.text);
	}
	buf_free(&good);
	buf_free(&bad);
}

/* Which functions of the table the library has. */
static void plan_library(struct state *s, struct check_library *l, const char *open_as,
			 enum host_cuda kind)
{
	struct probe_plan plan;
	size_t n;
	const struct probe_spec *specs = probe_specs(&n);
	enum probe_library which = kind == HOST_CUDA_RUNTIME ? PROBE_CUDART : PROBE_LIBCUDA;

	if (probe_plan_file(&plan, open_as, which, false, NULL))
		return;
	l->planned = true;
	l->places = (unsigned)plan.n;
	probe_plan_sites(&plan, l->sites, sizeof(l->sites));
	for (size_t i = 0; i < n; i++) {
		bool found = false;

		if (specs[i].library != which)
			continue;
		for (size_t k = 0; k < plan.n && !found; k++)
			found = plan.v[k].site.cookie == i;
		l->requested++;
		l->found += found;
		if (!found && !vec_push(&l->missing, specs[i].name))
			s->nomem = true;
	}
	probe_plan_free(&plan);
}

#else

static void check_probes(struct state *s)
{
	say(s, "probes", CHECK_FAIL,
	    "install clang, bpftool and libbpf (make deps), then build again", "%s", INGERO_NO_BPF);
}

static void plan_library(struct state *s, struct check_library *l, const char *open_as,
			 enum host_cuda kind)
{
}

#endif

/* ---- CUDA ---- */

static void take_library(struct state *s, const struct host_cuda_file *f)
{
	struct check_library l = { .kind = f->kind == HOST_CUDA_RUNTIME ? "runtime" : "driver",
				   .pid = f->pid };

	/* A stub for the linker, or cut off: not a library anybody can load. */
	if (sym_elf_build_id_of(f->open_as, l.build_id, NULL))
		return;
	l.path = strdup(f->path);
	plan_library(s, &l, f->open_as, f->kind);
	if (!l.path || !vec_push(&s->report.libraries, l))
		s->nomem = true;
}

static void say_library(struct state *s, const struct check_library *l)
{
	struct buf text = { 0 };

	buf_puts(&text, l->path);
	if (l->planned)
		buf_printf(&text, ": %u of %u functions at %u places%s%s", l->found, l->requested,
			   l->places, l->sites[0] ? ", " : "", l->sites);
	for (size_t i = 0; i < l->missing.n && i < MISSING_SHOWN && l->found; i++)
		buf_printf(&text, "%s%s", i ? ", " : "; not there: ", l->missing.v[i]);
	if (l->missing.n > MISSING_SHOWN && l->found)
		buf_printf(&text, " and %zu more", l->missing.n - MISSING_SHOWN);
	/* Old libraries lack the newest functions: no reason to warn. */
	say(s, l->kind, l->planned && l->found == 0 ? CHECK_WARN : CHECK_GOOD,
	    l->planned && l->found == 0 ? "nothing of it would be recorded: is it a CUDA library?"
					: NULL,
	    "%s", buf_text(&text));
	buf_free(&text);
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
	const struct python_search *search = ctx;
	struct state *s = search->s;
	char path[4400];

	if (!m->executable || m->inode == 0)
		return true;
	for (size_t i = 0; i < s->looked_at.n; i++)
		if (s->looked_at.v[i] == m->inode)
			return true;
	if (!vec_push(&s->looked_at, m->inode))
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
	char *folders = strdup(getenv("PATH") ? getenv("PATH") : ""), *save = NULL, real[PATH_MAX];
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

		say(s, "python", p->why[0] ? CHECK_WARN : CHECK_GOOD,
		    p->why[0] ? "its calls are recorded all the same, with native stacks" : NULL,
		    "%s: %s, %s", p->path, p->version,
		    p->why[0] ? p->why : "its frames will be in stacks");
	}
}

static int find_libraries(struct state *s, const struct values *v, struct err *e)
{
	struct host_cuda_files files = { 0 };
	struct host_pids pids = { 0 };
	size_t unseen = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < v->pids.n; i++) {
		char *end;
		unsigned long pid = strtoul(v->pids.v[i], &end, 10);

		if (*end || end == v->pids.v[i] || v->pids.v[i][0] == '-' || pid == 0 ||
		    pid > INT32_MAX)
			rc = err_set(e, ERR_USAGE, "%s is not a process number", v->pids.v[i]);
		else if (kill((pid_t)pid, 0) && errno == ESRCH)
			rc = err_set(e, ERR_CANNOT, "no process %lu", pid);
		else
			rc = host_cuda_in_process(&files, (uint32_t)pid, e);
		if (rc == 0)
			python_in_process(s, (uint32_t)pid);
	}
	if (rc == 0 && v->pids.n == 0)
		rc = host_cuda_processes(&pids, HOST_ANYONE, &unseen, e);
	for (size_t i = 0; rc == 0 && i < pids.n; i++) {
		rc = host_cuda_in_process(&files, pids.v[i], e);
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
		s->nvml |= files.v[i].kind == HOST_CUDA_NVML;
		if (files.v[i].kind == HOST_CUDA_RUNTIME || files.v[i].kind == HOST_CUDA_DRIVER)
			take_library(s, &files.v[i]);
	}
	if (rc == 0 && pids.n)
		say(s, "processes", CHECK_GOOD, NULL, "%zu with CUDA now%s", pids.n,
		    unseen ? "; there are others that we may not look into" : "");
	host_pids_free(&pids);
	host_cuda_files_free(&files);
	return rc;
}

static void check_cuda(struct state *s, const struct values *v)
{
	bool runtime = false, driver = false;
	char version[64];
	unsigned gpus;

	for (size_t i = 0; i < s->report.libraries.n; i++) {
		runtime |= strcmp(s->report.libraries.v[i].kind, "runtime") == 0;
		driver |= strcmp(s->report.libraries.v[i].kind, "driver") == 0;
		if (i < LIBRARIES_SHOWN)
			say_library(s, &s->report.libraries.v[i]);
	}
	if (s->report.libraries.n > LIBRARIES_SHOWN)
		say(s, "runtime", CHECK_GOOD, NULL, "and %zu more libraries (--json lists all)",
		    s->report.libraries.n - LIBRARIES_SHOWN);
	if (v->pids.n && !runtime && !driver)
		say(s, "cuda", CHECK_WARN, "it may load one later: ingero-record -p waits for that",
		    "no CUDA library in %s", v->pids.n == 1 ? "this process" : "these processes");
	else if (!v->pids.n && !driver)
		say(s, "driver", CHECK_WARN,
		    "libcuda.so.1 comes with NVIDIA's driver; programs in containers bring their "
		    "own",
		    "no libcuda found on this machine");
	if (host_gpu_driver(version, sizeof(version), &gpus))
		say(s, "gpu", CHECK_GOOD, NULL, "NVIDIA driver %s, %u GPU%s%s", version, gpus,
		    gpus == 1 ? "" : "s", s->nvml ? "" : "; no libnvidia-ml");
	else
		say(s, "gpu", CHECK_WARN, "nothing to do if the CUDA programs run elsewhere",
		    "NVIDIA's kernel driver is not loaded: CUDA programs will get errors here");
}

/* ---- output ---- */

static const char *const verdict_text[] = { "ok", "warn", "FAIL" };
static void print_text(const struct state *s, struct buf *out)
{
	static const enum human_style style[] = { HUMAN_GREEN, HUMAN_YELLOW, HUMAN_RED };
	bool color = cli_color(STDOUT_FILENO);

	if (!cli_settings.quiet)
		buf_printf(out, "%s: Linux on %s, %u CPUs, %s%s%s\n\n", s->node.hostname,
			   s->node.arch, s->node.cpus, human_bytes(s->node.memory_bytes).s,
			   s->node.hypervisor[0] ? ", " : "", s->node.hypervisor);
	for (size_t i = 0; i < s->report.lines.n; i++) {
		const struct check_line *l = &s->report.lines.v[i];

		if (cli_settings.quiet && l->verdict == CHECK_GOOD)
			continue;
		buf_puts(out, "  ");
		human_styled(out, color, style[l->verdict], verdict_text[l->verdict]);
		buf_printf(out, "%*s%-10s ", (int)(6 - strlen(verdict_text[l->verdict])), "",
			   l->id);
		human_safe(out, bytes_of(l->text));
		buf_putc(out, '\n');
		if (l->advice)
			buf_printf(out, "%19s-> %s\n", "", l->advice);
	}
	if (cli_settings.quiet)
		return;
	buf_puts(out, check_passed(&s->report)
			      ? "\nThis machine can record:  ingero-record -- COMMAND\n"
			      : "\nThis machine cannot record yet: see FAIL above.\n");
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
	check_kernel(&s);
	check_rights(&s);
	check_probes(&s);
	check_host(&s);
	rc = find_libraries(&s, &v, &e);
	if (rc == 0) {
		check_cuda(&s, &v);
		check_pythons(&s);
	}
	if (rc == 0 && s.nomem)
		rc = err_nomem(&e);
	if (rc == 0) {
		if (v.json)
			check_json(&s.report, &out);
		else
			print_text(&s, &out);
		rc = cli_print(&out, &e);
	}
	status = rc ? cli_fail(&e) : check_passed(&s.report) ? CLI_EXIT_DONE : CLI_EXIT_NO;
	buf_free(&out);
	check_report_free(&s.report);
	vec_free(&s.looked_at);
	cli_list_free(&v.pids);
	cli_list_free(&v.folders);
	return cli_finish_stdout(status);
}
