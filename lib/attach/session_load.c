/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading is trial: which link type a kernel takes is found out by putting a program on a function
 * of our own, which stack walker by loading the real programs; neither is inferred from version
 * numbers or symbols.
 */
#include "lib/attach/session_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/host/caps.h"
#include "lib/host/descriptors.h"
#include "lib/attach/btf.h"
#include "lib/attach/session_kfunc.h"
#include "lib/attach/selftest_target.h"

#define RING_BYTES_DEFAULT (16u << 20)
#define LIFE_BYTES	   (1u << 20)

/* libbpf's own words are kept for the one case where nothing loads. */
static char load_log[400];
static struct probe_optionals *loading;
static bool no_mapped; /* refused: probes work without, see mapped.bpf.c */
static bool no_kfuncs; /* refused where they are not there */

static int store_log(enum libbpf_print_level level, const char *format, va_list args)
{
	char words[400];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(words, sizeof(words), format, args);
	if (loading)
		probe_optional_heard(loading, words);
	if (loading && strstr(words, "prog 'mapped_files'"))
		no_mapped = true;
	no_kfuncs |= probe_kfunc_heard(words);
	words[strcspn(words, "\n")] = 0;
	if (!load_log[0])
		memcpy(load_log, words, sizeof(load_log));
	return 0;
}

static void choose_programs(struct ingero_bpf *b, enum probe_link link,
			    const struct probe_options *opt)
{
	struct bpf_program *p;
	bool session = link == PROBE_LINK_SESSION;

	bpf_program__set_autoload(b->progs.call_session, session);
	bpf_program__set_autoload(b->progs.call_entry, !session);
	bpf_program__set_autoload(b->progs.call_exit, !session);
	if (session)
		bpf_program__set_expected_attach_type(b->progs.call_session,
						      (enum bpf_attach_type)PROBE_ATTACH_SESSION);
	if (link != PROBE_LINK_PERF) {
		struct bpf_program *const plain[] = { b->progs.loader_hook, b->progs.python_freed,
						      b->progs.nvtx_enter, b->progs.nvtx_return };

		for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
			bpf_program__set_expected_attach_type(
				plain[i], (enum bpf_attach_type)PROBE_ATTACH_MULTI);
	}
	if (link == PROBE_LINK_MULTI) {
		bpf_program__set_expected_attach_type(b->progs.call_entry,
						      (enum bpf_attach_type)PROBE_ATTACH_MULTI);
		bpf_program__set_expected_attach_type(b->progs.call_exit,
						      (enum bpf_attach_type)PROBE_ATTACH_MULTI);
	}
	bpf_object__for_each_program(p, b->obj)
	{
		const char *name = bpf_program__name(p);

		if ((!opt->sched && strncmp(name, "sched_", 6) == 0) ||
		    (!opt->sched && !opt->cpu_hz && strncmp(name, "follow_", 7) == 0))
			bpf_program__set_autoload(p, false);
	}
}

static void configure_sched(struct ingero_bpf *b, const struct probe_sched_config *c, size_t ncpu)
{
	b->rodata->config_steal_none = c->steal == PROBE_STEAL_NONE;
	b->rodata->config_steal_kvm = c->percpu.steal_kvm;
	b->rodata->config_steal_account =
		c->steal == PROBE_STEAL_KEPT ? c->percpu.steal_account : 0;
	b->rodata->config_preempt_count = c->percpu.preempt_count;
	b->rodata->config_hrtimer_bases = c->percpu.hrtimer_bases;
	b->rodata->config_timer_bases = c->percpu.timer_bases;
	b->rodata->config_timer_bases_size = c->percpu.timer_bases_size;
	memcpy((void *)b->rodata->config_gpu_majors, c->gpu_majors, sizeof(c->gpu_majors));
	b->rodata->config_cpu_words =
		ncpu <= WIRE_ALLOWED_WORDS * 64 ? (uint32_t)(ncpu + 63) / 64 : 0;
	bpf_map__set_max_entries(b->maps.sched_cpus, (uint32_t)ncpu);
}

/* An older one looks at all tasks instead, without a word. It shows the inodes that count in /proc.
 */
static bool takes_one_task(void)
{
	unsigned major, minor;
	struct utsname u;

	return uname(&u) == 0 && host_kernel_parse(bytes_of(u.release), &major, &minor) &&
	       (major > 6 || (major == 6 && minor >= 1));
}

/* Machines for which tables are made and the kernel side knows what to do with them. */
#if defined(__x86_64__) || defined(__aarch64__)
#define UNWINDS 1
#else
#define UNWINDS 0
#endif

/* NULL: errno says why. */
static struct ingero_bpf *open_programs(const struct bpf_object_open_opts *how)
{
	struct ingero_bpf *b;
	void *copy = NULL;
	int rc;

	if (!no_kfuncs)
		return ingero_bpf__open_opts(how);
	b = calloc(1, sizeof(*b));
	rc = b ? ingero_bpf__create_skeleton(b) : -ENOMEM;
	if (rc == 0) {
		copy = probe_kfunc_drop(b->skeleton->data, b->skeleton->data_sz, "bpf_rdonly_cast");
		b->skeleton->data = copy ? copy : b->skeleton->data;
		rc = bpf_object__open_skeleton(b->skeleton, how);
	}
	free(copy);
	if (rc) {
		ingero_bpf__destroy(b);
		b = NULL;
		errno = -rc;
	}
	return b;
}

/* 0: the kernel puts programs on functions by such a link; -errno: why not. Two instructions tell
 * as much as all programs, whose loading takes a tenth of a second. What does not load is left to
 * them, which have words for it. */
static int try_link(enum probe_link link)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, how,
		    .expected_attach_type =
			    (enum bpf_attach_type)(link == PROBE_LINK_SESSION ? PROBE_ATTACH_SESSION
						   : link == PROBE_LINK_MULTI ? PROBE_ATTACH_MULTI
									      : 0));
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "try_link", "GPL", nothing,
			       sizeof(nothing) / sizeof(nothing[0]), &how);
	const struct probe_programs p = { link, fd, link == PROBE_LINK_SESSION ? -1 : fd };
	struct probe_site site = { 0 };
	struct probe_fds fds = { 0 };
	struct probe_place place;
	struct err ignored = { 0 };
	bool failed = false;
	int rc = 0;

	if (fd < 0)
		return 0;
	if (selftest_target_uncalled(&place) == 0) {
		site.offset = place.offset;
		errno = 0; /* earlier attempts have set it */
		if (probe_link_attach(&p, place.path, place.path, &site, 1, &failed, &fds,
				      &ignored) == 0)
			rc = errno ? -errno : -EINVAL;
		probe_link_abandon(&fds);
	}
	close(fd);
	return rc;
}

static int load_once(struct probe_session *s, enum probe_link link, int walker,
		     const struct probe_options *opt)
{
	const struct bpf_object_open_opts how = { .sz = sizeof(how), .btf_custom_path = opt->btf };
	struct ingero_bpf *b = open_programs(opt->btf ? &how : NULL);
	uint64_t bytes = opt->ring_bytes ? opt->ring_bytes : RING_BYTES_DEFAULT;
	int rc;

	if (!b)
		return errno ? -errno : -EINVAL;
	choose_programs(b, link, opt);
	probe_optional_choose(&s->optional, b->obj, opt->sched, opt->cpu_hz);
	s->one_task = takes_one_task() && !no_mapped;
	bpf_program__set_autoload(b->progs.mapped_files, s->one_task);
	b->rodata->config_scope = (uint32_t)opt->scope;
	b->rodata->config_uid = opt->uid;
	b->rodata->config_self = (uint32_t)getpid();
	b->rodata->config_sched = opt->sched;
	b->rodata->config_walker = (uint32_t)walker;
	b->rodata->config_wake = bytes / 4;
	b->rodata->config_unwind = UNWINDS && opt->unwind_bytes > 0 && walker != WALKER_NONE;
	bpf_map__set_max_entries(b->maps.ring, (uint32_t)bytes);
	bpf_map__set_max_entries(b->maps.life, LIFE_BYTES);
	bpf_map__set_max_entries(b->maps.losses, (uint32_t)s->ncpu);
	if (!b->rodata->config_unwind) {
		bpf_map__set_max_entries(b->maps.unwind_cache, 1);
		bpf_map__set_max_entries(b->maps.unwind_rules, 1);
		bpf_map__set_max_entries(b->maps.unwind_lists, 1);
		bpf_map__set_max_entries(b->maps.unwind_tables, 1);
		bpf_map__set_max_entries(b->maps.unwind_slots, 1);
		bpf_map__set_max_entries(b->maps.unwind_free, 1);
		bpf_map__set_max_entries(b->maps.unwind_processes, 1);
	}
	configure_sched(b, &s->sched, s->ncpu);
	rc = ingero_bpf__load(b);
	if (rc) {
		ingero_bpf__destroy(b);
		return rc;
	}
	s->bpf = b;
	s->walker = walker;
	s->calls.link = link;
	s->calls.entry = bpf_program__fd(link == PROBE_LINK_SESSION ? b->progs.call_session
								    : b->progs.call_entry);
	s->calls.exit = link == PROBE_LINK_SESSION ? -1 : bpf_program__fd(b->progs.call_exit);
	s->hook.link = link == PROBE_LINK_PERF ? PROBE_LINK_PERF : PROBE_LINK_MULTI;
	s->hook.entry = bpf_program__fd(b->progs.loader_hook);
	s->hook.exit = -1;
	s->freed = s->hook;
	s->freed.entry = bpf_program__fd(b->progs.python_freed);
	s->nvtx = s->hook;
	s->nvtx.entry = bpf_program__fd(b->progs.nvtx_enter);
	s->nvtx.exit = bpf_program__fd(b->progs.nvtx_return);
	return 0;
}

/* The error for missing rights; names them as far as they are known. */
static int refused_for_rights(struct err *e)
{
	struct buf missing = { 0 };
	struct host_caps caps;

	host_caps_read(&caps);
	host_caps_missing(&caps, false, &missing);
	if (caps.initial_user_ns && missing.n)
		err_set(e, ERR_CANNOT,
			"cannot load BPF programs: Operation not permitted: user %u has no %s (run "
			"as root, or give the program CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE; "
			"--no-probes records what needs no rights: samples of machine, processes "
			"and "
			"GPUs)",
			(unsigned)geteuid(), buf_text(&missing));
	else
		err_set(e, ERR_CANNOT,
			"cannot load BPF programs: Operation not permitted: %s (--no-probes "
			"records "
			"what needs no rights: samples of machine, processes and GPUs)%s%s",
			!caps.initial_user_ns ? "capabilities of a user namespace do not count: "
						"record on the host, "
						"or in a privileged container without one"
			: caps.lockdown == HOST_LOCKDOWN_CONFIDENTIALITY
				? "the kernel is locked down (confidentiality)"
				: "no capability is missing: a container must be privileged, a "
				  "service without a filter of system calls",
			load_log[0] ? "; " : "", load_log);
	buf_free(&missing);
	return e->code;
}

int probe_session_load(struct probe_session *s, const struct probe_options *opt, struct err *e)
{
	enum probe_link from = opt->link == PROBE_LINK_AUTO ? PROBE_LINK_SESSION : opt->link;
	enum probe_link to = opt->link == PROBE_LINK_AUTO ? PROBE_LINK_PERF : opt->link;
	int last_walker =
		opt->walker == WALKER_LOOP && !opt->walker_forced ? WALKER_HELPER : opt->walker;
	char release[PROBE_BTF_RELEASE];
	int walker = opt->walker;
	size_t refused = 0;
	bool mapped, kfuncs;
	int rc = 0;

	load_log[0] = 0;
	no_mapped = no_kfuncs = false;
	/* Perf events take two each, theirs and their link's: one for each CPU, and where there is
	 * no better link two for each function. */
	host_descriptors_raise();
	libbpf_set_print(store_log);
	/* Trying spares what each kind of link takes to find it out again. */
	if (walker < last_walker &&
	    libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_loop, NULL) == 0)
		walker = last_walker;
	for (; walker <= last_walker; walker++) {
		/* What was refused may have been so for its walker. */
		s->optional = (struct probe_optionals){ 0 };
		refused = 0;
		for (enum probe_link link = from; link <= to; link++) {
			rc = try_link(link);
			if (rc)
				continue;
			loading = &s->optional;
			do {
				load_log[0] = 0; /* what was left out is not what failed */
				mapped = !no_mapped;
				kfuncs = !no_kfuncs;
				rc = load_once(s, link, walker, opt);
			} while (rc && (probe_optional_again(&s->optional, &refused) ||
					(mapped && no_mapped) || (kfuncs && no_kfuncs)));
			loading = NULL;
			if (rc == 0)
				return 0;
			if (rc == -EPERM || rc == -ENOMEM)
				goto refused;
		}
	}
refused:
	if (rc == -EPERM)
		return refused_for_rights(e);
	if (opt->btf)
		return err_set(
			e, ERR_CANNOT,
			probe_btf_own()
				? "cannot load BPF programs with %s: is it the BTF of this "
				  "kernel (%s)?"
				: "cannot load BPF programs with %s alone: tracepoints want what "
				  "the kernel says of itself; put it at /boot/vmlinux-%s, too, "
				  "where it is looked for",
			opt->btf, probe_btf_release(release));
	if (opt->link != PROBE_LINK_AUTO)
		return err_set(e, ERR_CANNOT, "this kernel does not take %s probes: %s",
			       probe_link_name(opt->link), strerror(-rc));
	return err_set(e, ERR_CANNOT, "cannot load BPF programs: %s (%s)", strerror(-rc), load_log);
}
