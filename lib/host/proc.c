/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second field of a stat line is the command in parentheses, and a command may hold parentheses
 * and blanks itself: fields are counted from the last closing one.
 */
#include "lib/host/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/host/text.h"

#define STAT_MAX    4096u
#define STATUS_MAX  65536u
#define CMDLINE_MAX (1u << 20)

bool host_stat_parse(struct bytes text, struct host_stat *out)
{
	const char *p = text.p, *end = bytes_end(text), *left, *right;
	uint64_t field[40] = { 0 }, pid;
	size_t n;

	*out = (struct host_stat){ 0 };
	if (!text.p || !host_text_number(&p, end, &pid))
		return false;
	left = memchr(p, '(', (size_t)(end - p));
	right = memrchr(p, ')', (size_t)(end - p));
	if (!left || !right || right < left || end - right < 4)
		return false;
	n = (size_t)(right - left - 1);
	if (n >= sizeof(out->comm))
		n = sizeof(out->comm) - 1;
	memcpy(out->comm, left + 1, n);
	out->pid = (uint32_t)pid;
	out->state = right[2];
	p = right + 3;
	for (unsigned i = 4; i < 40; i++) /* as proc(5) counts them */
		if (!host_text_number(&p, end, &field[i]))
			return false;
	out->ppid = (uint32_t)field[4];
	out->user_ticks = field[14];
	out->system_ticks = field[15];
	out->threads = (uint32_t)field[20];
	out->start_tick = field[22];
	out->rss_pages = field[24];
	out->cpu = (uint32_t)field[39];
	return true;
}

/* The last number of a line: a pid as its innermost namespace has it. */
static bool last_number(struct bytes text, const char *name, uint64_t *out)
{
	struct bytes line = host_text_line(text, name);
	const char *p = line.p;
	bool any = false;

	while (p && host_text_number(&p, line.p + line.n, out))
		any = true;
	return any;
}

/* The second of a line: of real, effective, saved and file system id. */
static bool parse_effective(struct bytes text, const char *name, uint64_t *out)
{
	struct bytes line = host_text_line(text, name);
	const char *p = line.p;

	return p && host_text_number(&p, p + line.n, out) &&
	       host_text_number(&p, line.p + line.n, out);
}

bool host_status_parse(struct bytes text, struct host_status *out)
{
	uint64_t tgid, ppid, uid, gid, ns, rss;

	*out = (struct host_status){ 0 };
	if (!host_text_value(text, "Tgid:", &tgid) || !host_text_value(text, "PPid:", &ppid) ||
	    !parse_effective(text, "Uid:", &uid) || !parse_effective(text, "Gid:", &gid))
		return false;
	out->tgid = (uint32_t)tgid;
	out->ppid = (uint32_t)ppid;
	out->uid = (uint32_t)uid;
	out->gid = (uint32_t)gid;
	if (last_number(text, "NStgid:", &ns) && ns != tgid)
		out->ns_tgid = (uint32_t)ns;
	if (host_text_value(text, "VmRSS:", &rss)) /* kB; kernel threads have none */
		out->rss_bytes = rss * 1024;
	return true;
}

bool host_schedstat_parse(struct bytes text, struct host_schedstat *out)
{
	const char *p = text.p, *end = bytes_end(text);

	*out = (struct host_schedstat){ 0 };
	return p && host_text_number(&p, end, &out->run_ns) &&
	       host_text_number(&p, end, &out->wait_ns) && host_text_number(&p, end, &out->slices);
}

/* One file of a process; a process that is gone and a right that is missing read differently. */
static int read_of(uint32_t pid, const char *file, struct buf *out, size_t max, struct err *e)
{
	char path[96];
	int rc;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", pid, file);
	errno = 0;
	rc = read_file(path, out, max, e);
	if (rc && (errno == ENOENT || errno == ESRCH))
		rc = err_set(e, ERR_CANNOT, "no process %" PRIu32, pid);
	return rc;
}

int host_proc_read(uint32_t pid, struct host_process *out, struct err *e)
{
	struct buf text = { 0 };
	struct host_status status;
	struct host_stat stat;
	int rc;

	*out = (struct host_process){ 0 };
	rc = read_of(pid, "status", &text, STATUS_MAX, e);
	if (rc)
		goto out;
	if (!host_status_parse(buf_bytes(&text), &status)) {
		rc = err_set(e, ERR_DAMAGED, "/proc/%" PRIu32 "/status is not understood", pid);
		goto out;
	}
	buf_reset(&text);
	rc = read_of(status.tgid, "stat", &text, STAT_MAX, e);
	if (rc)
		goto out;
	if (!host_stat_parse(buf_bytes(&text), &stat)) {
		rc = err_set(e, ERR_DAMAGED, "/proc/%" PRIu32 "/stat is not understood", pid);
		goto out;
	}
	out->tgid = status.tgid;
	out->ppid = status.ppid;
	out->ns_tgid = status.ns_tgid;
	out->uid = status.uid;
	out->gid = status.gid;
	out->threads = stat.threads;
	out->state = stat.state;
	out->start_tick = stat.start_tick;
	out->start_ns = stat.start_tick * HOST_TICK_NS;
	memcpy(out->comm, stat.comm, sizeof(out->comm));
out:
	buf_free(&text);
	return rc;
}

/* A file of a thread: as its scheduling statistics where stat is NULL. */
static int read_thread(uint32_t tgid, uint32_t tid, struct host_stat *stat,
		       struct host_schedstat *sched, struct err *e)
{
	struct buf text = { 0 };
	char file[64];
	int rc;

	snprintf(file, sizeof(file), "task/%" PRIu32 "/%s", tid, stat ? "stat" : "schedstat");
	rc = read_of(tgid, file, &text, STAT_MAX, e);
	if (rc == 0 && !(stat ? host_stat_parse(buf_bytes(&text), stat)
			      : host_schedstat_parse(buf_bytes(&text), sched)))
		rc = err_set(e, ERR_DAMAGED, "/proc/%" PRIu32 "/%s is not understood", tgid, file);
	buf_free(&text);
	return rc;
}

int host_proc_thread(uint32_t tgid, uint32_t tid, struct host_stat *out, struct err *e)
{
	return read_thread(tgid, tid, out, NULL, e);
}

int host_proc_schedstat(uint32_t tgid, uint32_t tid, struct host_schedstat *out, struct err *e)
{
	return read_thread(tgid, tid, NULL, out, e);
}

/* Whether a process without an executable is a zombie; else it is a kernel thread. */
static bool is_zombie(uint32_t pid)
{
	struct buf text = { 0 };
	struct host_stat stat;
	bool is = read_of(pid, "stat", &text, STAT_MAX, NULL) == 0 &&
		  host_stat_parse(buf_bytes(&text), &stat) &&
		  (stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1;

	buf_free(&text);
	return is;
}

enum host_sight host_proc_sight(uint32_t pid)
{
	char path[64], to[8];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	if (stat(path, &st))
		return HOST_GONE;
	/* Reading the link takes the right to trace, as maps do; kernel threads have nothing behind
	 * it. */
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", pid);
	if (readlink(path, to, sizeof(to)) >= 0)
		return HOST_OPEN;
	if (errno == EACCES || errno == EPERM)
		return HOST_DENIED;
	return errno == ENOENT && is_zombie(pid) ? HOST_GONE : HOST_OPEN;
}

bool host_proc_killed(uint32_t pid)
{
	static const char *const fields[] = { "\nSigPnd:\t", "\nShdPnd:\t" };
	struct buf text = { 0 };
	struct err ignored = { 0 };
	bool killed = false;

	if (read_of(pid, "status", &text, STATUS_MAX, &ignored) == 0)
		for (unsigned i = 0; i < 2; i++) {
			const char *at = strstr(buf_text(&text), fields[i]);
			uint64_t pending = at ? strtoull(at + strlen(fields[i]), NULL, 16) : 0;

			killed |= pending >> (SIGKILL - 1) & 1;
		}
	buf_free(&text);
	return killed && host_proc_sight(pid) != HOST_GONE;
}

int host_proc_exe(uint32_t pid, struct buf *out, struct err *e)
{
	static const char deleted[] = " (deleted)";
	char path[64], to[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", pid);
	n = readlink(path, to, sizeof(to));
	if (n < 0 && errno == ENOENT && host_proc_sight(pid) != HOST_GONE)
		return 0; /* a kernel thread */
	if (n < 0)
		return errno == ENOENT || errno == ESRCH
			       ? err_set(e, ERR_CANNOT, "no process %" PRIu32, pid)
			       : err_sys(e, "cannot read %s", path);
	if ((size_t)n >= sizeof(deleted) - 1 &&
	    memcmp(to + n - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1) == 0)
		n -= (ssize_t)(sizeof(deleted) - 1);
	buf_add(out, to, (size_t)n);
	return out->failed ? err_nomem(e) : 0;
}

int host_proc_cmdline(uint32_t pid, struct buf *out, struct err *e)
{
	size_t at = out->n;
	int rc = read_of(pid, "cmdline", out, CMDLINE_MAX, e);

	while (out->n > at && out->p[out->n - 1] == 0)
		out->n--;
	for (; at < out->n; at++)
		if (out->p[at] == 0)
			out->p[at] = ' ';
	if (out->p)
		out->p[out->n] = 0;
	return rc;
}

void host_title_parse(struct bytes comm, struct bytes args, struct buf *out)
{
	struct bytes title = { args.p, args.n ? strnlen(args.p, args.n) : 0 };
	const char *slash = title.n && *title.p == '/' ? memrchr(title.p, '/', title.n) : NULL;

	if (slash) {
		title.n -= (size_t)(slash + 1 - title.p);
		title.p = slash + 1;
	}
	title.n = title.n < HOST_TITLE_MAX ? title.n : HOST_TITLE_MAX;
	while (title.n && title.p[title.n - 1] == ' ')
		title.n--;
	if (comm.n == HOST_COMM_MAX && title.n > comm.n && memcmp(title.p, comm.p, comm.n) == 0)
		comm = title;
	buf_add(out, comm.p, comm.n);
}

void host_proc_title(uint32_t pid, struct bytes comm, struct buf *out)
{
	char path[64], args[256];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cmdline", pid);
	fd = comm.n == HOST_COMM_MAX ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		n = read_at(fd, args, sizeof(args), 0);
		close(fd);
	}
	host_title_parse(comm, (struct bytes){ args, n > 0 ? (size_t)n : 0 }, out);
}

void host_pids_free(struct host_pids *pids)
{
	vec_free(pids);
}

/* The names in a folder that are numbers. */
static int numbers_in(const char *path, struct host_pids *out, struct err *e)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int rc = 0;

	if (!dir)
		return err_sys(e, "cannot open %s", path);
	while (rc == 0 && (entry = readdir(dir)) != NULL) {
		const char *p = entry->d_name, *end = p + strlen(p);
		uint64_t pid;

		if (*p >= '0' && *p <= '9' && host_text_number(&p, end, &pid) && p == end &&
		    pid <= UINT32_MAX && !vec_push(out, (uint32_t)pid))
			rc = err_nomem(e);
	}
	closedir(dir);
	return rc;
}

int host_proc_threads(uint32_t tgid, struct host_pids *out, struct err *e)
{
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", tgid);
	rc = numbers_in(path, out, e);
	if (rc && host_proc_sight(tgid) == HOST_GONE)
		rc = err_set(e, ERR_CANNOT, "no process %" PRIu32, tgid);
	return rc;
}

int host_proc_all(struct host_pids *out, struct err *e)
{
	return numbers_in("/proc", out, e);
}

int host_proc_tree(uint32_t pid, struct host_pids *out, struct err *e)
{
	struct host_pids all = { 0 };
	struct map parents = { 0 };
	struct buf text = { 0 };
	size_t first = out->n;
	int rc = host_proc_sight(pid) == HOST_GONE
			 ? err_set(e, ERR_CANNOT, "no process %" PRIu32, pid)
			 : host_proc_all(&all, e);

	if (rc)
		goto out;
	for (size_t i = 0; i < all.n; i++) {
		struct host_stat stat;

		buf_reset(&text);
		if (read_of(all.v[i], "stat", &text, STAT_MAX, NULL) == 0 &&
		    host_stat_parse(buf_bytes(&text), &stat) &&
		    !map_put(&parents, all.v[i], stat.ppid)) {
			rc = err_nomem(e);
			goto out;
		}
	}
	if (!vec_push(out, pid))
		rc = err_nomem(e);
	/* Every member in turn gives its children; a member is there once, so this ends. */
	for (size_t at = first; rc == 0 && at < out->n; at++) {
		for (size_t i = 0; rc == 0 && i < all.n; i++) {
			uint64_t parent;

			if (map_get(&parents, all.v[i], &parent) && parent == out->v[at]) {
				map_del(&parents, all.v[i]);
				if (all.v[i] != pid && !vec_push(out, all.v[i]))
					rc = err_nomem(e);
			}
		}
	}
out:
	buf_free(&text);
	map_free(&parents);
	host_pids_free(&all);
	return rc;
}
