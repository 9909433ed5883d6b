/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of /proc/PID/maps. Paths come from outside and may hold anything; they are only ever passed on.
 */
#include "lib/probe/maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int probe_maps_read(uint32_t tgid, probe_mapping_fn *fn, void *ctx, struct err *e)
{
	char path[64], *line = NULL;
	size_t cap = 0;
	ssize_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", tgid);
	f = fopen(path, "re");
	if (!f)
		return err_sys(e, "cannot open %s", path);
	while ((n = getline(&line, &cap, f)) > 0) {
		struct probe_mapping m = { 0 };
		char perms[5];
		int at = 0;

		if (line[n - 1] == '\n')
			line[n - 1] = 0;
		if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &m.start, &m.end, perms, &m.offset, &m.major, &m.minor,
			   &m.inode, &at) < 7 || at == 0)
			continue;
		m.path = line + at;
		m.executable = perms[2] == 'x';
		if (m.inode == 0 && strcmp(m.path, "[vdso]") != 0)
			continue;
		fn(ctx, &m);
	}
	free(line);
	fclose(f);
	return 0;
}

char *probe_maps_path(uint32_t tgid, const struct probe_mapping *m, char *out, size_t size)
{
	snprintf(out, size, "/proc/%u/map_files/%lx-%lx", tgid, m->start, m->end);
	if (access(out, R_OK))
		snprintf(out, size, "/proc/%u/root%s", tgid, m->path);
	return out;
}
