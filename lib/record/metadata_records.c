/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the records that describe a recording: node, session, clock, coverage. A value that could
 * not be read is absent, never 0.
 */
#include "lib/record/metadata_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/host/clock.h"
#include "lib/host/process_placement.h"
#include "lib/host/proc.h"

void record_node_read(struct record_node *node, struct world *w, const char *name)
{
	host_node_read(&node->host);
	node->id = host_node_world(&node->host, w, name);
}

int metadata_write_node(struct ige_writer *wr, const struct record_node *node, struct err *e)
{
	struct record r;

	host_node_record(&node->host, node->id, &r);
	return ige_writer_record(wr, &r, e);
}

int metadata_write_session(struct ige_writer *wr, int64_t start_ns, const char *tool,
			   const char *command, const char *target, bool off_cpu, uint32_t cpu_hz,
			   uint64_t hung_ns, struct err *e)
{
	struct record r = { .kind = RECORD_SESSION };
	struct err ignored = { 0 };
	struct host_process self;

	REC_SET(&r, SESSION, start_ns, start_ns);
	REC_SET(&r, SESSION, tool, bytes_of(tool));
	REC_SET(&r, SESSION, command, bytes_of(command));
	REC_SET(&r, SESSION, target, bytes_of(target));
	REC_SET(&r, SESSION, off_cpu, off_cpu);
	REC_SET(&r, SESSION, pid, (uint32_t)getpid());
	if (host_proc_read((uint32_t)getpid(), &self, &ignored) == 0)
		REC_SET(&r, SESSION, pid_start_ns, self.start_ns);
	REC_SET(&r, SESSION, hung_ns, hung_ns);
	if (cpu_hz)
		REC_SET(&r, SESSION, cpu_samples_hz, cpu_hz);
	return ige_writer_record(wr, &r, e);
}

int metadata_write_clock(struct ige_writer *wr, const char *source, struct err *e)
{
	struct record r = { 0 };

	host_clock_record(&r, source);
	return ige_writer_record(wr, &r, e);
}

#define SET_TEXT(r, field, text)                                  \
	do {                                                      \
		if (*(text))                                      \
			REC_SET(r, PLACE, field, bytes_of(text)); \
	} while (0)
#define SET_RANK(r, field, value)                        \
	do {                                             \
		if ((value) != HOST_RANK_UNKNOWN)        \
			REC_SET(r, PLACE, field, value); \
	} while (0)

/* Is the process of that number still this one? Asked after whatever was read of it. */
static bool is_it_still(const struct world *w, uint32_t tgid, uint32_t process)
{
	const struct world_process *v = world_get_process(w, process);
	struct err ignored = { 0 };
	struct host_process now;

	return v && host_proc_read(tgid, &now, &ignored) == 0 && now.start_ns == v->start_ns;
}

int metadata_write_place(struct ige_writer *wr, const struct world *w, int64_t time_ns,
			 uint32_t tgid, uint32_t process, const struct host_pods *given,
			 struct err *e)
{
	struct record r = { .kind = RECORD_PLACE };
	struct err ignored = { 0 };
	struct host_place p;

	/* A process that is gone already has no place that could still be asked for; its number may
	 * be another's. */
	if (host_place_read(&p, tgid, &ignored) != 0 || !host_place_known(&p) ||
	    !is_it_still(w, tgid, process))
		return 0;
	host_pods_complete(given, &p);
	REC_SET(&r, PLACE, time_ns, time_ns);
	REC_SET(&r, PLACE, process, process);
	SET_TEXT(&r, runtime, p.runtime);
	SET_TEXT(&r, container, p.container);
	SET_TEXT(&r, container_name, p.container_name);
	SET_TEXT(&r, pod, p.pod);
	SET_TEXT(&r, namespace, p.namespace);
	SET_TEXT(&r, pod_uid, p.pod_uid);
	SET_TEXT(&r, scheduler, p.scheduler);
	SET_TEXT(&r, job, p.job);
	SET_TEXT(&r, step, p.step);
	SET_TEXT(&r, launcher, p.launcher);
	SET_TEXT(&r, run, p.run);
	SET_TEXT(&r, devices, p.devices);
	SET_TEXT(&r, gpus, p.gpus);
	SET_RANK(&r, rank, p.rank);
	SET_RANK(&r, local_rank, p.local_rank);
	SET_RANK(&r, world_size, p.world_size);
	return ige_writer_record(wr, &r, e);
}

int metadata_write_pods(struct ige_writer *wr, const struct host_kubelet *k, int64_t time_ns,
			struct err *e)
{
	struct record r = { .kind = RECORD_COVERAGE };

	if (!*k->path)
		return 0;
	REC_SET(&r, COVERAGE, time_ns, time_ns);
	REC_SET(&r, COVERAGE, layer, bytes_of("pods"));
	REC_SET(&r, COVERAGE, path, bytes_of(k->path));
	REC_SET(&r, COVERAGE, requested, 1);
	REC_SET(&r, COVERAGE, attached, k->answers > 0);
	REC_SET(&r, COVERAGE, failed, k->answers == 0);
	if (k->error.code)
		REC_SET(&r, COVERAGE, reason, bytes_of(k->error.text));
	else if (k->answers == 0)
		REC_SET(&r, COVERAGE, reason, bytes_of("it did not answer"));
	REC_SET(&r, COVERAGE, delivered, k->pods.n);
	return ige_writer_record(wr, &r, e);
}

int metadata_write_kernel(struct ige_writer *wr, uint32_t process, uint64_t handle,
			  struct bytes name, int64_t since_ns, struct err *e)
{
	struct record r = { .kind = RECORD_KERNEL };

	REC_SET(&r, KERNEL, time_ns, since_ns);
	REC_SET(&r, KERNEL, process, process);
	REC_SET(&r, KERNEL, func, handle);
	REC_SET(&r, KERNEL, name, name);
	return ige_writer_record(wr, &r, e);
}

int metadata_write_name(struct ige_writer *wr, struct world *w, int64_t time_ns, uint32_t tgid,
			uint32_t process, struct err *e)
{
	struct record r = { .kind = RECORD_NAME };
	struct world_thread thread = { .process = process, .tid = tgid };
	struct err ignored = { 0 };
	struct host_process p;
	struct buf title = { 0 };
	int rc;

	if (host_proc_read(tgid, &p, &ignored) != 0)
		return 0;
	host_proc_title(tgid, bytes_of(p.comm), &title);
	thread.start_ns = p.start_ns;
	thread.comm = world_string(w, bytes_of(p.comm));
	REC_SET(&r, NAME, time_ns, time_ns);
	REC_SET(&r, NAME, thread, world_thread(w, &thread));
	REC_SET(&r, NAME, comm, buf_bytes(&title));
	rc = title.failed ? err_nomem(e) : ige_writer_record(wr, &r, e);
	buf_free(&title);
	return rc;
}

/* COVERAGE for CUDA programs without libnvToolsExt. NVTX version 3 is header-only: programs that
 * use it are not covered. */
static int write_no_nvtx(struct ige_writer *wr, struct err *e)
{
	struct record r = { .kind = RECORD_COVERAGE };

	REC_SET(&r, COVERAGE, time_ns, host_clock_mono());
	REC_SET(&r, COVERAGE, layer, bytes_of(probe_layer(PROBE_NVTX)));
	REC_SET(&r, COVERAGE, requested, 0);
	REC_SET(&r, COVERAGE, attached, 0);
	REC_SET(&r, COVERAGE, failed, 0);
	REC_SET(&r, COVERAGE, reason,
		bytes_of("no libnvToolsExt was met: ranges of NVTX, if any, are not recorded"));
	return ige_writer_record(wr, &r, e);
}

/* Whether this user of a library gets a record now: one of those gone, or any when gone is NULL. */
static bool is_selected(const struct file_user *use, const struct gone_processes *gone)
{
	return !gone || (use->process && map_get(&gone->processes, use->process, NULL));
}

int metadata_write_coverage(struct ige_writer *wr, const struct library_instances *copies,
			    const struct wire_decoder *wire, const struct gone_processes *gone,
			    uint32_t (*process)(void *ctx, uint32_t tgid), void *ctx, struct err *e)
{
	size_t ncopies;
	const struct library_instance *copy = library_instances_list(copies, &ncopies);
	const struct file_users *uses = library_instances_uses(copies);
	bool nvtx = false;

	for (size_t i = 0; i < uses->v.n; i++) {
		const struct file_user *use = &uses->v.v[i];
		const struct library_instance *c = &copy[use->file];
		struct record r = { .kind = RECORD_COVERAGE };
		uint32_t id;
		int rc;

		if (!is_selected(use, gone))
			continue;
		id = use->process ? use->process : process(ctx, use->tgid);
		REC_SET(&r, COVERAGE, time_ns, host_clock_mono());
		if (id)
			REC_SET(&r, COVERAGE, process, id);
		REC_SET(&r, COVERAGE, layer, bytes_of(probe_layer(c->plan.library)));
		REC_SET(&r, COVERAGE, path, bytes_of(c->path));
		if (c->plan.build_id[0])
			REC_SET(&r, COVERAGE, build_id, bytes_of(c->plan.build_id));
		REC_SET(&r, COVERAGE, requested, (uint32_t)c->requested);
		REC_SET(&r, COVERAGE, attached, (uint32_t)c->attached);
		REC_SET(&r, COVERAGE, failed, (uint32_t)(c->requested - c->attached));
		if (c->reason.code)
			REC_SET(&r, COVERAGE, reason, bytes_of(c->reason.text));
		if (use->file < COOKIE_COPY_MAX)
			REC_SET(&r, COVERAGE, delivered,
				wire_decoder_delivered(wire, id, use->file));
		REC_SET(&r, COVERAGE, link, bytes_of(probe_link_name(c->link)));
		if (c->sites[0])
			REC_SET(&r, COVERAGE, site, bytes_of(c->sites));
		REC_SET(&r, COVERAGE, gap_ns, use->gap_ns);
		rc = ige_writer_record(wr, &r, e);
		if (rc)
			return rc;
	}
	for (size_t i = 0; i < ncopies; i++)
		nvtx |= copy[i].plan.library == PROBE_NVTX;
	return gone || nvtx || ncopies == 0 ? 0 : write_no_nvtx(wr, e);
}

static uint32_t at_most_u32(uint64_t n)
{
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static int write_stacks(struct ige_writer *wr, const struct world *w, uint32_t module,
			uint64_t requested, uint64_t failed, const char *reason, struct err *e)
{
	const struct world_module *m = world_get_module(w, module);
	struct record r = { .kind = RECORD_COVERAGE };

	REC_SET(&r, COVERAGE, time_ns, host_clock_mono());
	REC_SET(&r, COVERAGE, layer, bytes_of("stacks"));
	if (m) {
		REC_SET(&r, COVERAGE, path, world_text(w, m->path));
		if (m->build_id)
			REC_SET(&r, COVERAGE, build_id, world_text(w, m->build_id));
	}
	REC_SET(&r, COVERAGE, requested, at_most_u32(requested));
	REC_SET(&r, COVERAGE, attached, at_most_u32(requested - failed));
	REC_SET(&r, COVERAGE, failed, at_most_u32(failed));
	if (reason)
		REC_SET(&r, COVERAGE, reason, bytes_of(reason));
	return ige_writer_record(wr, &r, e);
}

int metadata_write_stack_ends(struct ige_writer *wr, const struct world *w,
			      const struct stack_ends *s, struct err *e)
{
	struct stack_ends_sum sum = { 0 };
	int rc = stack_ends_count(s, w, &sum) ? 0 : err_nomem(e);

	for (size_t i = 0; rc == 0 && i < sum.ends.n; i++)
		rc = write_stacks(wr, w, sum.ends.v[i].module, sum.events, sum.ends.v[i].events,
				  stack_end_reason_text(sum.ends.v[i].reason), e);
	if (rc == 0 && sum.deep)
		rc = write_stacks(wr, w, 0, sum.events, sum.deep, "deeper than is recorded", e);
	/* Last: readers who know them by path alone keep the newest. */
	if (rc == 0 && sum.events)
		rc = write_stacks(wr, w, 0, sum.events, sum.events - sum.whole, NULL, e);
	stack_ends_sum_free(&sum);
	return rc;
}

static int write_refusal(void *ctx, const struct probe_unwinds_refusal *refusal, struct err *e)
{
	struct record r = { .kind = RECORD_COVERAGE };

	REC_SET(&r, COVERAGE, time_ns, host_clock_mono());
	REC_SET(&r, COVERAGE, layer, bytes_of("unwind"));
	REC_SET(&r, COVERAGE, path, bytes_of(refusal->path));
	REC_SET(&r, COVERAGE, requested, 1);
	REC_SET(&r, COVERAGE, attached, 0);
	REC_SET(&r, COVERAGE, failed, 1);
	REC_SET(&r, COVERAGE, reason, bytes_of(refusal->why));
	return ige_writer_record(ctx, &r, e);
}

int metadata_write_unwinds(struct ige_writer *wr, struct probe_unwinds *u, struct err *e)
{
	struct probe_unwinds_sum sum = probe_unwinds_totals(u);
	struct record r = { .kind = RECORD_COVERAGE };
	int rc = probe_unwinds_refusals(u, write_refusal, wr, e);

	if (rc || sum.modules + sum.refused == 0)
		return rc;
	REC_SET(&r, COVERAGE, time_ns, host_clock_mono());
	REC_SET(&r, COVERAGE, layer, bytes_of("unwind"));
	REC_SET(&r, COVERAGE, requested, at_most_u32(sum.modules + sum.refused));
	REC_SET(&r, COVERAGE, attached, at_most_u32(sum.modules));
	REC_SET(&r, COVERAGE, failed, at_most_u32(sum.refused));
	REC_SET(&r, COVERAGE, delivered, sum.walks);
	REC_SET(&r, COVERAGE, bytes, sum.bytes);
	REC_SET(&r, COVERAGE, build_ns, sum.build_ns);
	REC_SET(&r, COVERAGE, searched, sum.searched);
	return ige_writer_record(wr, &r, e);
}

int metadata_write_missing(struct ige_writer *wr, const char *layer, uint64_t lost, uint64_t of,
			   const char *reason, struct err *e)
{
	struct record r = { .kind = RECORD_COVERAGE };

	of = of > lost ? of : lost;
	REC_SET(&r, COVERAGE, time_ns, host_clock_mono());
	REC_SET(&r, COVERAGE, layer, bytes_of(layer));
	REC_SET(&r, COVERAGE, requested, at_most_u32(of));
	REC_SET(&r, COVERAGE, attached, at_most_u32(of - lost));
	REC_SET(&r, COVERAGE, failed, at_most_u32(lost));
	REC_SET(&r, COVERAGE, reason, bytes_of(reason));
	return ige_writer_record(wr, &r, e);
}

int metadata_write_late(struct ige_writer *wr, const char *layer, uint64_t late, uint64_t of,
			struct err *e)
{
	struct record r = { .kind = RECORD_COVERAGE };

	REC_SET(&r, COVERAGE, time_ns, host_clock_mono());
	REC_SET(&r, COVERAGE, layer, bytes_of(layer));
	REC_SET(&r, COVERAGE, requested, at_most_u32(of));
	REC_SET(&r, COVERAGE, attached, at_most_u32(late));
	return ige_writer_record(wr, &r, e);
}

int metadata_write_pythons(struct ige_writer *wr, const struct probe_pythons *pythons,
			   const struct gone_processes *gone,
			   uint32_t (*process)(void *ctx, uint32_t tgid), void *ctx, struct err *e)
{
	size_t nfiles;
	struct probe_python_file *const *files = probe_pythons_files(pythons, &nfiles);
	const struct file_users *uses = probe_pythons_uses(pythons);

	for (size_t i = 0; i < uses->v.n; i++) {
		const struct file_user *use = &uses->v.v[i];
		const struct probe_python_file *f = files[use->file];
		bool known = f->python.kind == SYM_PYTHON_KNOWN, there = known && !use->no_room;
		struct record r = { .kind = RECORD_COVERAGE };
		char reason[160];
		uint32_t id;
		int rc;

		if (!is_selected(use, gone))
			continue;
		id = use->process ? use->process : process(ctx, use->tgid);
		REC_SET(&r, COVERAGE, time_ns, host_clock_mono());
		if (id)
			REC_SET(&r, COVERAGE, process, id);
		REC_SET(&r, COVERAGE, layer, bytes_of("python"));
		REC_SET(&r, COVERAGE, path, bytes_of(f->path));
		if (f->build_id[0])
			REC_SET(&r, COVERAGE, build_id, bytes_of(f->build_id));
		REC_SET(&r, COVERAGE, requested, 1);
		REC_SET(&r, COVERAGE, attached, there);
		REC_SET(&r, COVERAGE, failed, !there);
		if (use->no_room) {
			REC_SET(&r, COVERAGE, reason, bytes_of(probe_pythons_no_room));
		} else if (!known) {
			snprintf(reason, sizeof(reason), "%s: %s", f->python.version,
				 f->python.why);
			REC_SET(&r, COVERAGE, reason, bytes_of(reason));
		}
		rc = ige_writer_record(wr, &r, e);
		if (rc)
			return rc;
	}
	return 0;
}

int metadata_write_losses(struct ige_writer *wr, const struct loss_slot *now,
			  struct loss_slot *before, int64_t since_ns, int64_t until_ns,
			  uint64_t *events, struct err *e)
{
	for (uint32_t source = 0; source < LOSS_SOURCES; source++)
		for (uint32_t reason = 0; reason < LOSS_REASONS; reason++) {
			uint64_t n = now->n[source][reason] - before->n[source][reason];
			struct record r = { .kind = RECORD_LOSS };
			int rc;

			if (n == 0 || source == 0)
				continue;
			*events += n;
			REC_SET(&r, LOSS, since_ns, since_ns);
			REC_SET(&r, LOSS, until_ns, until_ns);
			REC_SET(&r, LOSS, source, source);
			REC_SET(&r, LOSS, reason, reason);
			REC_SET(&r, LOSS, count, n);
			rc = ige_writer_record(wr, &r, e);
			if (rc)
				return rc;
		}
	*before = *now;
	return 0;
}

int metadata_write_loss(struct ige_writer *wr, uint32_t reason, uint64_t count, int64_t since_ns,
			int64_t until_ns, struct err *e)
{
	struct record r = { .kind = RECORD_LOSS };

	REC_SET(&r, LOSS, since_ns, since_ns);
	REC_SET(&r, LOSS, until_ns, until_ns);
	REC_SET(&r, LOSS, reason, reason);
	REC_SET(&r, LOSS, count, count);
	return ige_writer_record(wr, &r, e);
}
