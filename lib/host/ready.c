/* SPDX-License-Identifier: Apache-2.0 */
/* One line for each thing looked at; unknown is said to be unknown. */
#include "lib/host/ready.h"

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/fmt.h"
#include "lib/base/io.h"
#include "lib/host/kubelet.h"

#define OLDEST_MAJOR 5
#define OLDEST_MINOR 15

static void report_btf(struct verdicts *to, const struct host_caps *c, const char *btf)
{
	struct stat st;

	if (btf && (stat(btf, &st) || !S_ISREG(st.st_mode)))
		verdict_say(to, "btf", VERDICT_FAIL, "name a file with this kernel's BTF",
			    "%s is not a file that can be read", btf);
	else if (btf)
		verdict_say(to, "btf", VERDICT_GOOD, NULL, "%s, %s", btf,
			    fmt_bytes((uint64_t)st.st_size).s);
	else if (c->btf_bytes)
		verdict_say(to, "btf", VERDICT_GOOD, NULL, "/sys/kernel/btf/vmlinux, %s",
			    fmt_bytes(c->btf_bytes).s);
	else
		verdict_say(to, "btf", VERDICT_FAIL,
			    "use a kernel built with CONFIG_DEBUG_INFO_BTF=y (those of Debian 12, "
			    "Ubuntu 22.04, RHEL 9 and later are), or --btf FILE",
			    "no /sys/kernel/btf/vmlinux: the kernel does not describe its own "
			    "structures");
}

void host_ready_kernel(struct verdicts *to, const struct host_caps *c, const char *release,
		       const char *btf, bool took_probes)
{
	bool recent =
		c->major > OLDEST_MAJOR || (c->major == OLDEST_MAJOR && c->minor >= OLDEST_MINOR);

	if (recent || took_probes)
		verdict_say(to, "kernel", VERDICT_GOOD, NULL, "%s", release);
	else
		verdict_say(to, "kernel", VERDICT_WARN,
			    "run it with sudo: whether it takes our probes all the same is tried",
			    "%s is older than 5.15", release);
	report_btf(to, c, btf);
	if (!c->uprobes)
		verdict_say(to, "uprobes", VERDICT_FAIL,
			    "use a kernel built with CONFIG_UPROBE_EVENTS=y",
			    "this kernel has no probes on user code");
}

static void append_setting(struct buf *b, const char *name, int32_t value)
{
	if (value != HOST_UNKNOWN)
		buf_printf(b, "; %s is %d", name, value);
}

/* Also names the kernel's settings for unprivileged users, to show why they do not help. */
static void report_rights(struct verdicts *to, const struct host_caps *c)
{
	bool may = host_caps_may_bpf(c);
	struct buf b = { 0 };

	host_caps_missing(c, true, &b);
	if (may && b.n == 0) {
		verdict_say(to, "rights", VERDICT_GOOD, NULL, "%s",
			    geteuid() == 0 ? "root"
					   : "CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, "
					     "CAP_DAC_READ_SEARCH");
	} else if (may) {
		verdict_say(to, "rights", VERDICT_WARN,
			    "add them: processes and libraries of other users are not seen without",
			    "BPF is allowed; missing: %s", buf_text(&b));
	} else {
		append_setting(&b, "kernel.unprivileged_bpf_disabled",
			       c->unprivileged_bpf_disabled);
		append_setting(&b, "kernel.perf_event_paranoid", c->perf_event_paranoid);
		verdict_say(to, "rights", VERDICT_FAIL,
			    "run it with sudo, or give it these capabilities: the settings named "
			    "open no way to probes for other users",
			    "user %u may not load BPF programs; missing: %s", (unsigned)geteuid(),
			    buf_text(&b));
	}
	buf_free(&b);
}

static void report_ptrace(struct verdicts *to)
{
	struct buf b = { 0 };

	if (read_file("/proc/sys/kernel/yama/ptrace_scope", &b, 64, NULL) == 0 && b.n > 0)
		verdict_say(to, "ptrace", VERDICT_GOOD, NULL,
			    "kernel.yama.ptrace_scope is %c, which does not matter: probes read "
			    "in the kernel, nothing is traced with ptrace",
			    b.p[0]);
	buf_free(&b);
}

void host_ready_rights(struct verdicts *to, const struct host_caps *c)
{
	static const char *const modes[] = { NULL, "none", "integrity", "confidentiality" };

	if (!c->initial_user_ns)
		verdict_say(to, "rights", VERDICT_FAIL,
			    "run it on the host, or in a privileged container without a user "
			    "namespace",
			    "in a user namespace of its own: the kernel loads no BPF programs from "
			    "here");
	else
		report_rights(to, c);
	if (c->lockdown == HOST_LOCKDOWN_CONFIDENTIALITY)
		verdict_say(to, "lockdown", VERDICT_FAIL,
			    "boot with lockdown=integrity or without lockdown",
			    "confidentiality: BPF programs may not read memory");
	else if (c->lockdown != HOST_LOCKDOWN_UNKNOWN)
		verdict_say(to, "lockdown", VERDICT_GOOD, NULL, "%s", modes[c->lockdown]);
	report_ptrace(to);
}

void host_ready_samples(struct verdicts *to, const struct host_caps *c)
{
	if (c->pressure && c->schedstat)
		verdict_say(to, "samples", VERDICT_GOOD, NULL,
			    "CPU, memory, pressure, run delay, cgroups %s",
			    c->cpu_cgroup_v1 ? "(version 1)"
			    : c->cgroup_v2   ? "(version 2)"
					     : "(not mounted)");
	else
		verdict_say(to, "samples", VERDICT_WARN,
			    c->pressure ? NULL : "boot with psi=1 to record pressure",
			    "this kernel tells no %s%s%s", c->pressure ? "" : "pressure",
			    c->pressure || c->schedstat ? "" : " and no ",
			    c->schedstat ? "" : "run delay");
}

/* ---- pods ---- */

void host_ready_pods(struct verdicts *to, unsigned wait_ms)
{
	struct host_kubelet k = { 0 };
	struct buf b = { 0 };

	host_kubelet_find(&k, NULL);
	if (*k.path)
		host_kubelet_wait(&k, wait_ms);
	for (size_t i = 0; i < k.pods.n && i < HOST_READY_GPUS; i++)
		buf_printf(&b, "%s%s/%s", i ? ", " : ": ", k.pods.v[i].namespace, k.pods.v[i].pod);
	if (k.pods.n > HOST_READY_GPUS)
		buf_printf(&b, " and %zu more", k.pods.n - HOST_READY_GPUS);
	if (k.answers)
		verdict_say(to, "pods", VERDICT_GOOD, NULL,
			    "the kubelet gave GPUs to %zu container%s%s", k.pods.n,
			    k.pods.n == 1 ? "" : "s", buf_text(&b));
	else if (*k.path)
		verdict_say(to, "pods", VERDICT_WARN,
			    "pods are then known by the kubelet's log folders and their variables",
			    "%s: %s", k.path, k.waiting ? "it does not answer" : k.error.text);
	host_kubelet_close(&k);
	buf_free(&b);
}
