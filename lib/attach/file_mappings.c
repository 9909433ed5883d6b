/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the real device and inode behind mappings of overlay file systems. A BPF iterator reads the
 * mappings after /proc was read. While a process changes its mappings the iterator may miss one of
 * them, since the kernel drops the lock on the list for the change: then the file is mapped here,
 * where nothing changes, and read again.
 */
#include "lib/attach/file_mappings.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/bisect.h"

#define MAPPED_MAX 65536u /* more than the kernel lets a process have, by default */

static bool on_mapping(void *ctx, const struct wire_mapped *m)
{
	struct file_mappings *p = ctx;

	return p->v.n < MAPPED_MAX && vec_push(&p->v, *m);
}

/* The mapping that starts there; NULL: none does. */
static const struct wire_mapped *mapping_at(const struct file_mappings *p, uint64_t start)
{
	size_t lo = 0, hi = p->v.n;

	bisect(i, lo, hi, p->v.v[i].start < start);
	return lo < p->v.n && p->v.v[lo].start == start ? &p->v.v[lo] : NULL;
}

static void set_device(struct host_mapping *m, const struct wire_mapped *real)
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
	struct stat st;
	void *page = MAP_FAILED;
	int fd;

	fd = host_maps_open(tgid, m);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_ino == m->inode)
		page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return;
	probe_session_mapped(s, (uint32_t)getpid(), on_mapping, &own);
	real = mapping_at(&own, (uint64_t)(uintptr_t)page);
	if (real)
		set_device(m, real);
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
		probe_session_mapped(s, tgid, on_mapping, p);
	p->asked = true;
	real = mapping_at(p, m->start);
	if (real)
		set_device(m, real);
	else if (p->v.n)
		see_here(s, tgid, m);
}

void file_mappings_free(struct file_mappings *p)
{
	vec_free(&p->v);
}
