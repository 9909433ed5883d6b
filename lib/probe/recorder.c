/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop. It copies ring records into events and events into the writer; whatever may take long (names, disks)
 * is beside it. Time runs on CLOCK_MONOTONIC, as in the kernel side.
 * Invariant: the watermark given to the writer lies behind everything that can still come out of the rings.
 */
#include "lib/probe/recorder_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/io.h"
#include "lib/base/vec.h"
#include "lib/host/clock.h"
#include "lib/host/proc.h"
#include "lib/ige/writer.h"
#include "lib/probe/opens.h"
#include "lib/probe/spec.h"
#include "lib/probe/samples.h"
#include "lib/probe/statements.h"
#include "lib/probe/wire.h"

#define TURN_MS	  10
#define LAG_NS	  50000000 /* a thread preempted between reading the clock and the ring */
#define SECOND_NS 1000000000
#define CLOCK_NS  10000000000ll

/* ---- what the decoder asks ---- */

static void on_event(void *ctx, const struct event *ev)
{
	struct probe_recorder *r = ctx;
	const struct op_def *def = op_builtin(ev->op);

	r->events++;
	r->calls += def && (def->flags & OP_CALL);
	if (!r->event_error.code)
		ige_writer_event(r->writer, ev, &r->event_error);
}

static void on_lost(void *ctx, uint64_t n)
{
	struct probe_recorder *r = ctx;

	ige_writer_lost(r->writer, n);
}

static void on_process(void *ctx, const struct wire_thread *w, uint32_t process)
{
	struct probe_recorder *r = ctx;

	map_put(&r->processes, w->tgid, process);
	probe_samples_process(&r->samples, w->tgid, process);
}

/* In the unified hierarchy. */
static int cgroup_path(uint32_t tgid, struct buf *out, struct err *e)
{
	char path[64];
	struct buf b = { 0 };
	const char *p;
	int rc;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", tgid);
	rc = read_file(path, &b, 65536, e);
	if (rc == 0) {
		buf_putc(&b, 0);
		p = strstr(buf_text(&b), "0::/");
		if (p)
			buf_add(out, p + 3, strcspn(p + 3, "\n"));
	}
	buf_free(&b);
	return rc;
}

static uint32_t text_of(struct world *w, int (*read)(uint32_t tgid, struct buf *out, struct err *e),
			uint32_t tgid)
{
	struct err ignored = { 0 };
	struct buf b = { 0 };
	uint32_t id = 0;

	if (read(tgid, &b, &ignored) == 0 && b.n)
		id = world_string(w, buf_bytes(&b));
	buf_free(&b);
	return id;
}

static void on_exe(void *ctx, uint32_t tgid, uint32_t execs, struct probe_exe *out)
{
	struct probe_recorder *r = ctx;
	struct err ignored = { 0 };
	struct host_process p;

	(void)execs;
	if (host_proc_read(tgid, &p, &ignored) == 0)
		out->comm = world_string(r->world, bytes_of(p.comm));
	out->exe = text_of(r->world, host_proc_exe, tgid);
	out->cmdline = text_of(r->world, host_proc_cmdline, tgid);
	out->cgroup_path = text_of(r->world, cgroup_path, tgid);
}

static uint32_t on_stack(void *ctx, uint32_t tgid, const uint64_t *ip, unsigned n)
{
	struct probe_recorder *r = ctx;

	return probe_stacks_resolve(r->stacks, tgid, ip, n);
}

/* ---- rings ---- */

static void on_ring(void *ctx, const void *p, size_t n)
{
	struct probe_recorder *r = ctx;

	probe_wire_record(r->wire, p, n);
}

static void say_name(struct probe_recorder *r, const struct wire_life *l)
{
	const struct probe_thread *t = probe_wire_thread(r->wire, l->who.tid);
	struct record rec = { .kind = RECORD_NAME };

	if (!t)
		return;
	REC_SET(&rec, NAME, time_ns, (int64_t)l->time_ns);
	REC_SET(&rec, NAME, thread, t->thread);
	REC_SET(&rec, NAME, comm,
		((struct bytes){ l->who.comm, strnlen(l->who.comm, sizeof(l->who.comm)) }));
	if (!r->event_error.code)
		ige_writer_record(r->writer, &rec, &r->event_error);
}

static void on_life(void *ctx, const void *p, size_t n)
{
	struct probe_recorder *r = ctx;
	const struct wire_life *l = p;

	if (n < sizeof(*l))
		return;
	probe_targets_life(r->targets, l);
	if (l->kind == WIRE_EXIT && l->process)
		probe_samples_exit(&r->samples, l->who.tgid);
	if (l->kind == WIRE_NAME)
		say_name(r, l);
	else
		probe_wire_life(r->wire, l);
}

/* Everything that ended before the drain began is with the writer afterwards, less what a preempted thread still
 * holds: hence the lag. */
static void drain(struct probe_recorder *r)
{
	int64_t now = host_clock_mono();

	if (probe_session_drain(r->session, on_life, on_ring, r) && now - LAG_NS > r->watermark)
		r->watermark = now - LAG_NS;
	probe_targets_settle(r->targets);
	probe_stacks_collect(r->stacks, false);
}

/* ---- what the recorder says by itself ---- */

static uint32_t process_of(void *ctx, uint32_t tgid)
{
	struct probe_recorder *r = ctx;
	struct world_process v = { .node = r->node.id, .tgid = tgid };
	struct err ignored = { 0 };
	struct host_process p;
	uint64_t id;

	/* A process that made no call has not been announced; it is part of the recording all the same. */
	if (map_get(&r->processes, tgid, &id))
		return (uint32_t)id;
	if (host_proc_read(tgid, &p, &ignored) == 0) {
		v.start_ns = p.start_ns;
		v.parent = p.ppid;
		v.ns_tgid = p.ns_tgid;
		v.uid = p.uid;
	}
	return world_process(r->world, &v);
}

static int each_second(struct probe_recorder *r, int64_t now, struct err *e)
{
	int rc;

	probe_targets_look(r->targets);
	probe_recorder_tell_no_cuda(r);
	rc = probe_recorder_say_losses(r, now, e);
	if (rc == 0)
		rc = probe_samples_say(&r->samples, r->writer, now, e);
	if (rc == 0 && now >= r->next_clock) {
		r->next_clock = now + CLOCK_NS;
		rc = probe_say_clock(r->writer, "tick", e);
	}
	return rc;
}

/* ---- life of the recorder ---- */

static int open_writer(struct probe_recorder *r, struct err *e)
{
	struct ige_writer_options opt = { .clock_id = 1, .boot = r->node.host.boot, .index = true };
	struct record clock = { 0 };

	memcpy(opt.node_uuid, r->node.host.uuid, sizeof(opt.node_uuid));
	host_clock_record(&clock, "start");
	opt.real_minus_mono_ns = clock.u.CLOCK.real_ns - clock.u.CLOCK.mono_ns;
	probe_tee_init(&r->tee, r->opt.outputs, r->opt.noutputs);
	return ige_writer_new(&r->writer, r->world, &r->tee.sink, &opt, e);
}

static int open_session(struct probe_recorder *r, struct err *e)
{
	size_t n;
	const struct probe_spec *specs = probe_specs(&n);

	r->specs = calloc(n, sizeof(*r->specs));
	if (!r->specs)
		return err_nomem(e);
	for (size_t i = 0; i < n; i++)
		r->specs[i] = specs[i].op;
	r->opt.probe.specs = r->specs;
	r->opt.probe.nspecs = n;
	return probe_session_open(&r->session, &r->opt.probe, e);
}

static int say_start(struct probe_recorder *r, struct err *e)
{
	int rc = probe_say_node(r->writer, &r->node, e);

	if (rc == 0)
		rc = probe_say_session(r->writer, r->start_ns, r->opt.tool, r->opt.command,
				       r->opt.target, r->opt.probe.sched, e);
	if (rc == 0)
		rc = probe_say_clock(r->writer, "start", e);
	/* So that a reader, and a recorder killed at once, have this much. */
	return rc ? rc
		  : ige_writer_flush(r->writer, r->start_ns - LAG_NS, r->start_ns - LAG_NS, true,
				     e);
}

int probe_recorder_open(struct probe_recorder **out, const struct probe_recorder_options *opt,
			struct err *e)
{
	struct probe_recorder *r = calloc(1, sizeof(*r));
	struct probe_wire_owner owner = { .ctx = r,
					  .event = on_event,
					  .lost = on_lost,
					  .exe = on_exe,
					  .stack = on_stack,
					  .process = on_process };
	int rc;

	*out = r;
	if (!r)
		return err_nomem(e);
	r->opt = *opt;
	r->world = world_new();
	if (!r->world)
		return err_nomem(e);
	probe_node_read(&r->node, r->world, opt->node_name);
	rc = probe_samples_init(&r->samples, r->world, r->node.id, e);
	if (rc == 0)
		rc = open_session(r, e);
	if (rc == 0)
		rc = probe_stacks_new(&r->stacks, r->world, e);
	if (rc == 0)
		rc = probe_copies_new(&r->copies, r->session, r->stacks, e);
	if (rc == 0)
		rc = probe_targets_new(&r->targets, r->session, r->copies, r->stacks, &opt->targets,
				       e);
	if (rc == 0)
		rc = probe_wire_new(&r->wire, r->world, r->node.id, &owner, e);
	if (rc == 0)
		rc = open_writer(r, e);
	if (rc)
		return rc;
	r->start_ns = host_clock_mono();
	r->loss_since = r->start_ns;
	r->watermark = r->floor = r->start_ns - LAG_NS;
	r->next_flush = r->start_ns + (int64_t)opt->flush_ns;
	r->next_second = r->start_ns + SECOND_NS / 2;
	r->next_clock = r->start_ns + CLOCK_NS;
	rc = probe_session_start(r->session, e);
	if (rc == 0)
		rc = say_start(r, e);
	if (rc == 0)
		rc = probe_targets_start(r->targets, e);
	if (rc)
		return rc;
	probe_recorder_tell_copies(r);
	return probe_samples_say(&r->samples, r->writer, r->start_ns, e);
}

int probe_recorder_step(struct probe_recorder *r, struct err *e)
{
	bool flush = false;
	int64_t now;
	int rc = 0;

	if (probe_session_wait(r->session, TURN_MS) < 0)
		return err_sys(e, "cannot wait for events");
	drain(r);
	probe_recorder_tell_copies(r);
	if (r->event_error.code) {
		*e = r->event_error;
		return e->code;
	}
	now = host_clock_mono();
	if (now >= r->next_second) {
		r->next_second += SECOND_NS;
		rc = each_second(r, now, e);
	}
	if (rc == 0 && now >= r->next_flush) {
		r->next_flush = now + (int64_t)r->opt.flush_ns;
		flush = true;
		rc = probe_opens_look(&r->opens, r->session, r->wire, r->writer, now,
				      r->opt.hung_ns, false, &r->floor, e);
	}
	if (rc == 0)
		rc = ige_writer_flush(r->writer, r->watermark,
				      r->floor < r->watermark ? r->floor : r->watermark, flush, e);
	if (rc)
		return rc;
	if (r->opt.duration_ns && now - r->start_ns >= (int64_t)r->opt.duration_ns)
		return 0;
	if (r->opt.until_targets_end && probe_targets_alive(r->targets) == 0)
		return 0;
	return 1;
}

int probe_recorder_finish(struct probe_recorder *r, struct err *e)
{
	int64_t now;
	int rc;

	if (r->finished)
		return 0;
	r->finished = true;
	probe_session_stop(r->session);
	probe_copies_detach(r->copies);
	probe_targets_close(r->targets);
	probe_session_drain(r->session, on_life, on_ring, r);
	probe_stacks_collect(r->stacks, true);
	probe_recorder_tell_copies(r);
	now = host_clock_mono();
	rc = r->event_error.code ? (*e = r->event_error, e->code)
				 : probe_recorder_say_losses(r, now, e);
	if (rc == 0)
		rc = probe_samples_say(&r->samples, r->writer, now, e);
	if (rc == 0)
		rc = probe_opens_look(&r->opens, r->session, r->wire, r->writer, now,
				      r->opt.hung_ns, true, &r->floor, e);
	if (rc == 0)
		rc = probe_say_coverage(r->writer, r->copies, r->wire, process_of, r,
					probe_link_name(probe_session_programs(r->session)->link),
					e);
	if (rc == 0)
		rc = probe_say_clock(r->writer, "end", e);
	if (rc == 0)
		rc = ige_writer_finish(r->writer, e);
	return rc;
}

static void let_go_of(void *ctx, const void *p, size_t n)
{
	struct probe_recorder *r = ctx;
	const struct wire_life *l = p;

	if (n >= sizeof(*l) && l->stopped)
		probe_targets_life(r->targets, l);
}

static void pass_by(void *ctx, const void *p, size_t n)
{
	(void)ctx;
	(void)p;
	(void)n;
}

/* However the recording ended: nobody stays stopped on our account. */
static void let_go(struct probe_recorder *r)
{
	probe_session_stop(r->session);
	probe_copies_detach(r->copies);
	probe_targets_close(r->targets);
	probe_session_drain(r->session, let_go_of, pass_by, r);
}

void probe_recorder_free(struct probe_recorder *r)
{
	if (!r)
		return;
	if (r->session && r->targets && r->copies)
		let_go(r);
	probe_targets_free(r->targets);
	probe_copies_free(r->copies);
	probe_stacks_free(r->stacks);
	probe_session_free(r->session);
	probe_wire_free(r->wire);
	probe_opens_free(&r->opens);
	probe_samples_free(&r->samples);
	ige_writer_free(r->writer);
	world_free(r->world);
	map_free(&r->processes);
	for (size_t i = 0; i < r->notices.n; i++)
		free(r->notices.v[i].text);
	vec_free(&r->notices);
	free(r->specs);
	free(r);
}

const struct probe_copies *probe_recorder_copies(const struct probe_recorder *r)
{
	return r->copies;
}
