/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading is trial: which link type and which stack walker a kernel takes is found out by loading the real
 * programs and putting them on a function of our own, never inferred from version numbers or symbols.
 * Invariant: what probe_session_open returns is loaded whole or not at all.
 */
#include "lib/probe/session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/ingero.skel.h"
#include "lib/base/vec.h"
#include "lib/probe/session_optional.h"
#include "lib/probe/sched_config.h"
#include "lib/probe/trial.h"

#define RING_BYTES_DEFAULT (16u << 20)
#define LIFE_BYTES	   (1u << 20)

struct probe_session {
	struct ingero_bpf *bpf;
	struct probe_programs calls, hook;
	int walker;
	struct probe_ring ring, life;
	struct loss_slot *losses;   /* one per possible CPU, shared with the kernel */
	struct spec_passed *passed; /* by spec, shared with the kernel */
	struct op_spec specs[SPECS_MAX];
	size_t nspecs;
	size_t ncpu;
	VEC(struct bpf_link *) links;
	struct bpf_link *open_link;
	struct bpf_link *adopt_link; /* NULL without host tracks */
	struct probe_sched_config sched;
	struct probe_optionals optional;
	int epoll;
};

/* libbpf's own words are kept for the one case where nothing loads. */
static char load_log[400];
static struct probe_optionals *loading;

static int keep_log(enum libbpf_print_level level, const char *format, va_list args)
{
	char words[400];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(words, sizeof(words), format, args);
	if (loading)
		probe_optional_heard(loading, words);
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
	if (link != PROBE_LINK_PERF)
		bpf_program__set_expected_attach_type(b->progs.loader_hook,
						      (enum bpf_attach_type)PROBE_ATTACH_MULTI);
	if (link == PROBE_LINK_MULTI) {
		bpf_program__set_expected_attach_type(b->progs.call_entry,
						      (enum bpf_attach_type)PROBE_ATTACH_MULTI);
		bpf_program__set_expected_attach_type(b->progs.call_exit,
						      (enum bpf_attach_type)PROBE_ATTACH_MULTI);
	}
	bpf_object__for_each_program(p, b->obj) if (!opt->sched &&
						    strncmp(bpf_program__name(p), "sched_", 6) == 0)
		bpf_program__set_autoload(p, false);
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
	bpf_map__set_max_entries(b->maps.sched_cpus, (uint32_t)ncpu);
}

/* Two events and two links for each function, and their descriptors stay open. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int load_once(struct probe_session *s, enum probe_link link, int walker,
		     const struct probe_options *opt)
{
	const struct bpf_object_open_opts how = { .sz = sizeof(how), .btf_custom_path = opt->btf };
	struct ingero_bpf *b = ingero_bpf__open_opts(opt->btf ? &how : NULL);
	struct probe_site site = { 0 };
	struct probe_fds fds = { 0 };
	struct err ignored = { 0 };
	bool failed = false;
	uint64_t bytes = opt->ring_bytes ? opt->ring_bytes : RING_BYTES_DEFAULT;

	if (!b)
		return -errno;
	choose_programs(b, link, opt);
	probe_optional_choose(&s->optional, b->obj, opt->sched);
	b->rodata->config_scope = (uint32_t)opt->scope;
	b->rodata->config_uid = opt->uid;
	b->rodata->config_self = (uint32_t)getpid();
	b->rodata->config_sched = opt->sched;
	b->rodata->config_walker = (uint32_t)walker;
	b->rodata->config_wake = bytes / 4;
	bpf_map__set_max_entries(b->maps.ring, (uint32_t)bytes);
	bpf_map__set_max_entries(b->maps.life, LIFE_BYTES);
	bpf_map__set_max_entries(b->maps.losses, (uint32_t)s->ncpu);
	configure_sched(b, &s->sched, s->ncpu);
	if (ingero_bpf__load(b)) {
		int saved = errno;

		ingero_bpf__destroy(b);
		return -saved;
	}
	s->bpf = b;
	s->walker = walker;
	s->calls.link = link;
	if (link == PROBE_LINK_PERF)
		raise_descriptors();
	s->calls.entry = bpf_program__fd(link == PROBE_LINK_SESSION ? b->progs.call_session
								    : b->progs.call_entry);
	s->calls.exit = link == PROBE_LINK_SESSION ? -1 : bpf_program__fd(b->progs.call_exit);
	s->hook.link = link == PROBE_LINK_PERF ? PROBE_LINK_PERF : PROBE_LINK_MULTI;
	s->hook.entry = bpf_program__fd(b->progs.loader_hook);
	s->hook.exit = -1;
	if (probe_trial_offset(&site.offset) == 0 &&
	    probe_link_attach(&s->calls, "/proc/self/exe", &site, 1, &failed, &fds, &ignored) ==
		    0) {
		int saved = errno;

		ingero_bpf__destroy(b);
		s->bpf = NULL;
		return saved ? -saved : -EINVAL;
	}
	probe_link_detach(&fds);
	return 0;
}

static int load(struct probe_session *s, const struct probe_options *opt, struct err *e)
{
	enum probe_link from = opt->link == PROBE_LINK_AUTO ? PROBE_LINK_SESSION : opt->link;
	enum probe_link to = opt->link == PROBE_LINK_AUTO ? PROBE_LINK_PERF : opt->link;
	int last_walker =
		opt->walker == WALKER_LOOP && !opt->walker_forced ? WALKER_HELPER : opt->walker;
	size_t refused = 0;
	int rc = 0;

	for (int walker = opt->walker; walker <= last_walker; walker++)
		for (enum probe_link link = from; link <= to; link++) {
			loading = &s->optional;
			do
				rc = load_once(s, link, walker, opt);
			while (rc && probe_optional_again(&s->optional, &refused));
			loading = NULL;
			if (rc == 0)
				return 0;
			if (rc == -EPERM || rc == -ENOMEM)
				goto refused;
		}
refused:
	if (rc == -EPERM)
		return err_set(e, ERR_CANNOT,
			       "cannot load BPF programs: Operation not permitted (run as root, or "
			       "give the program "
			       "CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE; inside a container it "
			       "must be privileged; --no-probes records what needs no rights: "
			       "samples of machine, processes and GPUs)");
	if (opt->btf)
		return err_set(e, ERR_CANNOT,
			       "cannot load BPF programs with %s: is it the BTF of this kernel?",
			       opt->btf);
	if (opt->link != PROBE_LINK_AUTO)
		return err_set(e, ERR_CANNOT, "this kernel does not take %s probes: %s",
			       probe_link_name(opt->link), strerror(-rc));
	return err_set(e, ERR_CANNOT, "cannot load BPF programs: %s (%s)", strerror(-rc), load_log);
}

static int put_specs(struct probe_session *s, const struct probe_options *opt, struct err *e)
{
	int fd = bpf_map__fd(s->bpf->maps.specs);

	s->nspecs = opt->nspecs < SPECS_MAX ? opt->nspecs : SPECS_MAX;
	memcpy(s->specs, opt->specs, s->nspecs * sizeof(s->specs[0]));
	for (uint32_t i = 0; i < opt->nspecs; i++)
		if (bpf_map_update_elem(fd, &i, &opt->specs[i], BPF_ANY))
			return err_sys(e, "cannot hand the table of calls to the kernel");
	return 0;
}

/* The event ring nearly always holds something: only the kernel's wake-ups count there, hence the edge. */
static int watch_rings(struct probe_session *s, struct err *e)
{
	struct epoll_event life = { .events = EPOLLIN }, ring = { .events = EPOLLIN | EPOLLET };

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0 || epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->life.fd, &life) ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->ring.fd, &ring))
		return err_sys(e, "cannot wait for the event ring");
	return 0;
}

int probe_session_open(struct probe_session **out, const struct probe_options *opt, struct err *e)
{
	struct probe_session *s;
	int rc;

	*out = NULL;
	if (opt->btf ? access(opt->btf, R_OK) : access("/sys/kernel/btf/vmlinux", R_OK)) {
		if (opt->btf)
			return err_sys(e, "cannot open %s", opt->btf);
		return err_sys(e, "cannot open /sys/kernel/btf/vmlinux (kernel built without "
				  "CONFIG_DEBUG_INFO_BTF; --no-probes records samples of machine, "
				  "processes and GPUs without it)");
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_nomem(e);
	s->ring.fd = s->life.fd = s->epoll = -1;
	s->ncpu = (size_t)libbpf_num_possible_cpus();
	if (opt->sched)
		probe_sched_config_read(&s->sched);
	load_log[0] = 0;
	libbpf_set_print(keep_log);
	rc = load(s, opt, e);
	if (rc)
		goto out;
	rc = put_specs(s, opt, e);
	if (rc)
		goto out;
	rc = probe_ring_open(&s->ring, bpf_map__fd(s->bpf->maps.ring),
			     bpf_map__max_entries(s->bpf->maps.ring), e);
	if (rc)
		goto out;
	rc = probe_ring_open(&s->life, bpf_map__fd(s->bpf->maps.life),
			     bpf_map__max_entries(s->bpf->maps.life), e);
	if (rc)
		goto out;
	s->losses = mmap(NULL, s->ncpu * sizeof(*s->losses), PROT_READ, MAP_SHARED,
			 bpf_map__fd(s->bpf->maps.losses), 0);
	if (s->losses == MAP_FAILED) {
		s->losses = NULL;
		rc = err_sys(e, "cannot map the loss counters");
		goto out;
	}
	s->passed = mmap(NULL, SPECS_MAX * sizeof(*s->passed), PROT_READ, MAP_SHARED,
			 bpf_map__fd(s->bpf->maps.passed), 0);
	if (s->passed == MAP_FAILED) {
		s->passed = NULL;
		rc = err_sys(e, "cannot map the counters of calls left out");
		goto out;
	}
	rc = watch_rings(s, e);
	if (rc)
		goto out;
	*out = s;
	return 0;
out:
	probe_session_free(s);
	return rc;
}

/* Every tracepoint program is attached by its section; user probes are not among them. */
int probe_session_start(struct probe_session *s, struct err *e)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, s->bpf->obj)
	{
		struct probe_optional *optional = probe_optional_of(&s->optional, p);
		struct bpf_link *link;

		if (bpf_program__fd(p) < 0 ||
		    (strncmp(bpf_program__section_name(p), "tp_btf/", 7) != 0 && !optional))
			continue;
		if (!vec_reserve(&s->links, s->ncpu))
			return err_nomem(e);
		if (optional) {
			s->links.n += probe_optional_attach(optional, p, s->links.v + s->links.n,
							    s->ncpu);
			continue;
		}
		link = bpf_program__attach(p);
		if (!link)
			return err_sys(e, "cannot attach to tracepoint %s",
				       bpf_program__section_name(p) + 7);
		s->links.v[s->links.n++] = link;
	}
	if (!s->open_link)
		s->open_link = bpf_program__attach_iter(s->bpf->progs.open_calls, NULL);
	if (!s->open_link)
		return err_sys(e, "cannot read open calls");
	if (bpf_program__fd(s->bpf->progs.sched_adopt) < 0)
		return 0;
	if (!s->adopt_link)
		s->adopt_link = bpf_program__attach_iter(s->bpf->progs.sched_adopt, NULL);
	if (!s->adopt_link)
		return err_sys(e, "cannot find the targets' threads");
	return probe_session_adopt(s, e);
}

int probe_session_adopt(struct probe_session *s, struct err *e)
{
	char nothing[64];
	ssize_t n;
	int fd;

	if (!s->adopt_link)
		return 0;
	fd = bpf_iter_create(bpf_link__fd(s->adopt_link));
	if (fd < 0)
		return err_sys(e, "cannot find the targets' threads");
	do
		n = read(fd, nothing, sizeof(nothing));
	while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	if (n < 0)
		err_sys(e, "cannot find the targets' threads");
	close(fd);
	return n < 0 ? ERR_SYS : 0;
}

void probe_session_stop(struct probe_session *s)
{
	while (s->links.n > 0)
		bpf_link__destroy(s->links.v[--s->links.n]);
}

void probe_session_free(struct probe_session *s)
{
	if (!s)
		return;
	probe_session_stop(s);
	if (s->open_link)
		bpf_link__destroy(s->open_link);
	if (s->adopt_link)
		bpf_link__destroy(s->adopt_link);
	if (s->losses)
		munmap(s->losses, s->ncpu * sizeof(*s->losses));
	if (s->passed)
		munmap(s->passed, SPECS_MAX * sizeof(*s->passed));
	probe_ring_close(&s->ring);
	probe_ring_close(&s->life);
	if (s->epoll >= 0)
		close(s->epoll);
	ingero_bpf__destroy(s->bpf);
	vec_free(&s->links);
	free(s);
}

const struct probe_programs *probe_session_programs(const struct probe_session *s)
{
	return &s->calls;
}

const struct probe_programs *probe_session_hook(const struct probe_session *s)
{
	return &s->hook;
}

const struct probe_optionals *probe_session_optional(const struct probe_session *s)
{
	return &s->optional;
}

int probe_session_others(const struct probe_session *s, uint32_t *device, struct block_others *sum)
{
	int fd = bpf_map__fd(s->bpf->maps.block_others);
	struct block_others each[512];
	uint32_t next;

	if (s->ncpu > sizeof(each) / sizeof(each[0]) ||
	    bpf_map_get_next_key(fd, *device ? device : NULL, &next) ||
	    bpf_map_lookup_elem(fd, &next, each))
		return 0;
	*device = next;
	memset(sum, 0, sizeof(*sum));
	for (size_t cpu = 0; cpu < s->ncpu; cpu++) {
		sum->requests += each[cpu].requests;
		sum->read_bytes += each[cpu].read_bytes;
		sum->write_bytes += each[cpu].write_bytes;
	}
	return 1;
}

int probe_session_walker(const struct probe_session *s)
{
	return s->walker;
}

int probe_session_target(struct probe_session *s, uint32_t tgid, uint32_t flags, struct err *e)
{
	int fd = bpf_map__fd(s->bpf->maps.targets);
	struct target t = { 0 };

	bpf_map_lookup_elem(fd, &tgid, &t);
	t.flags = flags;
	if (bpf_map_update_elem(fd, &tgid, &t, BPF_ANY))
		return err_sys(e, "cannot follow process %u", tgid);
	return 0;
}

bool probe_session_python(struct probe_session *s, uint32_t tgid, const struct python_process *p)
{
	int fd = bpf_map__fd(s->bpf->maps.pythons);
	struct python_process have;

	if (bpf_map_lookup_elem(fd, &tgid, &have) == 0 && have.runtime == p->runtime &&
	    memcmp(&have.layout, &p->layout, sizeof(p->layout)) == 0)
		return false;
	return bpf_map_update_elem(fd, &tgid, p, BPF_ANY) == 0;
}

bool probe_session_is_target(const struct probe_session *s, uint32_t tgid)
{
	struct target t;

	return bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.targets), &tgid, &t) == 0;
}

int probe_session_wait(struct probe_session *s, int timeout_ms)
{
	struct epoll_event got[2];
	int n = epoll_wait(s->epoll, got, 2, timeout_ms);

	return n < 0 && errno != EINTR ? -1 : 0;
}

int probe_session_every(struct probe_session *s, uint16_t op, uint16_t every, struct err *e)
{
	int fd = bpf_map__fd(s->bpf->maps.specs);

	for (uint32_t i = 0; i < s->nspecs; i++) {
		if (s->specs[i].op != op || (s->specs[i].flags & SPEC_SILENT))
			continue;
		s->specs[i].every = every;
		if (bpf_map_update_elem(fd, &i, &s->specs[i], BPF_ANY))
			return err_sys(e, "cannot hand the table of calls to the kernel");
	}
	return 0;
}

uint64_t probe_session_left_out(const struct probe_session *s, uint16_t op)
{
	const volatile struct spec_passed *p = s->passed;
	uint64_t n = 0;

	for (size_t i = 0; i < s->nspecs; i++)
		n += s->specs[i].op == op ? p[i].left_out : 0;
	return n;
}

int probe_session_trial(struct probe_session *s, struct probe_fds *fds, struct err *e)
{
	struct probe_site site = { 0 };
	bool failed = false;

	if (probe_trial_offset(&site.offset))
		return err_set(e, ERR_CANNOT, "our own code is not where it should be");
	return probe_link_attach(&s->calls, "/proc/self/exe", &site, 1, &failed, fds, e) == 1
		       ? 0
		       : e->code;
}

void probe_session_each(struct probe_session *s, void (*fn)(void *ctx, int fd, bool calls),
			void *ctx)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, s->bpf->obj) if (bpf_program__fd(p) >= 0)
		fn(ctx, bpf_program__fd(p), strncmp(bpf_program__name(p), "call_", 5) == 0);
}

void probe_session_forget(struct probe_session *s, uint32_t tgid)
{
	bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.targets), &tgid);
}

int probe_session_watch(struct probe_session *s, int fd, struct err *e)
{
	struct epoll_event in = { .events = EPOLLIN | EPOLLET };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &in) ? err_sys(e, "cannot wait for marks")
							   : 0;
}

bool probe_session_drain(struct probe_session *s, probe_ring_fn *life, probe_ring_fn *event,
			 void *ctx)
{
	bool all = probe_ring_drain(&s->life, life, ctx);

	return probe_ring_drain(&s->ring, event, ctx) && all;
}

void probe_session_losses(const struct probe_session *s, struct loss_slot *sum)
{
	const volatile __u64 *from;
	__u64 *to = &sum->n[0][0];
	size_t each = sizeof(*sum) / sizeof(*to);

	memset(sum, 0, sizeof(*sum));
	for (size_t cpu = 0; cpu < s->ncpu; cpu++) {
		from = &s->losses[cpu].n[0][0];
		for (size_t i = 0; i < each; i++)
			to[i] += from[i];
	}
}

int probe_session_open_calls(struct probe_session *s, probe_open_fn *fn, void *ctx, struct err *e)
{
	int fd = bpf_iter_create(bpf_link__fd(s->open_link));
	uint64_t raw[8192];
	size_t have = 0;
	ssize_t n;
	int rc = 0;

	if (fd < 0)
		return err_sys(e, "cannot read open calls");
	for (;;) {
		size_t at = 0;

		n = read(fd, (char *)raw + have, sizeof(raw) - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			continue;
		if (n <= 0)
			break;
		have += (size_t)n;
		for (;;) {
			const struct wire_open *head = (const void *)((char *)raw + at);
			size_t size;

			if (have - at < sizeof(*head))
				break;
			size = sizeof(*head) + head->ncalls * sizeof(struct wire_open_call);
			if (have - at < size)
				break;
			fn(ctx, head, (const void *)(head + 1));
			at += size;
		}
		memmove(raw, (char *)raw + at, have - at);
		have -= at;
	}
	if (n < 0)
		rc = err_sys(e, "cannot read open calls");
	close(fd);
	return rc;
}
