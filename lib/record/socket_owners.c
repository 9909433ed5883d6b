/* SPDX-License-Identifier: Apache-2.0 */
/* Only names of links are read: nothing is asked of what they point to. */
#include "lib/record/socket_owners.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/host/clock.h"

#define REST	    50 /* a look of so long is followed by that many times as long without one */
#define REST_NS	    1000000    /* but by that at least */
#define AGAIN_NS    1000000000 /* who was not found, may have been handed over since */
#define SOCKETS_MAX 65536      /* more are forgotten all at once */

static void scan_process(struct socket_owners *s, uint32_t tgid)
{
	char path[32], to[64];
	struct dirent *entry;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd", tgid);
	fds = opendir(path);
	while (fds && (entry = readdir(fds)) != NULL) {
		ssize_t n = readlinkat(dirfd(fds), entry->d_name, to, sizeof(to) - 1);
		uint64_t inode;

		to[n > 0 ? n : 0] = 0;
		if (sscanf(to, "socket:[%" SCNu64 "]", &inode) == 1)
			map_put(&s->owners, inode, tgid);
	}
	if (fds)
		closedir(fds);
}

/* The running process that has the socket open, as far as is known; 0: none. */
static uint32_t find_holder(const struct socket_owners *s, const struct map *processes,
			    uint64_t inode)
{
	uint64_t tgid, process;

	return map_get(&s->owners, inode, &tgid) && map_get(processes, tgid, &process) &&
			       !(process & PROCESS_ENDED)
		       ? (uint32_t)tgid
		       : 0;
}

uint32_t socket_owners_owner(struct socket_owners *s, const struct map *processes, uint64_t inode,
			     int64_t now_ns)
{
	uint32_t known = find_holder(s, processes, inode);
	uint64_t tgid, process, missed;
	int64_t took;
	size_t at = 0;

	if (known)
		return known;
	if (now_ns < s->next_ns ||
	    (map_get(&s->nobodys, inode, &missed) && now_ns - (int64_t)missed < AGAIN_NS))
		return 0;
	if (s->owners.n > SOCKETS_MAX)
		map_free(&s->owners);
	if (s->nobodys.n > SOCKETS_MAX)
		map_free(&s->nobodys);
	took = host_clock_mono();
	while (map_each(processes, &at, &tgid, &process))
		if (!(process & PROCESS_ENDED))
			scan_process(s, (uint32_t)tgid);
	took = host_clock_mono() - took;
	s->next_ns = now_ns + (took * REST > REST_NS ? took * REST : REST_NS);
	known = find_holder(s, processes, inode);
	if (!known)
		map_put(&s->nobodys, inode, (uint64_t)now_ns);
	return known;
}

void socket_owners_free(struct socket_owners *s)
{
	map_free(&s->owners);
	map_free(&s->nobodys);
}
