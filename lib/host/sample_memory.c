/* SPDX-License-Identifier: Apache-2.0 */
/* Names of lines are those of the kernel's documentation; zones of one kind are added up. */
#include "lib/host/sample_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/host/reread.h"
#include "lib/host/text.h"

#define NO_LIMIT (1ull << 62) /* version 1 says a number near 2^63 for none */

static bool has_prefix(const char *p, const char *end, const char *with)
{
	size_t n = strlen(with);

	return (size_t)(end - p) >= n && memcmp(p, with, n) == 0;
}

bool host_vm_parse(struct bytes text, struct host_vm *out)
{
	const char *p = text.p, *end = bytes_end(text);
	bool any = false;

	*out = (struct host_vm){ 0 };
	while (p && p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p)),
			   *stop = newline ? newline : end;
		const char *number = memchr(p, ' ', (size_t)(stop - p));
		uint64_t n;

		if (number && host_text_number(&number, stop, &n)) {
			any = true;
			if (has_prefix(p, stop, "pgalloc_"))
				out->allocated += n;
			else if (has_prefix(p, stop, "pgfree "))
				out->freed = n;
			else if (has_prefix(p, stop, "allocstall"))
				out->alloc_stalls += n;
			else if (has_prefix(p, stop, "compact_stall "))
				out->compact_stalls = n;
			else if (has_prefix(p, stop, "pgmajfault "))
				out->major_faults = n;
			else if (has_prefix(p, stop, "pswpin "))
				out->swap_in = n;
			else if (has_prefix(p, stop, "pswpout "))
				out->swap_out = n;
			else if (has_prefix(p, stop, "oom_kill "))
				out->oom_kills = n;
		}
		p = newline ? newline + 1 : end;
	}
	return any;
}

bool host_faults_parse(struct bytes text, uint64_t *minor, uint64_t *major)
{
	/* A name may hold anything, also brackets: the last one ends it. "R ppid pgrp session tty
	 * tpgid flags minflt cminflt majflt" follow. */
	const char *p = text.n ? memrchr(text.p, ')', text.n) : NULL, *end = bytes_end(text);

	for (unsigned field = 0; p && field < 10; field++) {
		while (p < end && *p != ' ')
			p++;
		while (p < end && *p == ' ')
			p++;
		if (field == 7 && !host_text_number(&p, end, minor))
			return false;
		if (field == 9)
			return host_text_number(&p, end, major);
	}
	return false;
}

bool host_io_parse(struct bytes text, uint64_t *read_bytes, uint64_t *write_bytes)
{
	return host_text_value(text, "read_bytes:", read_bytes) &&
	       host_text_value(text, "write_bytes:", write_bytes);
}

static int open_in(const char *folder, const char *name)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

bool host_memory_group_open(struct host_memory_group *g, const char *folder)
{
	*g = (struct host_memory_group){ .used = open_in(folder, "memory.current") };
	g->v1 = g->used < 0;
	if (g->v1) {
		g->used = open_in(folder, "memory.usage_in_bytes");
		g->limit = open_in(folder, "memory.limit_in_bytes");
		g->events = open_in(folder, "memory.failcnt");
		g->kills = open_in(folder, "memory.oom_control");
	} else {
		g->limit = open_in(folder, "memory.max");
		/* Hits of its own limits (since Linux 5.2; before, also of those below), and
		 * everybody killed in it. */
		g->events = open_in(folder, "memory.events.local");
		g->kills = open_in(folder, "memory.events");
	}
	if (g->used >= 0)
		return true;
	host_memory_group_close(g);
	return false;
}

void host_memory_group_close(struct host_memory_group *g)
{
	int *const fds[] = { &g->used, &g->limit, &g->events, &g->kills };

	for (unsigned i = 0; i < 4; i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

static bool read_number(int fd, struct buf *room, uint64_t *out)
{
	const char *p;

	if (!host_reread(fd, room))
		return false;
	p = room->p;
	return host_text_number(&p, room->p + room->n, out);
}

bool host_memory_group_read(const struct host_memory_group *g, struct buf *room,
			    struct host_memory_group_now *now)
{
	*now = (struct host_memory_group_now){ 0 };
	if (!read_number(g->used, room, &now->used_bytes))
		return false;
	if (!read_number(g->limit, room, &now->limit_bytes) || now->limit_bytes > NO_LIMIT)
		now->limit_bytes = 0; /* "max" */
	if (g->v1) {
		now->has_events = read_number(g->events, room, &now->max);
		now->has_kills = host_reread(g->kills, room) &&
				 host_text_value(buf_bytes(room), "oom_kill ", &now->oom_kills);
		return true;
	}
	now->has_kills = host_reread(g->kills, room) &&
			 host_text_value(buf_bytes(room), "oom_kill ", &now->oom_kills);
	if (g->events >= 0 ? host_reread(g->events, room) : now->has_kills) {
		host_text_value(buf_bytes(room), "high ", &now->high);
		now->has_events = host_text_value(buf_bytes(room), "max ", &now->max);
	}
	return true;
}
