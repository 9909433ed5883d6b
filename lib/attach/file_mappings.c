/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the real device and inode behind mappings of overlay file systems. The kernel is asked
 * after /proc was. Where a process changes its mappings meanwhile the answer may be without one of
 * them (the kernel lets go of the list for who changes it): then the file is mapped here, where
 * nothing moves, and asked for again.
 */
#include "lib/attach/file_mappings.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAPPED_MAX 65536u /* more than the kernel lets a process have, by default */

static bool take(void *ctx, const struct wire_mapped *m)
{
	struct file_mappings *p = ctx;

	return p->v.n < MAPPED_MAX && vec_push(&p->v, *m);
}

/* The mapping that starts there; NULL: none does. */
static const struct wire_mapped *at(const struct file_mappings *p, uint64_t start)
{
	size_t lo = 0, hi = p->v.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (p->v.v[mid].start < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->v.n && p->v.v[lo].start == start ? &p->v.v[lo] : NULL;
}

static void put(struct host_mapping *m, const struct wire_mapped *real)
{
	m->inode = real->inode;
	m->major = real->device >> 20;
	m->minor = real->device & 0xfffff;
}

/* Maps the file that m shows and puts what the kernel says of that. */
static void see_here(struct probe_session *s, uint32_t tgid, struct host_mapping *m)
{
	struct file_mappings own = { 0 };
	const struct wire_mapped *real;
	char path[4400];
	struct stat st;
	void *page = MAP_FAILED;
	int fd;

	fd = open(host_maps_path(tgid, m, path, sizeof(path)), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == m->inode)
		page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return;
	probe_session_mapped(s, (uint32_t)getpid(), take, &own);
	real = at(&own, (uint64_t)(uintptr_t)page);
	if (real)
		put(m, real);
	munmap(page, 1);
	vec_free(&own.v);
}

void file_mappings_see(struct file_mappings *p, struct probe_session *s, uint32_t tgid,
		       struct host_mapping *m)
{
	const struct wire_mapped *real;

	if (m->major || !m->inode)
		return;
	if (!p->asked)
		probe_session_mapped(s, tgid, take, p);
	p->asked = true;
	real = at(p, m->start);
	if (real)
		put(m, real);
	else if (p->v.n)
		see_here(s, tgid, m);
}

void file_mappings_free(struct file_mappings *p)
{
	vec_free(&p->v);
}
