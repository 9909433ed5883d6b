/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what lay at an address of a process: from its memory, or from the file that was mapped
 * there.
 */
#include "lib/attach/stacks_internal.h"

#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/io.h"

struct process_maps *probe_stacks_maps_of(const struct probe_stacks *s, uint32_t tgid)
{
	uint64_t i;

	return map_get(&s->by_tgid, tgid, &i) ? s->processes.v[i] : NULL;
}

struct module *probe_stacks_module_of(const struct probe_stacks *s, const struct file_range *r)
{
	for (size_t i = s->modules.n; i-- > 0;) {
		struct module *v = s->modules.v[i];

		if (v->inode == r->inode && v->major == r->major && v->minor == r->minor)
			return v;
	}
	return NULL;
}

/* Up to n bytes of the process's memory, up to the first that cannot be read. Pages come in as if
 * the process touched them. */
static size_t read_memory(uint32_t tgid, uint64_t address, void *out, size_t n)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = address + n;
	struct iovec here = { out, n }, there[8];
	unsigned pages = 0;
	ssize_t got;

	if (end < address)
		return 0;
	/* A part by page: one that cannot be read ends what is read, in front of it. */
	for (uint64_t at = address; at < end && pages < 8; pages++) {
		uint64_t next = at - at % page + page;

		next = next < end && next > at ? next : end;
		there[pages] = (struct iovec){ (void *)(uintptr_t)at, next - at };
		at = next;
	}
	got = process_vm_readv((pid_t)tgid, &here, 1, there, pages, 0);
	return got < 0 ? 0 : (size_t)got;
}

static size_t read_file_range(const struct probe_stacks *s, const struct file_range *r,
			      uint64_t address, void *out, size_t n)
{
	const struct module *v = probe_stacks_module_of(s, r);
	ssize_t got;

	if (!v || v->fd < 0)
		return 0;
	if (n > r->end - address)
		n = r->end - address;
	got = read_at(v->fd, out, n, (off_t)(address - r->start + r->offset));
	return got < 0 ? 0 : (size_t)got;
}

size_t probe_stacks_bytes(const struct probe_stacks *s, uint32_t tgid, uint64_t address,
			  int64_t time_ns, void *out, size_t n)
{
	const struct process_maps *p = probe_stacks_maps_of(s, tgid);
	const struct file_range *r = p ? file_ranges_find(&p->files, address, time_ns) : NULL;
	size_t got = 0;

	if (p && p->changed_ns && time_ns >= p->changed_ns)
		r = NULL; /* how is not known */
	/* What lies there now is what lay there then. */
	if (!(p && p->ended) && !(p && p->removed_ns > time_ns) && !(r && r->until_ns != INT64_MAX))
		got = read_memory(tgid, address, out, n);
	return got || !r ? got : read_file_range(s, r, address, out, n);
}
