/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for the ends of pipes in /proc/PID/fd of all processes; whether a descriptor reads or
 * writes is in its fdinfo.
 */
#include "lib/record/pipe_holders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/host/clock.h"
#include "lib/host/proc.h"
#include "lib/host/text.h"

#define REST	       50 /* a pass of so long is followed by that many times as long without one */
#define REST_NS	       1000000 /* but by that at least */
#define WANTED_MAX     64
#define LATE_NAMES_MAX 65536 /* more are forgotten all at once */
#define FDINFO_MAX     4096  /* bytes: the flags are in the first lines */

static bool pipe_inode(int folder, const char *name, uint64_t *inode)
{
	char to[64];
	ssize_t n = readlinkat(folder, name, to, sizeof(to) - 1);

	to[n > 0 ? n : 0] = 0;
	return sscanf(to, "pipe:[%" SCNu64 "]", inode) == 1;
}

static uint64_t told_key(uint64_t inode, bool writes)
{
	return inode << 1 | writes;
}

void pipe_holders_want(struct pipe_holders *p, uint32_t tgid, uint32_t process, uint32_t fd,
		       bool writes, bool again)
{
	struct record_pipe_wait w = { .tgid = tgid, .process = process, .fd = fd, .writes = writes };
	char path[64];

	if (p->wanted.n >= WANTED_MAX)
		return;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd/%" PRIu32, tgid, fd);
	if (!pipe_inode(AT_FDCWD, path, &w.inode) ||
	    (!again && map_get(&p->told, told_key(w.inode, writes), NULL)))
		return;
	for (size_t i = 0; i < p->wanted.n; i++)
		if (p->wanted.v[i].inode == w.inode && p->wanted.v[i].writes == writes)
			return;
	if (p->told.n > LATE_NAMES_MAX)
		map_clear(&p->told);
	map_put(&p->told, told_key(w.inode, writes), 1);
	vec_push(&p->wanted, w);
}

bool pipe_holders_due(const struct pipe_holders *p, int64_t now_ns)
{
	return p->wanted.n && now_ns >= p->next_ns;
}

/* O_RDONLY, O_WRONLY or O_RDWR; -1: it is closed. */
static int access_mode(uint32_t tgid, const char *fd)
{
	struct buf text = { 0 };
	struct err ignored = { 0 };
	struct bytes line;
	int mode = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fdinfo/%.16s", tgid, fd);
	if (read_file(path, &text, FDINFO_MAX, &ignored) == 0) {
		line = host_text_line(buf_bytes(&text), "flags:");
		if (line.n) /* octal; behind it stands a newline */
			mode = (int)strtol(line.p, NULL, 8) & O_ACCMODE;
	}
	buf_free(&text);
	return mode;
}

static void add_holder(struct record_pipe_wait *w, uint32_t tgid)
{
	struct record_pipe_holder *last =
		w->holders && w->holders <= RECORD_PIPE_HOLDERS ? &w->holder[w->holders - 1] : NULL;
	struct host_process p = { 0 };
	struct err ignored = { 0 };

	if (last && last->tgid == tgid)
		return;
	if (w->holders++ >= RECORD_PIPE_HOLDERS)
		return;
	last = &w->holder[w->holders - 1];
	last->tgid = tgid;
	if (host_proc_read(tgid, &p, &ignored) == 0)
		memcpy(last->comm, p.comm, sizeof(last->comm));
}

static void check_fd(struct pipe_holders *p, uint32_t tgid, const char *fd, uint64_t inode)
{
	int mode = -2;

	for (size_t i = 0; i < p->wanted.n; i++) {
		struct record_pipe_wait *w = &p->wanted.v[i];

		if (w->inode != inode)
			continue;
		if (mode == -2)
			mode = access_mode(tgid, fd);
		if (mode == O_RDWR || mode == (w->writes ? O_RDONLY : O_WRONLY))
			add_holder(w, tgid);
	}
}

/* Checks all descriptors of a process. False: no permission. */
static bool scan_process(struct pipe_holders *p, uint32_t tgid)
{
	struct dirent *entry;
	uint64_t inode;
	char path[32];
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd", tgid);
	fds = opendir(path);
	if (!fds)
		return errno != EACCES && errno != EPERM;
	while ((entry = readdir(fds)) != NULL)
		if (pipe_inode(dirfd(fds), entry->d_name, &inode))
			check_fd(p, tgid, entry->d_name, inode);
	closedir(fds);
	return true;
}

void pipe_holders_find(struct pipe_holders *p, int64_t now_ns, record_pipe_fn *fn, void *ctx)
{
	int64_t took = host_clock_mono();
	struct host_pids all = { 0 };
	struct err ignored = { 0 };
	bool unseen = false;

	if (p->wanted.n && host_proc_all(&all, &ignored) == 0) {
		for (size_t i = 0; i < all.n; i++)
			unseen |= !scan_process(p, all.v[i]);
		for (size_t i = 0; i < p->wanted.n; i++) {
			p->wanted.v[i].unseen = unseen;
			fn(ctx, &p->wanted.v[i]);
		}
	}
	host_pids_free(&all);
	p->wanted.n = 0;
	took = host_clock_mono() - took;
	p->next_ns = now_ns + (took * REST > REST_NS ? took * REST : REST_NS);
}

void pipe_holders_again(struct pipe_holders *p)
{
	map_clear(&p->told);
}

void pipe_holders_free(struct pipe_holders *p)
{
	map_free(&p->told);
	vec_free(&p->wanted);
}
