/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A read of the log gives one record, "6,1234,5678901,-;text" and lines " KEY=value" that go with
 * it; what was overwritten before it was read is passed by.
 */
#include "lib/host/xid.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/number.h"

#define LOG  "/dev/kmsg"
#define GPUS "/proc/driver/nvidia/gpus"

/* The number in the digits of base 10 or 16 at *p, which ends behind them; at most 8 digits. */
static bool parse_number(const char **p, const char *end, unsigned base, uint32_t *out)
{
	const char *begin = *p;
	uint64_t n;

	if (!number_scan(p, end, base, UINT32_MAX, &n) || *p - begin > 8)
		return false;
	*out = (uint32_t)n;
	return true;
}

static bool skip_text(const char **p, const char *end, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(end - *p) < n || memcmp(*p, text, n) != 0)
		return false;
	*p += n;
	return true;
}

bool host_xid_parse(struct bytes line, struct host_xid *out)
{
	static const char head[] = "NVRM: Xid (";
	const char *p = line.n ? memmem(line.p, line.n, head, sizeof(head) - 1) : NULL;
	const char *end = bytes_end(line), *pid, *start = line.p;
	uint32_t priority;

	*out = (struct host_xid){ 0 };
	if (!p)
		return false;
	/* Programs may write to the log too, and repeat what stands there: as another facility than
	 * the kernel's, 0. */
	if (parse_number(&start, end, 10, &priority) && priority >= 8)
		return false;
	p += sizeof(head) - 1;
	skip_text(&p, end, "PCI:");
	if (!parse_number(&p, end, 16, &out->domain) || !skip_text(&p, end, ":") ||
	    !parse_number(&p, end, 16, &out->bus) || !skip_text(&p, end, ":") ||
	    !parse_number(&p, end, 16, &out->device))
		return false;
	p = memchr(p, ')', (size_t)(end - p));
	if (!p || !skip_text(&p, end, "): ") || !parse_number(&p, end, 10, &out->number))
		return false;
	pid = memmem(p, (size_t)(end - p), " pid=", 5);
	if (pid) {
		pid += 5;
		skip_text(&pid, end, "'");
		if (!parse_number(&pid, end, 10, &out->pid))
			out->pid = 0;
	}
	return true;
}

int host_xid_open(struct host_xid_log *log, struct err *e)
{
	log->at = log->n = 0;
	log->fd = open(LOG, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (log->fd >= 0 && lseek(log->fd, 0, SEEK_END) >= 0)
		return 0;
	err_sys(e, "cannot read the kernel log, " LOG);
	host_xid_close(log);
	return ERR_SYS;
}

void host_xid_close(struct host_xid_log *log)
{
	if (log->fd >= 0)
		close(log->fd);
	log->fd = -1;
}

static struct bytes next_line(struct host_xid_log *log)
{
	struct bytes rest = { log->text + log->at, log->n - log->at };
	const char *end = memchr(rest.p, '\n', rest.n);

	if (end)
		rest.n = (size_t)(end - rest.p);
	log->at += rest.n + (end != NULL);
	return rest;
}

bool host_xid_next(struct host_xid_log *log, unsigned *left, struct host_xid *out)
{
	while (log->fd >= 0) {
		ssize_t n;

		while (log->at < log->n)
			if (host_xid_parse(next_line(log), out))
				return true;
		if (*left == 0)
			return false;
		(*left)--;
		n = read(log->fd, log->text, sizeof(log->text));
		if (n < 0 && errno != EINTR && errno != EPIPE)
			return false;
		if (n == 0)
			return false;
		log->at = 0;
		log->n = n > 0 ? (size_t)n : 0;
	}
	return false;
}

/* As nvidia-smi counts: in the order of their addresses. */
static uint32_t index_of(const char *address)
{
	DIR *dir = opendir(GPUS);
	struct dirent *entry;
	uint32_t n = 0;

	while (dir && (entry = readdir(dir)) != NULL)
		n += entry->d_name[0] != '.' && strcmp(entry->d_name, address) < 0;
	if (dir)
		closedir(dir);
	return n;
}

void host_xid_gpu(const struct host_xid *xid, struct host_gpu *out)
{
	char address[40];

	*out = (struct host_gpu){
		.located = true, .domain = xid->domain, .bus = xid->bus, .device = xid->device
	};
	snprintf(address, sizeof(address), "%04x:%02x:%02x.0", xid->domain, xid->bus, xid->device);
	out->index = index_of(address);
	snprintf(out->uuid, sizeof(out->uuid), "PCI:%04x:%02x:%02x", xid->domain, xid->bus,
		 xid->device);
}
