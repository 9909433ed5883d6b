/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files under /proc and /sys; a file that is missing is an answer.
 */
#include "lib/host/caps.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/base/number.h"
#include "lib/base/io.h"
#include "lib/host/cgroup.h"
#include "lib/host/text.h"

bool host_kernel_parse(struct bytes release, unsigned *major, unsigned *minor)
{
	const char *p = release.p, *end = bytes_end(release);
	uint64_t a, b;

	if (!p || !host_text_number(&p, end, &a) || p >= end || *p++ != '.' ||
	    !host_text_number(&p, end, &b) || a > 999 || b > 9999)
		return false;
	*major = (unsigned)a;
	*minor = (unsigned)b;
	return true;
}

enum host_lockdown host_lockdown_parse(struct bytes text)
{
	static const struct {
		const char *word;
		enum host_lockdown level;
	} levels[] = { { "[none]", HOST_LOCKDOWN_NONE },
		       { "[integrity]", HOST_LOCKDOWN_INTEGRITY },
		       { "[confidentiality]", HOST_LOCKDOWN_CONFIDENTIALITY } };

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (text.p && memmem(text.p, text.n, levels[i].word, strlen(levels[i].word)))
			return levels[i].level;
	return HOST_LOCKDOWN_UNKNOWN;
}

bool host_capabilities_parse(struct bytes status, uint64_t *effective)
{
	struct bytes line = host_text_line(status, "CapEff:");

	while (line.n && (*line.p == ' ' || *line.p == '\t'))
		line = (struct bytes){ line.p + 1, line.n - 1 };
	return line.n <= 16 && number_parse(line, 16, UINT64_MAX, effective);
}

static bool read_small(const char *path, struct buf *out)
{
	buf_reset(out);
	return read_file(path, out, 65536, NULL) == 0;
}

static int32_t read_number(const char *path, struct buf *room)
{
	const char *p;
	bool minus;
	uint64_t v;

	if (!read_small(path, room) || room->n == 0)
		return HOST_UNKNOWN;
	p = room->p;
	minus = *p == '-';
	p += minus;
	if (!host_text_number(&p, room->p + room->n, &v) || v > INT32_MAX)
		return HOST_UNKNOWN;
	return minus ? -(int32_t)v : (int32_t)v;
}

/* The first namespace maps all ids onto themselves; none made later can. */
static bool first_user_ns(struct buf *room)
{
	const char *p;
	uint64_t from, to, count;

	if (!read_small("/proc/self/uid_map", room))
		return true;
	p = room->p;
	return p && host_text_number(&p, room->p + room->n, &from) &&
	       host_text_number(&p, room->p + room->n, &to) &&
	       host_text_number(&p, room->p + room->n, &count) && from == 0 && to == 0 &&
	       count == UINT32_MAX;
}

void host_caps_read(struct host_caps *caps)
{
	struct host_cgroup_trees trees;
	struct buf room = { 0 };
	struct utsname u = { 0 };
	struct rlimit lock;
	struct stat st;

	*caps = (struct host_caps){ 0 };
	uname(&u);
	host_kernel_parse(bytes_of(u.release), &caps->major, &caps->minor);
	if (stat("/sys/kernel/btf/vmlinux", &st) == 0)
		caps->btf_bytes = (uint64_t)st.st_size;
	if (read_small("/proc/self/status", &room))
		host_capabilities_parse(buf_bytes(&room), &caps->effective);
	caps->initial_user_ns = first_user_ns(&room);
	/* A kernel without the lockdown module has no such file; one with it may hide the folder
	 * from us. */
	if (read_small("/sys/kernel/security/lockdown", &room))
		caps->lockdown = host_lockdown_parse(buf_bytes(&room));
	caps->perf_event_paranoid = read_number("/proc/sys/kernel/perf_event_paranoid", &room);
	caps->unprivileged_bpf_disabled =
		read_number("/proc/sys/kernel/unprivileged_bpf_disabled", &room);
	caps->memlock_bytes =
		getrlimit(RLIMIT_MEMLOCK, &lock) == 0 && lock.rlim_cur != RLIM_INFINITY
			? lock.rlim_cur
			: UINT64_MAX;
	caps->uprobes = access("/sys/bus/event_source/devices/uprobe/type", F_OK) == 0;
	caps->schedstat = access("/proc/self/schedstat", F_OK) == 0;
	caps->pressure = access("/proc/pressure/cpu", F_OK) == 0;
	if (host_cgroup_mounts(&trees, NULL) == 0) {
		caps->cgroup_v2 = trees.unified.mount[0] != 0;
		caps->cpu_cgroup_v1 = trees.cpu_v1.mount[0] != 0;
	}
	buf_free(&room);
}

bool host_caps_has(const struct host_caps *caps, unsigned cap)
{
	return caps->initial_user_ns && caps->effective >> cap & 1;
}

bool host_caps_may_bpf(const struct host_caps *caps)
{
	return host_caps_has(caps, CAP_SYS_ADMIN) ||
	       (host_caps_has(caps, CAP_BPF) && host_caps_has(caps, CAP_PERFMON));
}

void host_caps_missing(const struct host_caps *caps, bool looking, struct buf *out)
{
	static const struct {
		unsigned cap;
		const char *name;
	} needed[] = { { CAP_BPF, "CAP_BPF" },
		       { CAP_PERFMON, "CAP_PERFMON" },
		       { CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
		       { CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH" } };
	bool may = host_caps_may_bpf(caps);
	unsigned n = 0;

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!host_caps_has(caps, needed[i].cap) && (i < 2 ? !may : looking))
			buf_printf(out, "%s%s", n++ ? ", " : "", needed[i].name);
}
