/* SPDX-License-Identifier: Apache-2.0 */
/* Only names of links are read: nothing is asked of what they point to. */
#include "lib/probe/sockets.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define AGAIN_NS    50000000
#define SOCKETS_MAX 65536 /* more are forgotten all at once */

static void look(struct probe_sockets *s, uint32_t tgid)
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

uint32_t probe_sockets_owner(struct probe_sockets *s, const struct map *processes, uint64_t inode,
			     int64_t now_ns)
{
	uint64_t tgid = 0, process;
	size_t at = 0;

	if (map_get(&s->owners, inode, &tgid))
		return (uint32_t)tgid;
	if (s->looked_ns && now_ns - s->looked_ns < AGAIN_NS)
		return 0;
	s->looked_ns = now_ns;
	if (s->owners.n > SOCKETS_MAX)
		map_free(&s->owners);
	while (map_each(processes, &at, &tgid, &process))
		look(s, (uint32_t)tgid);
	return map_get(&s->owners, inode, &tgid) ? (uint32_t)tgid : 0;
}

void probe_sockets_free(struct probe_sockets *s)
{
	map_free(&s->owners);
}
