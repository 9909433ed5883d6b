/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the recording goes, for a person: notices, kept in order until the program takes them.
 */
#include "lib/record/recorder_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fmt.h"
#include "lib/host/gpu_driver.h"
#include "lib/host/proc.h"
#include "lib/host/user.h"
#include "lib/attach/session_optional.h"

#define COPIES_MAX 64 /* notices about library copies; more are only in the coverage */

void recorder_tell(struct recorder *r, enum record_notice kind, const char *fmt, ...)
{
	struct notice n = { .kind = kind };
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&n.text, fmt, ap) < 0)
		n.text = NULL;
	va_end(ap);
	if (n.text && !vec_push(&r->notices.v, n))
		free(n.text);
}

const char *recorder_walker(const struct recorder *r)
{
	static const char *const walkers[] = { "none", "loop", "helper" };

	return walkers[r->session ? probe_session_walker(r->session) : 0];
}

const char *recorder_notice(struct recorder *r, enum record_notice *kind)
{
	if (r->notices.given == r->notices.v.n)
		return NULL;
	*kind = r->notices.v.v[r->notices.given].kind;
	return r->notices.v.v[r->notices.given++].text;
}

#define PROCESSES_TOLD 32

/* Shows each new CUDA process with its name and user. */
static void notify_processes(struct recorder *r)
{
	uint32_t tgid;

	while (r->targets && (tgid = probe_targets_new_cuda(r->targets)) != 0) {
		struct buf name = { 0 }, user = { 0 };
		struct host_process p;
		struct err gone;

		if (++r->notices.processes_told > PROCESSES_TOLD || host_proc_read(tgid, &p, &gone))
			continue;
		host_proc_title(tgid, bytes_of(p.comm), &name);
		host_user(p.uid, &user);
		recorder_tell(r, RECORD_NOTE, "process  %u %s (%s)", tgid, buf_text(&name),
			      buf_text(&user));
		buf_free(&user);
		buf_free(&name);
	}
}

void recorder_tell_copies(struct recorder *r)
{
	size_t n = 0;
	const struct library_instance *c = r->copies ? library_instances_list(r->copies, &n) : NULL;

	notify_processes(r);
	for (; r->notices.copies_told < n && r->notices.copies_told < COPIES_MAX;
	     r->notices.copies_told++) {
		const struct library_instance *v = &c[r->notices.copies_told];

		if (v->stripped)
			recorder_tell(r, RECORD_NOTE, "%-8s %s: %s", probe_layer(v->plan.library),
				      v->path, v->reason.text);
		else if (v->attached == 0)
			recorder_tell(r, RECORD_WARNING, "nothing attached to %s: %s", v->path,
				      v->reason.text);
		else if (v->attached < v->requested)
			recorder_tell(r, RECORD_WARNING, "%s: %zu of %zu functions attached: %s",
				      v->path, v->attached, v->requested, v->reason.text);
		else
			recorder_tell(r, RECORD_NOTE, "%-8s %s: %zu functions, %s links at %s",
				      probe_layer(v->plan.library), v->path, v->attached,
				      probe_link_name(v->link), v->sites);
		recorder_tell(r, RECORD_DETAIL, "copy %zu: %zu of %zu functions attached in %s",
			      r->notices.copies_told, v->attached, v->requested,
			      fmt_ns(v->took_ns).s);
	}
}

void recorder_tell_detached(struct recorder *r, int64_t took_ns, bool all)
{
	size_t n;

	library_instances_list(r->copies, &n);
	if (all)
		recorder_tell(r, RECORD_DETAIL, "detached from %zu librar%s in %s", n,
			      n == 1 ? "y" : "ies", fmt_ns((uint64_t)took_ns).s);
	else
		recorder_tell(
			r, RECORD_WARNING,
			"the kernel has not let go of the probes within %s (its own threads may "
			"be getting no CPU); a process of ours waits for it",
			fmt_ns((uint64_t)took_ns).s);
}

/* Reports only the first process without room; the recording has a record for each. */
static void notify_no_room(struct recorder *r)
{
	uint32_t tgid = r->notices.no_room_told ? 0 : probe_pythons_roomless(r->pythons);

	if (!tgid)
		return;
	r->notices.no_room_told = true;
	recorder_tell(r, RECORD_WARNING, "process %u: %s: its stacks are without Python's frames",
		      tgid, probe_pythons_no_room);
}

void recorder_tell_pythons(struct recorder *r)
{
	size_t n;
	struct probe_python_file *const *f = probe_pythons_files(r->pythons, &n);

	if (!r->session || probe_session_walker(r->session) == WALKER_NONE)
		return;
	notify_no_room(r);
	for (; r->notices.pythons_told < n; r->notices.pythons_told++) {
		const struct probe_python_file *v = f[r->notices.pythons_told];

		if (v->python.kind == SYM_PYTHON_KNOWN)
			recorder_tell(r, RECORD_NOTE, "python   %s: %s, its frames are in stacks",
				      v->path, v->python.version);
		else if (v->python.kind == SYM_PYTHON_UNKNOWN)
			recorder_tell(r, RECORD_WARNING,
				      "%s: %s, %s: stacks are without its frames", v->path,
				      v->python.version, v->python.why);
	}
}

void recorder_tell_gpus(struct recorder *r)
{
	struct host_gpu_driver driver;

	if (r->notices.gpus_told || !r->gpus.ready || !record_gpus_settled(&r->gpus))
		return;
	r->notices.gpus_told = true;
	if (r->gpus.count)
		recorder_tell(r, RECORD_NOTE, "gpu      health of %u GPU%s every second, driver %s",
			      r->gpus.count, r->gpus.count == 1 ? "" : "s",
			      *r->gpus.text ? r->gpus.text : "unknown");
	else if (host_gpu_driver_read(&driver))
		recorder_tell(r, RECORD_WARNING, "no GPU health in this recording: %s",
			      r->gpus.text);
}

void recorder_tell_unsampled(struct recorder *r)
{
	if (r->notices.unsampled_told || !r->samples.more)
		return;
	r->notices.unsampled_told = true;
	recorder_tell(r, RECORD_WARNING,
		      "more than %d processes: memory, CPU time and I/O are sampled of %d of "
		      "them only, of those that make calls first",
		      RECORD_SAMPLES_MAX, RECORD_SAMPLES_MAX);
}

void recorder_tell_pods(struct recorder *r)
{
	const struct host_kubelet *k = &r->kubelet;

	if (r->notices.pods_told || !*k->path || k->waiting)
		return;
	r->notices.pods_told = true;
	if (k->answers)
		recorder_tell(r, RECORD_NOTE,
			      "pods     %zu container%s with GPUs, as the kubelet lists them",
			      k->pods.n, k->pods.n == 1 ? "" : "s");
	else
		recorder_tell(r, RECORD_WARNING, "which pods have GPUs is not known: %s: %s",
			      k->path, k->error.text);
}

void recorder_tell_no_cuda(struct recorder *r)
{
	if (!r->session || r->notices.no_cuda_told || probe_targets_with_cuda(r->targets) > 0)
		return;
	r->notices.no_cuda_told = true;
	if (r->opt.targets.launched || r->opt.targets.npids)
		recorder_tell(r, RECORD_WARNING,
			      "no CUDA library in the target yet (looking for libcudart, "
			      "libcuda, libnccl): nothing to record until it loads one");
	else
		recorder_tell(
			r, RECORD_WARNING,
			"no process with a CUDA library yet (%s): nothing to record until there is "
			"one",
			r->opt.targets.scope == SCOPE_USER ? "of this user; -a records everyone's"
							   : "of anyone");
}

void recorder_tell_probes(struct recorder *r)
{
	if (r->session)
		recorder_tell(r, RECORD_NOTE, "probes   %s links, stacks by %s%s",
			      probe_link_name(probe_session_programs(r->session)->link),
			      recorder_walker(r), r->opt.probe.sched ? ", off-CPU intervals" : "");
	else
		recorder_tell(r, RECORD_NOTE,
			      "probes   none: samples of machine, processes and GPUs, once a "
			      "second");
}

void recorder_tell_sampled(struct recorder *r)
{
	const char *why = probe_optional_unsampled(probe_session_optional(r->session));
	uint32_t hz = probe_session_cpu_hz(r->session);

	if (why)
		recorder_tell(r, RECORD_WARNING,
			      "CPUs are not sampled: %s (where threads are in their own code "
			      "is not in this recording)",
			      why);
	if (hz)
		recorder_tell(r, RECORD_NOTE,
			      "samples  where threads are, %u times a second of each CPU", hz);
}
