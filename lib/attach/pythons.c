/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where several mapped files define a runtime, the executable's is the live one: the others'
 * symbols are bound to it.
 */
#include "lib/attach/pythons.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/host/proc.h"

struct probe_pythons {
	struct probe_session *session;
	struct probe_stacks *stacks;
	VEC(struct probe_python_file *) files;
	struct file_users uses;
	struct map by_file;	  /* hash of device and inode -> index */
	struct map runtimes;	  /* tgid -> address of its runtime's state; */
	struct map runtime_bytes; /* and how large that is */
	struct probe_fds links;
	uint64_t told; /* how often a process was */
	uint32_t roomless;

	/* The process being looked at. */
	uint32_t tgid;
	uint64_t last; /* file_key of the mapping before */
	uint64_t bias;
	size_t found; /* index + 1 of its runtime */
};

const char probe_pythons_no_room[] =
	"the kernel side follows the Python of 4096 processes at a time, and this is one more";

int probe_pythons_new(struct probe_pythons **out, struct probe_session *session,
		      struct probe_stacks *stacks, struct err *e)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return err_nomem(e);
	(*out)->session = session;
	(*out)->stacks = stacks;
	return 0;
}

void probe_pythons_free(struct probe_pythons *p)
{
	if (!p)
		return;
	probe_link_abandon(&p->links);
	for (size_t i = 0; i < p->files.n; i++) {
		sym_elf_free(p->files.v[i]->file);
		free(p->files.v[i]->path);
		free(p->files.v[i]);
	}
	vec_free(&p->files);
	file_users_free(&p->uses);
	map_free(&p->by_file);
	map_free(&p->runtimes);
	map_free(&p->runtime_bytes);
	free(p);
}

void probe_pythons_begin(struct probe_pythons *p, uint32_t tgid)
{
	p->tgid = tgid;
	p->last = 0;
	p->found = 0;
}

/* Numbers of inodes are those of a file system: another one has the same. */
static uint64_t file_key(const struct host_mapping *m)
{
	const uint64_t file[2] = { m->inode, (uint64_t)m->major << 32 | m->minor };

	return hash_bytes(file, sizeof(file), 1);
}

/* Without it, every walk reads all code objects again. */
static void count_freed(struct probe_pythons *p, struct probe_python_file *f, const char *path)
{
	struct probe_site site = { .offset = f->python.freed };
	struct err ignored = { 0 };
	bool failed = false;

	f->counted = f->python.kind == SYM_PYTHON_KNOWN && site.offset &&
		     probe_link_attach(probe_session_freed(p->session), path, path, &site, 1,
				       &failed, &p->links, &ignored) == 1;
}

/* False: it could not be opened. */
static bool read_file_of(struct probe_pythons *p, struct probe_python_file *f,
			 const struct host_mapping *m)
{
	struct err ignored = { 0 };
	int fd = host_maps_open(p->tgid, m);
	char path[32];

	if (fd < 0 || sym_elf_open_fd(&f->file, fd, m->path.p, &ignored)) {
		close(fd);
		return false;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	sym_python_read(&f->python, f->file, m->path.p);
	if (f->python.kind != SYM_PYTHON_NONE)
		f->path = strdup(m->path.p);
	if (f->path) {
		memcpy(f->build_id, sym_elf_build_id(f->file), SYM_BUILD_ID);
		count_freed(p, f, path);
	} else {
		f->python.kind = SYM_PYTHON_NONE;
		sym_elf_free(f->file);
		f->file = NULL;
	}
	close(fd);
	return true;
}

/* Index + 1; 0: no memory, or its process has ended and it cannot be read: the next one has it,
 * too. */
static size_t file_of(struct probe_pythons *p, const struct host_mapping *m)
{
	struct probe_python_file *f;
	uint64_t i;
	bool gone;

	if (map_get(&p->by_file, file_key(m), &i))
		return (size_t)i + 1;
	f = calloc(1, sizeof(*f));
	if (!f)
		return 0;
	f->major = m->major;
	f->minor = m->minor;
	f->inode = m->inode;
	gone = !read_file_of(p, f, m) && host_proc_sight(p->tgid) == HOST_GONE;
	if (gone || !vec_push(&p->files, f)) {
		sym_elf_free(f->file);
		free(f->path);
		free(f);
		return 0;
	}
	map_put(&p->by_file, file_key(m), p->files.n - 1);
	return p->files.n;
}

bool probe_pythons_mapping(struct probe_pythons *p, const struct host_mapping *m, bool exe)
{
	const struct probe_python_file *f;
	size_t i;

	if (!m->executable || m->inode == 0 || file_key(m) == p->last)
		return false;
	p->last = file_key(m);
	i = file_of(p, m);
	f = i ? p->files.v[i - 1] : NULL;
	if (!f || f->python.kind == SYM_PYTHON_NONE)
		return false;
	if ((p->found && !exe) || (f->python.kind == SYM_PYTHON_KNOWN &&
				   !sym_python_bias(f->file, m->start, m->offset, &p->bias)))
		return true;
	probe_stacks_loops(p->stacks, m, f->python.loops, f->python.nloops);
	p->found = i;
	return true;
}

void probe_pythons_ended(struct probe_pythons *p, uint32_t tgid, uint32_t process)
{
	file_users_ended(&p->uses, tgid, process);
}

void probe_pythons_forget(struct probe_pythons *p, const struct gone_processes *gone)
{
	uint64_t tgid;
	size_t at = 0;

	file_users_forget(&p->uses, gone);
	while (map_each(&gone->numbers, &at, &tgid, NULL)) {
		map_del(&p->runtimes, tgid);
		map_del(&p->runtime_bytes, tgid);
	}
}

bool probe_pythons_end(struct probe_pythons *p)
{
	const struct probe_python_file *f = p->found ? p->files.v[p->found - 1] : NULL;
	struct python_process process = { 0 };
	struct file_user *use;
	bool is_new;
	int told;

	map_del(&p->runtimes, p->tgid);
	if (!f)
		return false;
	use = file_users_of(&p->uses, p->tgid, (uint32_t)p->found - 1, &is_new);
	if (f->python.kind != SYM_PYTHON_KNOWN)
		return false;
	process.runtime = p->bias + f->python.runtime;
	if (map_put(&p->runtime_bytes, p->tgid, f->python.runtime_bytes))
		map_put(&p->runtimes, p->tgid, process.runtime); /* else waits for it stay waits */
	process.layout = f->python.layout;
	process.slot = f->python.slot.at;
	process.slot_pair = f->python.slot.pair ? p->bias + f->python.slot.pair : 0;
	process.counted = f->counted;
	process.freed = ++p->told << 32; /* no count of before is met again */
	told = probe_session_python(p->session, p->tgid, &process);
	/* Room that was there when it had ended gave it no frames. */
	if (use && (told < 0 || probe_session_is_target(p->session, p->tgid)))
		use->no_room = told < 0;
	if (told < 0 && !p->roomless)
		p->roomless = p->tgid;
	return told > 0;
}

void probe_pythons_inherit(struct probe_pythons *p, uint32_t parent, uint32_t child)
{
	uint32_t newest = file_users_newest(&p->uses, parent);
	const struct file_user *of = newest ? &p->uses.v.v[newest - 1] : NULL;
	uint64_t runtime, bytes;
	uint32_t file;
	bool no_room, is_new;
	struct file_user *use;

	map_del(&p->runtimes, child);
	if (!of || of->process)
		return;
	file = of->file;
	no_room = of->no_room;
	use = file_users_of(&p->uses, child, file, &is_new);
	if (use)
		use->no_room = no_room;
	if (map_get(&p->runtimes, parent, &runtime) && map_get(&p->runtime_bytes, parent, &bytes) &&
	    map_put(&p->runtime_bytes, child, bytes))
		map_put(&p->runtimes, child, runtime); /* else waits for it stay waits */
}

uint32_t probe_pythons_roomless(const struct probe_pythons *p)
{
	return p->roomless;
}

bool probe_pythons_gil(const struct probe_pythons *p, uint32_t tgid, uint64_t address)
{
	uint64_t start, bytes;

	return map_get(&p->runtimes, tgid, &start) && map_get(&p->runtime_bytes, tgid, &bytes) &&
	       address - start < bytes;
}

struct probe_python_file *const *probe_pythons_files(const struct probe_pythons *p, size_t *n)
{
	*n = p->files.n;
	return p->files.v;
}

const struct file_users *probe_pythons_uses(const struct probe_pythons *p)
{
	return &p->uses;
}
