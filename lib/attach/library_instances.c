/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariant: a file is planned and attached at most once, keyed by device and inode as the kernel
 * keys its probes; a process appears once per copy.
 */
#include "lib/attach/library_instances.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/host/clock.h"
#include "lib/host/maps.h"
#include "lib/host/proc.h"
#include "lib/attach/file_mappings.h"
#include "lib/attach/loader_hooks.h"
#include "lib/attach/nvtx_rows.h"
#include "lib/attach/static_runtime.h"
#include "lib/symbols/elf.h"

struct library_instances {
	struct probe_session *session;
	struct probe_stacks *stacks;
	struct probe_unwinds *unwinds; /* may be NULL */
	struct probe_pythons *pythons;
	bool new_python;
	VEC(struct library_instance) copies;
	struct file_users uses;
	VEC(struct probe_uncovered) uncovered;
	VEC(struct mapped_file) executables; /* looked at, and without a runtime */
	struct loader_hooks hooks;
	struct map known; /* hash of device and inode -> whether it starts processes: files that the
			   * kernel side knows */
	struct probe_fds marks;
	struct probe_tiers tiers;
};

int library_instances_new(struct library_instances **out, struct probe_session *session,
			  struct probe_stacks *stacks, struct probe_pythons *pythons,
			  struct probe_unwinds *unwinds, struct err *e)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return err_nomem(e);
	(*out)->session = (*out)->tiers.session = (*out)->hooks.session = session;
	(*out)->stacks = stacks;
	(*out)->pythons = pythons;
	(*out)->unwinds = unwinds;
	return 0;
}

bool library_instances_detach(struct library_instances *c)
{
	bool all = probe_tiers_detach(&c->tiers);

	if (probe_session_programs(c->session)->link == PROBE_LINK_PERF) {
		probe_link_silence(&c->hooks.fds);
		probe_link_silence(&c->marks);
		return true;
	}
	all = probe_link_detach(&c->hooks.fds) && all;
	return probe_link_detach(&c->marks) && all;
}

struct probe_tiers *library_instances_tiers(struct library_instances *c)
{
	return &c->tiers;
}

void library_instances_free(struct library_instances *c)
{
	if (!c)
		return;
	library_instances_detach(c);
	probe_link_abandon(&c->hooks.fds);
	probe_link_abandon(&c->marks);
	probe_tiers_free(&c->tiers);
	for (size_t i = 0; i < c->copies.n; i++) {
		free(c->copies.v[i].path);
		probe_plan_free(&c->copies.v[i].plan);
	}
	vec_free(&c->copies);
	file_users_free(&c->uses);
	vec_free(&c->uncovered);
	vec_free(&c->executables);
	map_free(&c->known);
	vec_free(&c->hooks.files);
	free(c);
}

/* Returns are probed only where a function returns what the rest is known by. */
static size_t attach_nvtx(struct library_instances *c, const char *path, const char *name,
			  const struct probe_site *sites, size_t n, bool *failed, struct err *first)
{
	struct probe_programs programs = *probe_session_nvtx(c->session);
	struct probe_site *part = calloc(n, sizeof(*part));
	size_t attached = 0, k;

	for (int returns = 1; part && returns >= 0; returns--) {
		k = 0;
		for (size_t i = 0; i < n; i++)
			if (probe_nvtx_returns(sites[i].cookie) == returns)
				part[k++] = sites[i];
		if (!returns)
			programs.exit = -1;
		attached +=
			probe_link_attach(&programs, path, name, part, k, failed, &c->marks, first);
	}
	if (!part)
		err_nomem(first);
	free(part);
	return attached;
}

/* at: its index among the copies; fd: the file, taken over. */
static void attach_copy(struct library_instances *c, struct library_instance *copy, size_t at,
			int fd, const char *path, const char *name)
{
	bool nvtx = copy->plan.library == PROBE_NVTX;
	size_t n = copy->plan.n;
	struct probe_site *sites = calloc(n ? n : 1, sizeof(*sites));
	bool *failed = calloc(n ? n : 1, sizeof(*failed));
	int64_t began = host_clock_mono();

	copy->requested = n;
	copy->link =
		(nvtx ? probe_session_nvtx(c->session) : probe_session_programs(c->session))->link;
	for (size_t i = 0; sites && i < n; i++) {
		sites[i] = copy->plan.v[i].site;
		sites[i].cookie |= COOKIE_COPY(at);
	}
	if (!sites || !failed) {
		close(fd);
		err_nomem(&copy->reason);
	} else if (nvtx) {
		copy->attached = attach_nvtx(c, path, name, sites, n, failed, &copy->reason);
		close(fd);
	} else {
		copy->attached =
			probe_tiers_add(&c->tiers, fd, name, sites, n, failed, &copy->reason);
	}
	copy->took_ns = (uint64_t)(host_clock_mono() - began);
	probe_plan_sites(&copy->plan, copy->sites, sizeof(copy->sites));
	free(sites);
	free(failed);
}

/* Opens the mapped file: what is mapped, or, where the process or the mapping has gone meanwhile (a
 * loader maps a library in several steps), the file of that name, if it is the same for us. -1:
 * there is none any more. */
static int open_file(uint32_t tgid, const struct host_mapping *m)
{
	char path[4400];
	struct stat st;
	int fd;

	fd = host_maps_open(tgid, m);
	for (int k = 0; fd < 0 && k < 2; k++) {
		if (k == 0)
			snprintf(path, sizeof(path), "/proc/%u/root%s", tgid, m->path.p);
		else
			snprintf(path, sizeof(path), "%s", m->path.p);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0 && (fstat(fd, &st) || st.st_ino != m->inode ||
				major(st.st_dev) != m->major || minor(st.st_dev) != m->minor)) {
			close(fd);
			fd = -1;
		}
	}
	return fd;
}

/* Plans and attaches the copy that is or will be at that place. False: the file holds nothing to
 * probe. */
static bool prepare_copy(struct library_instances *c, struct library_instance *copy, size_t at,
			 uint32_t tgid, const struct host_mapping *m, enum probe_library library,
			 bool is_static)
{
	int fd = open_file(tgid, m);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	probe_plan_free(&copy->plan);
	copy->reason = (struct err){ 0 };
	copy->tried = tgid;
	copy->gone = fd < 0;
	if (copy->gone && host_proc_sight(tgid) == HOST_GONE) {
		err_set(&copy->reason, ERR_CANNOT, "process %u ended before its %s could be opened",
			tgid, m->path.p);
	} else if (copy->gone) {
		copy->tried = 0; /* it may go well at the next look */
		err_set(&copy->reason, ERR_CANNOT, "%s, as mapped by process %u, cannot be opened",
			m->path.p, tgid);
	} else if (probe_plan_file(&copy->plan, path, library, is_static, &copy->reason) == 0 &&
		   copy->plan.n == 0) {
		probe_plan_free(&copy->plan);
		copy->stripped = is_static && static_runtime_inside(path);
		if (is_static && !copy->stripped) {
			close(fd);
			return false;
		}
		if (copy->stripped)
			err_set(&copy->reason, ERR_CANNOT, "%s", static_runtime_reason);
		else
			err_set(&copy->reason, ERR_CANNOT, "no symbol of the table is in %s",
				m->path.p);
	}
	copy->plan.library = library;
	if (copy->plan.n)
		attach_copy(c, copy, at, fd, path, m->path.p);
	else if (fd >= 0)
		close(fd);
	if (is_static && copy->gone && !copy->plan.n)
		return false;
	copy->attached_ns = (uint64_t)host_clock_boot();
	copy->attached_mono_ns = host_clock_mono();
	return true;
}

/* Index of the copy; -1: the file holds nothing to probe. */
static int copy_of(struct library_instances *c, uint32_t tgid, const struct host_mapping *m,
		   enum probe_library library, bool is_static)
{
	struct library_instance copy = { .major = m->major, .minor = m->minor, .inode = m->inode };

	for (size_t i = 0; i < c->copies.n; i++)
		if (c->copies.v[i].inode == m->inode && c->copies.v[i].major == m->major &&
		    c->copies.v[i].minor == m->minor) {
			if (c->copies.v[i].gone && tgid != c->copies.v[i].tried)
				prepare_copy(c, &c->copies.v[i], i, tgid, m, library, is_static);
			return (int)i;
		}
	if (!prepare_copy(c, &copy, c->copies.n, tgid, m, library, is_static))
		return -1;
	copy.path = strdup(m->path.p);
	if (!copy.path || !vec_push(&c->copies, copy)) {
		free(copy.path);
		probe_plan_free(&copy.plan);
		return -1;
	}
	return (int)c->copies.n - 1;
}

/* How much of the process's life had no probes on this copy: nothing when it was stopped where the
 * copy appeared, or began after the probes were there. */
static uint64_t gap_of(const struct library_instance *copy, uint32_t tgid, int64_t since_ns)
{
	struct host_process p;
	struct err ignored = { 0 };

	if (copy->attached_mono_ns <= since_ns)
		return 0;
	if (host_proc_read(tgid, &p, &ignored))
		return since_ns == PROBE_FROM_START ? 0
						    : (uint64_t)(copy->attached_mono_ns - since_ns);
	return copy->attached_ns > p.start_ns ? copy->attached_ns - p.start_ns : 0;
}

/* Calls of the process through that copy are not recorded from since_ns on, if it made any, until
 * there were probes. */
static void leave_uncovered(struct library_instances *c, uint32_t tgid, int file, int64_t since_ns,
			    uint64_t gap_ns)
{
	const struct library_instance *copy = &c->copies.v[file];
	struct probe_uncovered u = { .tgid = tgid,
				     .file = (uint32_t)file,
				     .since_ns = since_ns,
				     .until_ns =
					     copy->attached ? copy->attached_mono_ns : PROBE_NEVER,
				     .from_start = since_ns == PROBE_FROM_START };

	if (copy->plan.library == PROBE_NVTX || (copy->attached && gap_ns == 0))
		return;
	if (since_ns == PROBE_STOPPED)
		u.since_ns = copy->attached_mono_ns;
	/* What has no probes at all was found when the process was gap_ns old at least. */
	if (since_ns == PROBE_FROM_START)
		u.since_ns = copy->attached_mono_ns - (int64_t)gap_ns;
	/* Without memory for it, COVERAGE at the end has it still. */
	vec_push(&c->uncovered, u);
}

static void add_use(struct library_instances *c, uint32_t tgid, int copy, int64_t since_ns)
{
	bool is_new;
	struct file_user *u = file_users_of(&c->uses, tgid, (uint32_t)copy, &is_new);

	if (!u || !is_new || c->copies.v[copy].stripped)
		return;
	u->gap_ns = gap_of(&c->copies.v[copy], tgid, since_ns);
	leave_uncovered(c, tgid, copy, since_ns, u->gap_ns);
}

int library_instances_inherit(struct library_instances *c, uint32_t parent, uint32_t child,
			      int64_t since_ns)
{
	uint32_t newest = file_users_newest(&c->uses, parent);
	int found = 0;

	if (!c->hooks.any || !probe_stacks_inherit(c->stacks, parent, child))
		return -1;
	probe_pythons_inherit(c->pythons, parent, child);
	probe_unwinds_look(c->unwinds, child, false);
	/* A use by index: the list grows meanwhile. */
	for (uint32_t i = newest; i; i = c->uses.v.v[i - 1].before) {
		const struct file_user *of = &c->uses.v.v[i - 1];
		int file = (int)of->file;

		if (of->process)
			break; /* it has ended, so that the number is not this parent's */
		found += c->copies.v[file].plan.library != PROBE_NVTX;
		add_use(c, child, file, since_ns);
	}
	return found;
}

void library_instances_unseen(struct library_instances *c, uint32_t tgid, int64_t since_ns)
{
	/* It loads several, one after the other. */
	for (size_t i = c->uncovered.n; i-- > 0;)
		if (c->uncovered.v[i].tgid == tgid)
			return;
	vec_push(&c->uncovered, (struct probe_uncovered){ .tgid = tgid,
							  .file = PROBE_NO_FILE,
							  .since_ns = since_ns,
							  .until_ns = PROBE_NEVER });
}

const struct probe_uncovered *library_instances_uncovered(const struct library_instances *c,
							  size_t *n)
{
	*n = c->uncovered.n;
	return c->uncovered.v;
}

void library_instances_uncovered_told(struct library_instances *c)
{
	c->uncovered.n = 0;
}

void library_instances_ended(struct library_instances *c, uint32_t tgid, uint32_t process)
{
	file_users_ended(&c->uses, tgid, process);
}

void library_instances_forget(struct library_instances *c, const struct gone_processes *gone)
{
	file_users_forget(&c->uses, gone);
}

/* Also of one that has ended: its calls may come out of the ring later than that. */
bool library_instances_whole(const struct library_instances *c, uint32_t tgid)
{
	uint32_t newest = file_users_newest(&c->uses, tgid);

	for (uint32_t i = newest; i; i = c->uses.v.v[i - 1].before)
		if (c->uses.v.v[i - 1].gap_ns)
			return false;
	return newest > 0;
}

struct scanning {
	struct library_instances *c;
	uint32_t tgid;
	int64_t since_ns;
	bool any; /* it maps something: it has not ended */
	int found;
	uint64_t exe_inode; /* as /proc shows it */
	struct mapped_file last;
	bool last_probed; /* there are probes in that file */
	bool last_starts; /* it is an executable or a loader, and was looked at as such */
	bool exe_done;	  /* the executable has been met */
	struct file_mappings mapped;
};

static bool is_known(const struct library_instances *c, const struct host_mapping *m)
{
	for (size_t i = 0; i < c->executables.n; i++)
		if (mapped_file_is(&c->executables.v[i], m))
			return true;
	return false;
}

/* Who loads it later is not stopped for it, where it holds nothing for us. starts: nor who is
 * executed, or begins in it. */
static void note_known(struct library_instances *c, const struct host_mapping *m, bool probed,
		       bool starts)
{
	const uint64_t file[2] = { m->inode, (uint64_t)m->major << 32 | m->minor };
	uint64_t key = hash_bytes(file, sizeof(file), 2), before = false;
	bool known = map_get(&c->known, key, &before);

	if (!m->executable || (known && before >= starts) || !map_put(&c->known, key, starts))
		return;
	probe_session_known(c->session, m->major << 20 | m->minor, m->inode, probed, starts);
}

static bool scan_mapping(void *ctx, const struct host_mapping *shown)
{
	struct scanning *s = ctx;
	struct host_mapping real = *shown;
	const struct host_mapping *m = &real;
	bool exe = shown->inode && shown->inode == s->exe_inode;
	enum probe_library library;
	bool python, inside; /* inside: a runtime may be in it */
	int copy = -1;

	s->any = true;
	file_mappings_see(&s->mapped, s->c->session, s->tgid, &real);
	probe_stacks_maps_add(s->c->stacks, s->tgid, m);
	python = probe_pythons_mapping(s->c->pythons, m, exe);
	if (m->inode == 0)
		return true;
	if (mapped_file_is(&s->last, m)) {
		note_known(s->c, m, s->last_probed || python, s->last_starts);
		return true;
	}
	s->last = (struct mapped_file){ m->major, m->minor, m->inode };
	library = probe_library_of(m->path.p);
	inside = (exe && !s->exe_done) ||
		 (library == PROBE_LIBRARIES && static_runtime_usual(m->path.p));
	if (loader_hooks_is_loader(m->path.p))
		loader_hooks_add(&s->c->hooks, s->tgid, m);
	else if (probe_nvtx_library(m->path.p))
		copy = copy_of(s->c, s->tgid, m, PROBE_NVTX, false);
	else if (library != PROBE_LIBRARIES)
		copy = copy_of(s->c, s->tgid, m, library, false);
	else if (inside && !is_known(s->c, m))
		copy = copy_of(s->c, s->tgid, m, PROBE_CUDART, true);
	if (inside) {
		s->exe_done |= exe;
		if (copy < 0 && !is_known(s->c, m) && host_proc_sight(s->tgid) != HOST_GONE)
			vec_push(&s->c->executables, s->last);
	}
	s->last_probed = copy >= 0 && !s->c->copies.v[copy].stripped;
	s->last_starts =
		copy < 0 && (loader_hooks_is_loader(m->path.p) ? loader_hooks_has(&s->c->hooks, m)
							       : exe && is_known(s->c, m));
	note_known(s->c, m, s->last_probed || python, s->last_starts);
	if (copy >= 0) {
		add_use(s->c, s->tgid, copy, s->since_ns);
		s->found += s->last_probed && s->c->copies.v[copy].plan.library != PROBE_NVTX;
	}
	return true;
}

static uint64_t exe_inode(uint32_t tgid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/exe", tgid);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

int library_instances_scan(struct library_instances *c, uint32_t tgid, int64_t since_ns,
			   struct err *e)
{
	struct scanning s = { .c = c, .tgid = tgid, .since_ns = since_ns };
	size_t loaders = c->hooks.files.n;
	int rc;

	s.exe_inode = exe_inode(tgid);
	/* Before there are probes: the first call is to have its callers. */
	probe_unwinds_look(c->unwinds, tgid,
			   since_ns == PROBE_STOPPED || since_ns == PROBE_FROM_START);
	probe_stacks_maps_begin(c->stacks, tgid);
	probe_pythons_begin(c->pythons, tgid);
	rc = host_maps_read(tgid, scan_mapping, &s, e);
	file_mappings_free(&s.mapped);
	if (rc == 0 && probe_pythons_end(c->pythons))
		c->new_python = true;
	/* Libraries loaded after the mappings were read and before the hook was set were missed. */
	if (rc == 0 && since_ns != PROBE_STOPPED && c->hooks.files.n > loaders)
		return library_instances_scan(c, tgid, since_ns, e);
	if (rc == 0 && !s.any)
		return err_set(e, ERR_CANNOT, "process %u has ended", tgid);
	return rc ? rc : s.found;
}

bool library_instances_new_python(struct library_instances *c)
{
	bool is_new = c->new_python;

	c->new_python = false;
	return is_new;
}

static bool find_cuda(void *ctx, const struct host_mapping *m)
{
	bool *found = ctx;

	*found = m->inode && probe_library_of(m->path.p) != PROBE_LIBRARIES;
	return !*found;
}

bool library_instances_has_cuda(uint32_t tgid)
{
	struct err ignored = { 0 };
	bool found = false;

	host_maps_read(tgid, find_cuda, &found, &ignored);
	return found;
}

const struct library_instance *library_instances_list(const struct library_instances *c, size_t *n)
{
	*n = c->copies.n;
	return c->copies.v;
}

const struct file_users *library_instances_uses(const struct library_instances *c)
{
	return &c->uses;
}

bool library_instances_hooked(const struct library_instances *c, struct err *why)
{
	*why = c->hooks.error;
	return c->hooks.any;
}
