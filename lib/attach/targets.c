/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariant: whoever the kernel stopped for us is let go again before probe_targets_life returns,
 * whatever went wrong in between.
 */
#include "lib/attach/targets.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/host/caps.h"
#include "lib/host/clock.h"
#include "lib/host/process_placement.h"
#include "lib/host/proc.h"

#define CUDA_NEW_MAX 64

struct member {
	uint32_t tgid;
	bool cuda;
	bool unread;	/* its maps could not be read when they should have been */
	bool grew;	/* it loaded files that are known: its maps are to be read */
	unsigned looks; /* how often its maps were read without a hook telling */
};

struct probe_targets {
	struct probe_session *session;
	struct library_instances *copies;
	struct probe_stacks *stacks;
	struct probe_targets_options opt;
	VEC(struct member) members; /* those that are there */
	struct map by_tgid;
	struct map others; /* processes that are no targets yet, see probe_targets_looks */
	uint32_t round;
	size_t cuda;
	VEC(uint32_t) cuda_new; /* not asked for yet */
	struct probe_stops stops;
	bool grew;   /* some member did */
	bool closed; /* nothing is attached any more */
	bool adopt;  /* processes joined whose threads the host tracks do not follow yet */
};

int probe_targets_new(struct probe_targets **out, struct probe_session *session,
		      struct library_instances *copies, struct probe_stacks *stacks,
		      const struct probe_targets_options *opt, struct err *e)
{
	struct probe_targets *t = calloc(1, sizeof(*t));

	*out = t;
	if (!t)
		return err_nomem(e);
	t->session = session;
	t->copies = copies;
	t->stacks = stacks;
	t->opt = *opt;
	return 0;
}

void probe_targets_free(struct probe_targets *t)
{
	if (!t)
		return;
	vec_free(&t->members);
	vec_free(&t->cuda_new);
	map_free(&t->by_tgid);
	map_free(&t->others);
	free(t);
}

static struct member *member_of(struct probe_targets *t, uint32_t tgid)
{
	uint64_t i;

	return map_get(&t->by_tgid, tgid, &i) ? &t->members.v[i] : NULL;
}

static struct member *member_make(struct probe_targets *t, uint32_t tgid)
{
	struct member *m = member_of(t, tgid);

	if (m)
		return m;
	if (!vec_push(&t->members, (struct member){ .tgid = tgid }))
		return NULL;
	if (map_put(&t->by_tgid, tgid, t->members.n - 1))
		return &t->members.v[t->members.n - 1];
	t->members.n--;
	return NULL;
}

static void note_copies(struct probe_targets *t, struct member *m, int found)
{
	if (m)
		m->unread = found < 0;
	if (found > 0 && m && !m->cuda) {
		m->cuda = true;
		t->cuda++;
		if (t->cuda_new.n < CUDA_NEW_MAX)
			(void)vec_push(&t->cuda_new, m->tgid); /* it is for a line of text */
	}
}

/* since_ns: as of library_instances_scan. */
static void scan_process(struct probe_targets *t, uint32_t tgid, int64_t since_ns)
{
	struct member *m = member_make(t, tgid);
	struct err ignored = { 0 };
	int found = library_instances_scan(t->copies, tgid, since_ns, &ignored);

	/* Try again before it runs on: for a live process the failure was transient. */
	if (found < 0 && host_proc_sight(tgid) == HOST_OPEN)
		found = library_instances_scan(t->copies, tgid, since_ns, &ignored);
	if (found < 0 && since_ns != PROBE_FROM_START && since_ns != PROBE_STOPPED)
		library_instances_unseen(t->copies, tgid, since_ns);
	note_copies(t, m, found);
}

/* However many known files a process loads in a turn, its maps are read once. */
static void note_growth(struct probe_targets *t, uint32_t tgid)
{
	struct member *m = member_make(t, tgid);

	if (!m)
		return;
	m->grew = true;
	t->grew = true;
}

/* A process that runs on while it is looked at: what holds something to probe would stop it, and
 * its message comes. One that has ended keeps what was read before. m: NULL, no memory. */
static void scan_known(struct probe_targets *t, struct member *m, uint32_t tgid)
{
	struct err ignored = { 0 };
	int found = library_instances_scan(t->copies, tgid, PROBE_STOPPED, &ignored);

	if (found >= 0)
		note_copies(t, m, found);
}

static void scan_grown(struct probe_targets *t)
{
	t->grew = false;
	for (size_t i = 0; i < t->members.n; i++) {
		struct member *m = &t->members.v[i];

		if (!m->grew)
			continue;
		m->grew = false;
		scan_known(t, m, m->tgid);
	}
}

/* Before each record of the ring: an error's room is not to be cleared for nothing. */
void probe_targets_scan_grown(struct probe_targets *t)
{
	if (t->grew)
		scan_grown(t);
}

/* A child that has run no program of its own maps what its parent does: of hundreds of short-lived
 * ones, none is looked at. */
static void join_child(struct probe_targets *t, uint32_t parent, const struct wire_life *l)
{
	struct member *of = member_of(t, parent), *m;
	int found = of && !of->unread ? library_instances_inherit(t->copies, parent, l->child_tgid,
								  (int64_t)l->time_ns)
				      : -1;

	m = member_make(t, l->child_tgid);
	if (found < 0)
		scan_process(t, l->child_tgid, (int64_t)l->time_ns);
	else
		note_copies(t, m, found);
}

static void member_gone(struct probe_targets *t, uint32_t tgid)
{
	struct member last;
	uint64_t i;

	if (!map_get(&t->by_tgid, tgid, &i))
		return;
	map_del(&t->by_tgid, tgid);
	last = t->members.v[--t->members.n];
	if (last.tgid == tgid)
		return;
	t->members.v[i] = last;
	map_put(&t->by_tgid, last.tgid, i);
}

/* Adds a process as a target. */
static int add_target(struct probe_targets *t, uint32_t tgid, struct err *e)
{
	int rc;

	if (tgid == (uint32_t)getpid() || probe_session_is_target(t->session, tgid) ||
	    host_proc_sight(tgid) == HOST_GONE)
		return 0;
	rc = probe_session_target(t->session, tgid, TARGET_FOLLOW, e);
	if (rc == 0)
		scan_process(t, tgid, PROBE_FROM_START);
	/* It ended meanwhile, before the state that its exit removes was set: remove it here, or
	 * the next process with its pid would be a target. */
	if (rc == 0 && host_proc_sight(tgid) == HOST_GONE) {
		probe_session_forget(t->session, tgid);
		member_gone(t, tgid);
	}
	t->adopt = true;
	return rc;
}

/* Its libraries are opened as it sees them: where we may not, nothing would be recorded, and nobody
 * would know why. (Its list of mappings is no proof: since Linux 6.13 CAP_PERFMON shows it.) */
static int may_look(uint32_t tgid, struct err *e)
{
	struct err ignored = { 0 };
	struct host_process p;
	struct host_caps caps;
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root", tgid);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	if (fd >= 0 || (errno != EACCES && errno != EPERM))
		return 0;
	err_sys(e, "cannot look into process %u", tgid);
	host_caps_read(&caps);
	if (!host_caps_has(&caps, CAP_SYS_PTRACE) && host_proc_read(tgid, &p, &ignored) == 0)
		err_set(e, ERR_CANNOT,
			"cannot look into process %u: Permission denied: it is of user %u, and "
			"user %u "
			"has no CAP_SYS_PTRACE (run as root, or as that user)",
			tgid, (unsigned)p.uid, (unsigned)geteuid());
	return e->code;
}

/* Named processes come with what they started before. */
static int add_tree(struct probe_targets *t, uint32_t tgid, struct err *e)
{
	struct host_pids tree = { 0 };
	struct err ignored = { 0 };
	int rc = 0;

	if (host_proc_sight(tgid) == HOST_GONE)
		return err_set(e, ERR_CANNOT, "no process %u", tgid);
	rc = may_look(tgid, e);
	if (rc == 0)
		rc = add_target(t, tgid, e);
	/* The process first: whoever it starts from now on is added in the kernel. */
	if (rc == 0 && host_proc_tree(tgid, &tree, &ignored) == 0)
		for (size_t i = 0; i < tree.n && rc == 0; i++)
			rc = add_target(t, tree.v[i], e);
	host_pids_free(&tree);
	return rc;
}

static bool place_of(const struct probe_targets_options *opt, uint32_t tgid, struct host_place *p)
{
	struct err ignored = { 0 };

	if (host_place_read(p, tgid, &ignored))
		return false;
	if (opt->given)
		host_pods_complete(opt->given, p);
	return true;
}

static bool in_pod(const struct probe_targets_options *opt, uint32_t tgid)
{
	size_t n = strcspn(opt->pod, "/");
	struct host_place p;

	return place_of(opt, tgid, &p) && *p.pod && strlen(p.namespace) == n &&
	       memcmp(p.namespace, opt->pod, n) == 0 && strcmp(p.pod, opt->pod + n + 1) == 0;
}

/* Most processes are of no pod: those cost a short file. */
static bool was_given_gpus(const struct probe_targets_options *opt, uint32_t tgid)
{
	struct host_place p;

	return opt->given && opt->given->n && host_place_in_pod(tgid) && place_of(opt, tgid, &p) &&
	       host_pods_has(opt->given, &p);
}

bool probe_targets_due(uint32_t tgid, uint64_t looks)
{
	return looks <= 10 || looks % 10 == tgid % 10;
}

bool probe_targets_fits(const struct probe_targets_options *opt, uint32_t tgid)
{
	struct host_process p;
	struct err ignored = { 0 };

	if (opt->pod)
		return in_pod(opt, tgid);
	if (opt->scope == SCOPE_USER && (host_proc_read(tgid, &p, &ignored) || p.uid != opt->uid))
		return false;
	return library_instances_has_cuda(tgid) || was_given_gpus(opt, tgid);
}

/* tgid -> round of the latest look << 32 | looks. */
uint64_t probe_targets_looks(struct map *looks, uint32_t tgid, uint32_t round)
{
	uint64_t seen = 0;

	map_get(looks, tgid, &seen);
	map_put(looks, tgid, (uint64_t)round << 32 | ((uint32_t)seen + 1));
	return (uint32_t)seen;
}

void probe_targets_forget(struct map *looks, uint32_t round)
{
	VEC(uint32_t) gone = { 0 };
	uint64_t tgid, seen;
	size_t at = 0;

	while (map_each(looks, &at, &tgid, &seen))
		if (seen >> 32 != round)
			vec_push(&gone, (uint32_t)tgid);
	for (size_t i = 0; i < gone.n; i++)
		map_del(looks, gone.v[i]);
	vec_free(&gone);
}

static void check_process(struct probe_targets *t, uint32_t tgid)
{
	struct err ignored = { 0 };

	if (member_of(t, tgid))
		return;
	if (probe_targets_due(tgid, probe_targets_looks(&t->others, tgid, t->round)) &&
	    probe_targets_fits(&t->opt, tgid))
		add_target(t, tgid, &ignored);
}

/* Whether targets are found by what they are, not by who named or started them. */
static bool looks_around(const struct probe_targets *t)
{
	return t->opt.scope != SCOPE_LISTED || t->opt.pod;
}

static void find_targets(struct probe_targets *t)
{
	struct host_pids all = { 0 };
	struct err ignored = { 0 };

	t->round++;
	if (host_proc_all(&all, &ignored) == 0) {
		for (size_t i = 0; i < all.n; i++)
			check_process(t, all.v[i]);
		probe_targets_forget(&t->others, t->round);
	}
	host_pids_free(&all);
}

int probe_targets_start(struct probe_targets *t, struct err *e)
{
	int rc = 0;

	if (t->opt.launched) {
		rc = probe_session_target(t->session, t->opt.launched, TARGET_FOLLOW | TARGET_STOP,
					  e);
		member_make(t, t->opt.launched);
	}
	for (size_t i = 0; i < t->opt.npids && rc == 0; i++)
		rc = add_tree(t, t->opt.pids[i], e);
	if (rc == 0 && looks_around(t))
		find_targets(t);
	return rc ? rc : probe_session_adopt(t->session, e);
}

void probe_targets_life(struct probe_targets *t, const struct wire_life *l)
{
	uint32_t tgid = l->who.tgid;
	int64_t since_ns = l->stopped ? PROBE_STOPPED : (int64_t)l->time_ns, now;

	switch (t->closed ? 0 : l->kind) {
	case WIRE_FORK:
		if (l->process)
			join_child(t, tgid, l);
		break;
	case WIRE_EXEC:
		probe_stacks_executed(t->stacks, tgid, (int64_t)l->time_ns);
		if (l->known)
			scan_known(t, member_make(t, tgid), tgid);
		else
			scan_process(t, tgid, since_ns);
		break;
	case WIRE_LOADER:
		if (l->process == LOADER_REMOVING) {
			scan_process(t, tgid, since_ns);
			break;
		}
		probe_stacks_changed(t->stacks, tgid, (int64_t)l->time_ns,
				     l->process == LOADER_REMOVED);
		if (l->known)
			note_growth(t, tgid);
		else
			scan_process(t, tgid, since_ns);
		break;
	case WIRE_NEW:
		scan_process(t, tgid, PROBE_FROM_START);
		t->adopt = true;
		break;
	case WIRE_EXIT:
		if (l->process)
			member_gone(t, tgid);
		break;
	}
	if (!l->stopped)
		return;
	kill((pid_t)tgid, SIGCONT);
	now = host_clock_mono();
	t->stops.n++;
	t->stops.ns += now > (int64_t)l->time_ns ? (uint64_t)(now - (int64_t)l->time_ns) : 0;
}

struct probe_stops probe_targets_stops(const struct probe_targets *t)
{
	return t->stops;
}

void probe_targets_look(struct probe_targets *t)
{
	struct err why;
	bool hooked = library_instances_hooked(t->copies, &why);

	if (looks_around(t))
		find_targets(t);
	for (size_t i = t->members.n; i-- > 0;) {
		struct member *m = &t->members.v[i];

		if (host_proc_sight(m->tgid) == HOST_GONE)
			member_gone(t, m->tgid); /* one that was looked at takes its place */
		/* The hook reports new libraries; without one, look while the process is young,
		 * then rarely. */
		else if (m->unread || (!hooked && (m->looks++ < 10 || m->looks % 10 == 0)))
			scan_process(t, m->tgid, PROBE_FROM_START);
	}
}

void probe_targets_close(struct probe_targets *t)
{
	t->closed = true;
}

void probe_targets_settle(struct probe_targets *t)
{
	struct err ignored = { 0 };

	probe_targets_scan_grown(t);
	if (library_instances_new_python(t->copies) || t->adopt)
		probe_session_adopt(t->session, &ignored);
	t->adopt = false;
}

size_t probe_targets_alive(const struct probe_targets *t)
{
	return t->members.n;
}

size_t probe_targets_with_cuda(const struct probe_targets *t)
{
	return t->cuda;
}

uint32_t probe_targets_new_cuda(struct probe_targets *t)
{
	uint32_t tgid = t->cuda_new.n ? t->cuda_new.v[0] : 0;

	if (tgid)
		memmove(t->cuda_new.v, t->cuda_new.v + 1, --t->cuda_new.n * sizeof(*t->cuda_new.v));
	return tgid;
}
