/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call attaches all sites of a file; where the kernel refuses the whole for the sake of one,
 * halves are tried, so that one odd symbol does not cost the others. Invariant: a site is either
 * attached for entry and return or counted as failed.
 */
#include "lib/attach/link.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/vec.h"

#define UPROBE_MULTI_RETURN 1

/* The part of union bpf_attr that BPF_LINK_CREATE reads, as newer kernels know it. */
struct link_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	union {
		struct {
			uint64_t cookie;
		} perf;
		struct {
			uint64_t path, offsets, ref_ctr_offsets, cookies;
			uint32_t cnt, flags, pid, pad;
		} multi;
	};
};

const char *probe_link_name(enum probe_link link)
{
	static const char *const name[] = { "auto", "session", "multi", "perf" };

	return name[link];
}

static int link_multi(int prog, uint32_t type, uint32_t flags, const char *path,
		      const struct probe_site *sites, size_t n)
{
	uint64_t *offsets = calloc(2 * n, sizeof(*offsets));
	struct link_attr a = { .prog_fd = (uint32_t)prog, .attach_type = type };
	size_t i;
	int fd, saved;

	if (!offsets) {
		errno = ENOMEM;
		return -1;
	}
	for (i = 0; i < n; i++) {
		offsets[i] = sites[i].offset;
		offsets[n + i] = sites[i].cookie;
	}
	a.multi.path = (uintptr_t)path;
	a.multi.offsets = (uintptr_t)offsets;
	a.multi.cookies = (uintptr_t)(offsets + n);
	a.multi.cnt = (uint32_t)n;
	a.multi.flags = flags;
	fd = (int)syscall(__NR_bpf, BPF_LINK_CREATE, &a, sizeof(a));
	saved = errno;
	free(offsets);
	errno = saved;
	return fd;
}

static int read_int(const char *path, const char *format, int *value)
{
	FILE *f = fopen(path, "re");
	int ok = f && fscanf(f, format, value) == 1;

	if (f)
		fclose(f);
	if (f && !ok)
		errno = ENOTSUP; /* whatever it is, it is not what is looked for there */
	return ok ? 0 : -1;
}

/* One perf event with its program; the link keeps the event, both descriptors are handed out. */
static int link_perf(int prog, bool ret, const char *path, const struct probe_site *site, int fd[2])
{
	static int type = -1, ret_bit = -1;
	struct perf_event_attr a = { .size = sizeof(a) };
	struct link_attr l = { .prog_fd = (uint32_t)prog, .attach_type = BPF_PERF_EVENT };

	if (type < 0 && read_int("/sys/bus/event_source/devices/uprobe/type", "%d", &type))
		return -1;
	if (ret_bit < 0 &&
	    read_int("/sys/bus/event_source/devices/uprobe/format/retprobe", "config:%d", &ret_bit))
		return -1;
	a.type = (uint32_t)type;
	a.config = ret ? 1ull << ret_bit : 0;
	a.config1 = (uintptr_t)path;
	a.config2 = site->offset;
	fd[0] = (int)syscall(__NR_perf_event_open, &a, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd[0] < 0)
		return -1;
	l.target_fd = (uint32_t)fd[0];
	l.perf.cookie = site->cookie;
	fd[1] = (int)syscall(__NR_bpf, BPF_LINK_CREATE, &l, sizeof(l));
	if (fd[1] < 0) {
		int saved = errno;

		close(fd[0]);
		errno = saved;
		return -1;
	}
	return 0;
}

/* Attach n sites with as few links as the kind allows. Descriptors are added to *fds. */
static int attach_all(const struct probe_programs *p, const char *path,
		      const struct probe_site *sites, size_t n, struct probe_fds *fds)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 };

	if (!vec_reserve(&fds->entries, 2) || !vec_reserve(&fds->returns, 2)) {
		errno = ENOMEM;
		return -1;
	}
	if (p->link == PROBE_LINK_SESSION) {
		in[1] = link_multi(p->entry, PROBE_ATTACH_SESSION, 0, path, sites, n);
		if (in[1] < 0)
			return -1;
	} else if (p->link == PROBE_LINK_MULTI) {
		/* The return first: an entry that is never matched would stay open. */
		if (p->exit >= 0 && (out[1] = link_multi(p->exit, PROBE_ATTACH_MULTI,
							 UPROBE_MULTI_RETURN, path, sites, n)) < 0)
			return -1;
		if ((in[1] = link_multi(p->entry, PROBE_ATTACH_MULTI, 0, path, sites, n)) < 0)
			goto undo;
	} else {
		if (p->exit >= 0 && link_perf(p->exit, true, path, sites, out))
			return -1;
		if (link_perf(p->entry, false, path, sites, in))
			goto undo;
	}
	for (int i = 0; i < 2; i++) {
		if (in[i] >= 0)
			fds->entries.v[fds->entries.n++] = in[i];
		if (out[i] >= 0)
			fds->returns.v[fds->returns.n++] = out[i];
	}
	return 0;
undo:
	n = (size_t)errno;
	for (int i = 0; i < 2; i++)
		if (out[i] >= 0)
			close(out[i]);
	errno = (int)n;
	return -1;
}

size_t probe_link_attach(const struct probe_programs *p, const char *path, const char *name,
			 const struct probe_site *sites, size_t n, bool *failed,
			 struct probe_fds *fds, struct err *first)
{
	size_t half = n / 2;

	if (n == 0)
		return 0;
	if ((p->link != PROBE_LINK_PERF || n == 1) && attach_all(p, path, sites, n, fds) == 0)
		return n;
	if (n == 1) {
		failed[0] = true;
		if (!first->code)
			err_sys(first, "cannot probe %s at %#llx", name,
				(unsigned long long)sites->offset);
		return 0;
	}
	return probe_link_attach(p, path, name, sites, half, failed, fds, first) +
	       probe_link_attach(p, path, name, sites + half, n - half, failed + half, fds, first);
}
