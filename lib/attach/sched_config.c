/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the configuration of the host tracks' programs from /sys and /proc; what cannot be read is
 * left out. */
#include "lib/attach/sched_config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/io.h"
#include "lib/host/system.h"

#define BTF_BYTES_MAX	  (64u << 20)
#define DEVICES_BYTES_MAX (1u << 20)
#define STAT_BYTES_MAX	  (16u << 20)
#define CPUINFO_BYTES	  16384 /* the first processor's part is enough */

/* Lines "195 nvidia-frontend" of the first part, which lists character devices. */
void probe_gpu_majors(struct bytes text, uint32_t out[PROBE_GPU_MAJORS])
{
	const char *p = text.p, *end = bytes_end(text);
	unsigned n = 0;

	memset(out, 0, PROBE_GPU_MAJORS * sizeof(out[0]));
	while (p < end && n < PROBE_GPU_MAJORS) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		uint32_t major = 0;

		if (!eol)
			eol = end;
		if (eol - p >= 6 && memcmp(p, "Block ", 6) == 0)
			break;
		while (p < eol && *p == ' ')
			p++;
		while (p < eol && *p >= '0' && *p <= '9' && major < 1u << 12)
			major = major * 10 + (uint32_t)(*p++ - '0');
		if (major && eol - p > 6 && memcmp(p, " nvidia", 7) == 0)
			out[n++] = major;
		p = eol + 1;
	}
}

static void any_steal(void *ctx, const struct host_cpu *cpu)
{
	bool *any = ctx;

	*any |= cpu->steal != 0;
}

enum probe_steal probe_steal_of(struct bytes stat, struct bytes cpuinfo)
{
	const char *flags = cpuinfo.n ? memmem(cpuinfo.p, cpuinfo.n, "\nflags", 6) : NULL;
	const char *end = bytes_end(cpuinfo), *eol;
	uint64_t running;
	bool any = false;

	host_cpus_parse(stat, any_steal, &any, &running);
	if (any)
		return PROBE_STEAL_KEPT;
	if (!flags)
		return PROBE_STEAL_UNKNOWN;
	eol = memchr(flags + 1, '\n', (size_t)(end - flags - 1));
	if (!eol || memmem(flags, (size_t)(eol - flags), " hypervisor", 11))
		return PROBE_STEAL_UNKNOWN;
	return PROBE_STEAL_NONE;
}

/* What can be had of a file of /proc. */
static struct bytes read_some(const char *path, char *to, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(to, 1, size, f) : 0;

	if (f)
		fclose(f);
	return (struct bytes){ to, n };
}

void probe_sched_config_read(struct probe_sched_config *c)
{
	struct err ignored = { 0 };
	struct buf text = { 0 };
	char cpuinfo[CPUINFO_BYTES];

	memset(c, 0, sizeof(*c));
	if (read_file("/sys/kernel/btf/vmlinux", &text, BTF_BYTES_MAX, &ignored) == 0)
		probe_percpu_parse(text.p, text.n, &c->percpu, &ignored);
	buf_reset(&text);
	if (read_file("/proc/devices", &text, DEVICES_BYTES_MAX, &ignored) == 0)
		probe_gpu_majors((struct bytes){ text.p, text.n }, c->gpu_majors);
	buf_reset(&text);
	if (read_file("/proc/stat", &text, STAT_BYTES_MAX, &ignored) == 0)
		c->steal = probe_steal_of((struct bytes){ text.p, text.n },
					  read_some("/proc/cpuinfo", cpuinfo, sizeof(cpuinfo)));
	buf_free(&text);
}
