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
#include "lib/base/human.h"
#include "lib/base/io.h"
#include "lib/host/cuda.h"
#include "lib/host/gpus.h"
#include "lib/host/kubelet.h"

#define OLDEST_MAJOR 5
#define OLDEST_MINOR 15

static void say_btf(struct verdicts *to, const struct host_caps *c, const char *btf)
{
	struct stat st;

	if (btf && (stat(btf, &st) || !S_ISREG(st.st_mode)))
		verdict_say(to, "btf", VERDICT_FAIL, "name a file with this kernel's BTF",
			    "%s is not a file that can be read", btf);
	else if (btf)
		verdict_say(to, "btf", VERDICT_GOOD, NULL, "%s, %s", btf,
			    human_bytes((uint64_t)st.st_size).s);
	else if (c->btf_bytes)
		verdict_say(to, "btf", VERDICT_GOOD, NULL, "/sys/kernel/btf/vmlinux, %s",
			    human_bytes(c->btf_bytes).s);
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
	say_btf(to, c, btf);
	if (!c->uprobes)
		verdict_say(to, "uprobes", VERDICT_FAIL,
			    "use a kernel built with CONFIG_UPROBE_EVENTS=y",
			    "this kernel has no probes on user code");
}

static void say_setting(struct buf *b, const char *name, int32_t value)
{
	if (value != HOST_UNKNOWN)
		buf_printf(b, "; %s is %d", name, value);
}

/* What the kernel would let anybody do, for who wonders why a setting does not help. */
static void say_missing(struct verdicts *to, const struct host_caps *c)
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
		say_setting(&b, "kernel.unprivileged_bpf_disabled", c->unprivileged_bpf_disabled);
		say_setting(&b, "kernel.perf_event_paranoid", c->perf_event_paranoid);
		verdict_say(to, "rights", VERDICT_FAIL,
			    "run it with sudo, or give it these capabilities: the settings named "
			    "open no way to probes for other users",
			    "user %u may not load BPF programs; missing: %s", (unsigned)geteuid(),
			    buf_text(&b));
	}
	buf_free(&b);
}

static void say_ptrace(struct verdicts *to)
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
		say_missing(to, c);
	if (c->lockdown == HOST_LOCKDOWN_CONFIDENTIALITY)
		verdict_say(to, "lockdown", VERDICT_FAIL,
			    "boot with lockdown=integrity or without lockdown",
			    "confidentiality: BPF programs may not read memory");
	else if (c->lockdown != HOST_LOCKDOWN_UNKNOWN)
		verdict_say(to, "lockdown", VERDICT_GOOD, NULL, "%s", modes[c->lockdown]);
	say_ptrace(to);
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

/* ---- GPUs ---- */

struct gpu_look {
	struct host_ready_gpus *gpus;
	bool ready;
};

static void take_ready(void *ctx, unsigned count, const char *text)
{
	struct gpu_look *l = ctx;

	l->ready = true;
	l->gpus->count = count;
	if (count)
		snprintf(l->gpus->driver, sizeof(l->gpus->driver), "%s", text ? text : "");
	else
		snprintf(l->gpus->why, sizeof(l->gpus->why), "%s", text ? text : "");
}

static void take_value(void *ctx, int64_t time_ns, const struct host_gpu *gpu,
		       const struct host_gpu_value *v)
{
	struct host_ready_gpus *g = ((struct gpu_look *)ctx)->gpus;

	for (unsigned i = 0; i < g->named; i++)
		if (strcmp(g->uuid[i], gpu->uuid) == 0)
			return;
	if (g->named == HOST_READY_GPUS)
		return;
	memcpy(g->uuid[g->named], gpu->uuid, sizeof(gpu->uuid));
	memcpy(g->name[g->named++], gpu->name, sizeof(gpu->name));
}

static void look_at_gpus(struct host_ready_gpus *g, unsigned wait_ms)
{
	struct gpu_look look = { .gpus = g };
	struct host_gpus_fn fn = { .ready = take_ready, .value = take_value, .ctx = &look };
	struct timespec nap = { .tv_nsec = 10000000 };
	struct host_gpus *gpus;

	if (host_gpus_start(&gpus, NULL))
		return;
	for (unsigned ms = 0; ms < wait_ms; ms += 10) {
		bool alive = host_gpus_alive(gpus);

		host_gpus_take(gpus, &fn);
		if (!alive || (look.ready && (g->count == 0 || g->named)))
			break;
		nanosleep(&nap, NULL);
	}
	host_gpus_take(gpus, &fn);
	host_gpus_stop(gpus);
	if (!look.ready)
		snprintf(g->why, sizeof(g->why), "NVML does not answer");
}

void host_ready_gpu(struct verdicts *to, struct host_ready_gpus *g, unsigned wait_ms)
{
	struct buf b = { 0 };
	char version[64] = "";
	unsigned nodes = 0;
	bool loaded = host_gpu_driver(version, sizeof(version), &nodes);

	*g = (struct host_ready_gpus){ 0 };
	look_at_gpus(g, wait_ms);
	for (unsigned i = 0; i < g->named; i++)
		buf_printf(&b, "%s%s", i ? ", " : ": ", g->name[i]);
	if (g->count)
		verdict_say(to, "gpu", VERDICT_GOOD, NULL, "NVIDIA driver %s, %u GPU%s%s",
			    g->driver, g->count, g->count == 1 ? "" : "s", buf_text(&b));
	else if (loaded)
		verdict_say(to, "gpu", VERDICT_WARN, "GPU health is not recorded until it answers",
			    "NVIDIA driver %s, %u GPU%s; %s", version, nodes, nodes == 1 ? "" : "s",
			    g->why);
	else
		verdict_say(to, "gpu", VERDICT_WARN,
			    "nothing to do if the CUDA programs run elsewhere",
			    "NVIDIA's kernel driver is not loaded: CUDA programs will get errors "
			    "here");
	buf_free(&b);
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
