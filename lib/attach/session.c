/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From loaded programs to a recording: rings and counters mapped, tracepoints attached, targets
 * named. Invariant: what probe_session_open returns is loaded whole or not at all.
 */
#include "lib/attach/session_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/host/clock.h"
#include "lib/attach/btf.h"
#include "lib/attach/selftest_target.h"

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

/* The event ring nearly always holds something: only the kernel's wake-ups count there, hence the
 * edge. */
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
	rc = opt->btf ? probe_btf_check(opt->btf, e) : probe_btf_find(e);
	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_nomem(e);
	s->ring.fd = s->life.fd = s->epoll = -1;
	s->cpu_asked = opt->cpu_asked;
	s->ncpu = (size_t)libbpf_num_possible_cpus();
	if (opt->sched)
		probe_sched_config_read(&s->sched);
	rc = probe_session_load(s, opt, e);
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
	const char *unsampled;
	struct bpf_program *p;

	bpf_object__for_each_program(p, s->bpf->obj)
	{
		struct probe_optional *optional;
		struct bpf_link *link;

		if (bpf_program__fd(p) < 0)
			continue; /* not asked for: not to be spoken of */
		optional = probe_optional_of(&s->optional, p);
		if (strncmp(bpf_program__section_name(p), "tp_btf/", 7) != 0 && !optional)
			continue;
		if (!vec_reserve(&s->links, s->ncpu + PROBE_OPTIONAL_LINKS))
			return err_nomem(e);
		if (optional) {
			struct bpf_link **at = s->links.v + s->links.n;

			s->links.n += probe_optional_attach(&s->optional, optional, p, at, s->ncpu);
			if (p == s->bpf->progs.host_tcp_adopt && optional->attached)
				s->sockets_link = *at;
			if (p == s->bpf->progs.host_tcp_peers && optional->attached)
				s->peers_link = *at;
			continue;
		}
		link = bpf_program__attach(p);
		if (!link)
			return err_sys(e, "cannot attach to tracepoint %s",
				       bpf_program__section_name(p) + 7);
		s->links.v[s->links.n++] = link;
	}
	unsampled = probe_optional_unsampled(&s->optional);
	if (s->cpu_asked && unsampled)
		return err_set(e, ERR_CANNOT,
			       "cannot sample CPUs: %s (recording without -F does not need it)",
			       unsampled);
	if (!s->open_link)
		s->open_link = bpf_program__attach_iter(s->bpf->progs.open_calls, NULL);
	if (!s->open_link)
		return err_sys(e, "cannot read open calls");
	if (bpf_program__fd(s->bpf->progs.follow_adopt) < 0)
		return 0;
	if (!s->adopt_link)
		s->adopt_link = bpf_program__attach_iter(s->bpf->progs.follow_adopt, NULL);
	if (!s->adopt_link)
		return err_sys(e, "cannot find the targets' threads");
	if (bpf_program__fd(s->bpf->progs.sched_asleep_begin) >= 0) {
		s->begin_link = bpf_program__attach_iter(s->bpf->progs.sched_asleep_begin, NULL);
		if (s->begin_link && !s->asleep_link)
			s->asleep_link = bpf_program__attach_iter(s->bpf->progs.sched_asleep, NULL);
		if (!s->begin_link || !s->asleep_link)
			return err_sys(e, "cannot find the targets' threads that sleep");
	}
	return probe_session_adopt(s, e);
}

static int run_iterator(struct bpf_link *iterator, const char *what, struct err *e)
{
	char nothing[64];
	ssize_t n;
	int fd;

	if (!iterator)
		return 0;
	fd = bpf_iter_create(bpf_link__fd(iterator));
	if (fd < 0)
		return err_sys(e, "cannot find the targets' %s", what);
	do
		n = read(fd, nothing, sizeof(nothing));
	while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	if (n < 0)
		err_sys(e, "cannot find the targets' %s", what);
	close(fd);
	return n < 0 ? ERR_SYS : 0;
}

int probe_session_adopt(struct probe_session *s, struct err *e)
{
	int rc = run_iterator(s->adopt_link, "threads", e);

	if (rc == 0)
		rc = run_iterator(s->begin_link, "threads that sleep", e);
	if (rc == 0)
		rc = run_iterator(s->sockets_link, "sockets", e);
	if (rc == 0 && s->sockets_link)
		s->bpf->bss->tcp_listening_known = 1;
	return rc;
}

bool probe_session_find_peers(struct probe_session *s)
{
	uint32_t wanted = s->peers_link ? s->bpf->bss->peers_wanted : s->peers_looked;
	struct err ignored = { 0 };

	if (wanted == s->peers_looked)
		return false;
	s->peers_looked = wanted;
	s->bpf->bss->peers_look++;
	run_iterator(s->peers_link, "peers", &ignored);
	return true;
}

static void iterator_end(struct bpf_link **link)
{
	if (*link)
		bpf_link__destroy(*link);
	*link = NULL;
}

void probe_session_stop(struct probe_session *s)
{
	s->sockets_link = s->peers_link = NULL;
	if (s->bpf)
		__atomic_store_n(&s->bpf->bss->calls_over, 1, __ATOMIC_SEQ_CST);
	while (s->links.n > 0)
		bpf_link__destroy(s->links.v[--s->links.n]);
	iterator_end(&s->begin_link);
}

void probe_session_free(struct probe_session *s)
{
	if (!s)
		return;
	probe_session_stop(s);
	iterator_end(&s->open_link);
	iterator_end(&s->adopt_link);
	iterator_end(&s->asleep_link);
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

const struct probe_programs *probe_session_freed(const struct probe_session *s)
{
	return &s->freed;
}

const struct probe_programs *probe_session_nvtx(const struct probe_session *s)
{
	return &s->nvtx;
}

const struct probe_optionals *probe_session_optional(const struct probe_session *s)
{
	return &s->optional;
}

uint32_t probe_session_cpu_hz(const struct probe_session *s)
{
	return probe_optional_unsampled(&s->optional) ? 0 : s->optional.cpu_hz;
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

int probe_session_python(struct probe_session *s, uint32_t tgid, const struct python_process *p)
{
	int fd = bpf_map__fd(s->bpf->maps.pythons);
	struct python_process have;

	if (bpf_map_lookup_elem(fd, &tgid, &have) == 0 && have.runtime == p->runtime &&
	    memcmp(&have.layout, &p->layout, sizeof(p->layout)) == 0)
		return 0;
	if (bpf_map_update_elem(fd, &tgid, p, BPF_ANY))
		return -1;
	/* It has ended meanwhile, and what its exit takes away was put there behind it. */
	if (!probe_session_is_target(s, tgid)) {
		bpf_map_delete_elem(fd, &tgid);
		return 0;
	}
	__atomic_fetch_add(&s->bpf->bss->python_changes, 1, __ATOMIC_SEQ_CST);
	return 1;
}

void probe_session_number_anew(struct probe_session *s)
{
	__atomic_fetch_add(&s->bpf->bss->file_epoch, 1, __ATOMIC_SEQ_CST);
}

bool probe_session_python_of(const struct probe_session *s, uint32_t tgid,
			     struct python_process *out)
{
	return bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.pythons), &tgid, out) == 0;
}

void probe_session_known(struct probe_session *s, uint32_t device, uint64_t inode, bool probed,
			 bool starts)
{
	struct known_file file = { .inode = inode, .device = device };
	struct known_state state = { .probed = probed, .starts = starts };

	/* Where there is no room for it, who executes or loads it is stopped. */
	bpf_map_update_elem(bpf_map__fd(s->bpf->maps.known_files), &file, &state, BPF_ANY);
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

int64_t probe_session_tier(struct probe_session *s, unsigned tier, bool on)
{
	int64_t now, dropped;

	__atomic_store_n(&s->bpf->bss->tier_dropped_ns[tier], 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&s->bpf->bss->tier_off[tier], !on, __ATOMIC_SEQ_CST);
	now = host_clock_mono();
	if (on)
		return now;
	__atomic_fetch_add(&s->bpf->bss->tier_epoch[tier], 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&s->bpf->bss->tiers_epoch, 1, __ATOMIC_SEQ_CST);
	dropped = (int64_t)__atomic_load_n(&s->bpf->bss->tier_dropped_ns[tier], __ATOMIC_SEQ_CST);
	return dropped && dropped < now ? dropped : now;
}

void probe_session_mute(struct probe_session *s)
{
	for (unsigned tier = 0; tier < SPEC_TIERS; tier++)
		__atomic_store_n(&s->bpf->bss->tier_off[tier], 1, __ATOMIC_SEQ_CST);
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

int probe_session_trial(struct probe_session *s, struct probe_fds *fds, struct err *e)
{
	struct probe_site site = { 0 };
	struct probe_place place;
	bool failed = false;

	if (selftest_target_place(&place))
		return err_set(e, ERR_CANNOT, "our own code is not where it should be");
	site.offset = place.offset;
	return probe_link_attach(&s->calls, place.path, place.path, &site, 1, &failed, fds, e) == 1
		       ? 0
		       : e->code;
}

void probe_session_each(struct probe_session *s, void (*fn)(void *ctx, int fd, bool calls),
			void *ctx)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, s->bpf->obj) if (bpf_program__fd(p) >= 0 &&
							 bpf_program__expected_attach_type(p) !=
								 BPF_TRACE_ITER)
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
	/* No further than what had happened when lives are read: whose process began meanwhile is
	 * not known yet. */
	unsigned long end = probe_ring_end(&s->ring);
	bool all = probe_ring_drain(&s->life, life, ctx);

	return probe_ring_drain_to(&s->ring, end, event, ctx) && all;
}
