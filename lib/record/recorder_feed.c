/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the rings to the writer: what the decoder hands on, and what it asks for (/proc, once per
 * process). The first error of the writer is kept and told at the end of the turn: callbacks cannot
 * fail.
 */
#include "lib/record/recorder_internal.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/io.h"
#include "lib/event/ongoing_wait.h"
#include "lib/host/clock.h"
#include "lib/host/proc.h"
#include "lib/attach/remote_stack.h"
#include "lib/world/program_name.h"

#define GPUS_NS 10000000 /* between two looks whether the GPUs have been read by now */

static void on_event(void *ctx, const struct event *ev)
{
	struct recorder *r = ctx;
	const struct op_def *def = op_builtin(ev->op);
	const struct world_ctx *of = r->waits.record ? world_get_ctx(r->world, ev->ctx) : NULL;

	if (r->waits.record) {
		asleep_add(r->waits.record, ev, of ? of->thread : 0);
		return;
	}
	if (after_stop_drops(r->stop_ns, ev))
		return;
	if (!r->event_error.code)
		ige_writer_event(r->writer, ev, &r->event_error);
	if (r->at_tail) /* it comes again, whole */
		return;
	if (ev->op == OP_SCHED_OFFCPU)
		recorder_keep_pipe_of(r, ev);
	r->events++;
	r->spent.ticks += ev->op == OP_CPU_SAMPLE;
	if (def && (def->flags & OP_CALL)) {
		r->calls++;
		recorder_budget_count(&r->spent.budget, ev);
	}
	stack_ends_add(&r->stack_ends, ev->stack, ev->ctx);
	if (r->opt.trigger && filter_trigger_hit(r->opt.trigger, ev) && !r->trigger.fired) {
		r->trigger.fired = true;
		r->trigger.end_ns = ev->end_ns;
		r->trigger.slow_op = ev->op;
		r->trigger.slow_ns = filter_trigger_slow(r->opt.trigger, ev) ? ev->dur_ns : 0;
	}
}

static void on_lost(void *ctx, uint64_t n)
{
	struct recorder *r = ctx;

	ige_writer_lost(r->writer, n);
}

static void on_process(void *ctx, const struct wire_thread *w, uint32_t process)
{
	struct recorder *r = ctx;
	uint64_t known;

	/* The event of its end may come before its other events. */
	if (map_get(&r->lives.processes, w->tgid, &known) && known == (process | PROCESS_ENDED))
		return;
	map_put(&r->lives.processes, w->tgid, process);
	ended_processes_taken(&r->lives.ended, w->tgid, process);
	record_samples_process(&r->samples, w->tgid, process);
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

/* As the program gave it itself, whole. */
static uint32_t title_of(struct world *w, uint32_t tgid, struct bytes comm)
{
	struct buf b = { 0 };
	uint32_t id;

	host_proc_title(tgid, comm, &b);
	id = world_string(w, buf_bytes(&b));
	buf_free(&b);
	return id;
}

/* A child that was forked has its parent's name until it takes another, which may have happened
 * since. */
static uint32_t inherited_title(struct recorder *r, uint32_t parent, uint32_t comm)
{
	struct bytes cut = world_text(r->world, comm), whole;
	uint64_t process;
	uint32_t name;

	if (cut.n != HOST_COMM_MAX || !map_get(&r->lives.processes, parent, &process))
		return comm;
	name = world_process_name(r->world, (uint32_t)process, 0, INT64_MAX);
	whole = world_text(r->world, name);
	return whole.n > cut.n && memcmp(whole.p, cut.p, cut.n) == 0 ? name : comm;
}

static void on_exe(void *ctx, uint32_t tgid, uint32_t execs, struct decode_exe *out)
{
	struct recorder *r = ctx;
	struct err ignored = { 0 };
	struct host_process p;
	uint64_t process;

	(void)execs;
	if (host_proc_read(tgid, &p, &ignored) == 0)
		out->comm =
			title_of(r->world, tgid,
				 out->comm ? world_text(r->world, out->comm) : bytes_of(p.comm));
	if (out->comm)
		out->comm = inherited_title(r, p.ppid, out->comm);
	out->exe = text_of(r->world, host_proc_exe, tgid);
	out->cmdline = text_of(r->world, host_proc_cmdline, tgid);
	out->cgroup_path = text_of(r->world, cgroup_path, tgid);
	if (map_get(&r->lives.processes, tgid, &process) && !r->event_error.code)
		metadata_write_place(r->writer, r->world, host_clock_mono(), tgid,
				     (uint32_t)process, &r->kubelet.pods, &r->event_error);
}

/* Of a neighbour's arguments only the name of what an interpreter runs is kept. */
static uint32_t on_program(void *ctx, uint32_t tgid, uint32_t comm)
{
	struct recorder *r = ctx;
	struct bytes known = world_text(r->world, comm);
	struct buf arguments = { 0 }, name = { 0 };
	struct err ignored = { 0 };

	if (program_is_interpreter(known) && !host_proc_cmdline(tgid, &arguments, &ignored)) {
		program_name(&name, known, buf_bytes(&arguments));
		if (name.n && !name.failed)
			comm = world_string(r->world, buf_bytes(&name));
	}
	buf_free(&arguments);
	buf_free(&name);
	return comm;
}

static uint32_t on_cgroup(void *ctx, uint32_t tgid)
{
	return text_of(((struct recorder *)ctx)->world, cgroup_path, tgid);
}

static void on_kernel(void *ctx, uint32_t process, uint64_t handle, struct bytes name,
		      int64_t since_ns)
{
	struct recorder *r = ctx;

	if (!r->event_error.code)
		metadata_write_kernel(r->writer, process, handle, name, since_ns, &r->event_error);
}

static void on_nameless(void *ctx, const struct decode_thread *t, uint64_t handle, int64_t since_ns)
{
	const struct probe_stub stub = { t->tgid, t->process, handle, since_ns };

	probe_stacks_stub(((struct recorder *)ctx)->stacks, &stub);
}

static void on_stub(void *ctx, const struct probe_stub *s, struct bytes name)
{
	wire_decoder_found(((struct recorder *)ctx)->wire, s->tgid, s->process, s->handle, name,
			   s->since_ns);
}

static size_t on_bytes(void *ctx, uint32_t tgid, uint64_t address, int64_t time_ns, void *out,
		       size_t n)
{
	return probe_stacks_bytes(((struct recorder *)ctx)->stacks, tgid, address, time_ns, out, n);
}

static uint32_t on_stack(void *ctx, const struct wire_stack *s,
			 const struct decode_python_frames *python)
{
	struct probe_part parts[PYTHON_FRAMES_MAX];
	struct recorder *r = ctx;
	const char *missing = NULL;
	unsigned k;

	if (python->flags & PYTHON_CUT)
		missing = "Python frames beyond the innermost 128 are missing";
	else if (python->flags & PYTHON_FAULT)
		missing = "Python frames are missing: memory could not be read";
	else if (python->flags & PYTHON_UNKNOWN)
		missing = "Python frames are missing: a code object could not be read";
	else if (python->flags & PYTHON_SEVERAL)
		missing = "Python frames are missing: several interpreters in one thread";
	for (k = 0; k < python->n; k++) {
		parts[k].frame = python_codes_frame(r->codes, &python->frame[k], &parts[k].mark);
		if (!parts[k].frame) {
			missing = "Python frames are missing: their code was not told";
			break;
		}
	}
	return probe_stacks_resolve(r->stacks, s, parts, k, missing);
}

static bool on_code(void *ctx, const struct wire_code *w, size_t n)
{
	struct recorder *r = ctx;

	return python_codes_take(r->codes, w, n);
}

static bool on_lines(void *ctx, const struct wire_lines *w, size_t n)
{
	struct recorder *r = ctx;

	return python_codes_more(r->codes, w, n);
}

static void name_peer(struct recorder *r, struct record *rec)
{
	uint32_t comm = world_string(r->world, rec->u.PEER.comm);

	REC_SET(rec, PEER, time_ns, host_clock_mono());
	if (REC_HAS(rec, PEER, comm))
		REC_SET(rec, PEER, comm,
			world_text(r->world, on_program(r, rec->u.PEER.pid, comm)));
}

static void on_named(void *ctx, struct record *rec)
{
	struct recorder *r = ctx;

	if (rec->kind == RECORD_FILE)
		REC_SET(rec, FILE, time_ns, host_clock_mono());
	else if (rec->kind == RECORD_SOCKET)
		REC_SET(rec, SOCKET, time_ns, host_clock_mono());
	else if (rec->kind == RECORD_PEER)
		name_peer(r, rec);
	else if (rec->kind == RECORD_PRIORITY)
		REC_SET(rec, PRIORITY, time_ns, host_clock_mono());
	if (!r->event_error.code)
		ige_writer_record(r->writer, rec, &r->event_error);
}

static uint32_t on_socket(void *ctx, uint64_t inode)
{
	struct recorder *r = ctx;

	return socket_owners_owner(&r->waits.sockets, &r->lives.processes, inode,
				   host_clock_mono());
}

static void on_ring(void *ctx, const void *p, size_t n)
{
	struct recorder *r = ctx;

	probe_targets_scan_grown(r->targets);
	wire_decoder_record(r->wire, p, n);
}

static void on_asleep(void *ctx, const struct wire_asleep *a)
{
	struct recorder *r = ctx;
	struct python_process python;

	remote_stack_read(a, probe_session_python_of(r->session, a->tgid, &python) ? &python : NULL,
			  on_ring, r);
}

static bool on_gil(void *ctx, uint32_t tgid, uint64_t address)
{
	return probe_pythons_gil(((struct recorder *)ctx)->pythons, tgid, address);
}

static uint32_t thread_of(struct recorder *r, const struct wire_thread *w)
{
	const struct decode_thread *known = wire_decoder_born(r->wire, w->tid, w->start_ns);

	return known ? known->thread : wire_decoder_make(r->wire, w).thread;
}

/* A thread is known by the name under which it was first met: another one is said in each file. */
static void remember_name(struct recorder *r, const struct thread_name *now)
{
	const struct world_thread *v = world_get_thread(r->world, now->thread);
	uint64_t i;

	if (map_get(&r->lives.name_of, now->thread, &i)) {
		r->lives.names.v[i] = *now;
		return;
	}
	if (!r->opt.rotate_bytes && !r->opt.rotate_ns && !r->opt.flight_ns)
		return; /* there is no other file */
	if (!v || v->comm == now->name || !vec_push(&r->lives.names, *now))
		return;
	if (!map_put(&r->lives.name_of, now->thread, r->lives.names.n - 1))
		r->lives.names.n--;
}

static void write_name(struct recorder *r, const struct wire_life *l)
{
	/* Most threads give themselves a name before they do anything else. */
	struct bytes comm = decode_comm(l->name);
	struct thread_name now = { .thread = thread_of(r, &l->who),
				   .name = l->who.tid == l->who.tgid
						   ? title_of(r->world, l->who.tgid, comm)
						   : world_string(r->world, comm),
				   .time_ns = (int64_t)l->time_ns };
	struct record rec = { .kind = RECORD_NAME };

	REC_SET(&rec, NAME, time_ns, now.time_ns);
	REC_SET(&rec, NAME, thread, now.thread);
	REC_SET(&rec, NAME, comm, world_text(r->world, now.name));
	if (l->who.tid == l->who.tgid)
		world_rename(r->world, now.thread, now.time_ns, now.name);
	if (!r->event_error.code)
		ige_writer_record(r->writer, &rec, &r->event_error);
	remember_name(r, &now);
}

static void thread_ended(struct recorder *r, const struct wire_life *l)
{
	uint32_t thread;
	uint64_t i;

	if (!r->lives.names.n && !r->nvtx.open.n)
		return;
	thread = thread_of(r, &l->who);
	if (map_get(&r->lives.name_of, thread, &i))
		r->lives.names.v[i].ended = true;
	record_nvtx_ended(&r->nvtx, thread, 0);
}

/* From here on its pid may belong to another process. */
static void process_ended(struct recorder *r, const struct wire_life *l)
{
	/* First, because this makes the process known if it was not. */
	uint32_t process = wire_decoder_make(r->wire, &l->who).process;

	map_put(&r->lives.processes, l->who.tgid, process | PROCESS_ENDED);
	ended_processes_add(&r->lives.ended, l->who.tgid, process);
	record_samples_exit(&r->samples, l->who.tgid);
	library_instances_ended(r->copies, l->who.tgid, process);
	probe_pythons_ended(r->pythons, l->who.tgid, process);
	probe_stacks_ended(r->stacks, l->who.tgid);
	record_nvtx_ended(&r->nvtx, 0, process);
}

static void on_life(void *ctx, const void *p, size_t n)
{
	struct recorder *r = ctx;
	const struct wire_life *l = p;

	if (n < sizeof(*l))
		return;
	r->news_ns = (int64_t)l->time_ns;
	/* Events of a process may come before the one that announces it. */
	if (l->kind == WIRE_FORK && l->process)
		ended_processes_taken(&r->lives.ended, l->child_tgid, 0);
	if (l->kind == WIRE_NEW)
		ended_processes_taken(&r->lives.ended, l->who.tgid, 0);
	/* Asked while it is stopped: a program can be over before the next turn. */
	if (l->kind == WIRE_EXEC)
		wire_decoder_life(r->wire, l);
	probe_targets_life(r->targets, l);
	if (l->kind == WIRE_EXIT)
		thread_ended(r, l);
	if (l->kind == WIRE_EXIT && l->process)
		process_ended(r, l);
	if (l->kind == WIRE_NAME)
		write_name(r, l);
	else if (l->kind != WIRE_EXEC)
		wire_decoder_life(r->wire, l);
}

static void on_record(void *ctx, const struct record *rec)
{
	struct recorder *r = ctx;

	if (!r->event_error.code)
		ige_writer_record(r->writer, rec, &r->event_error);
}

void recorder_take_marks(struct recorder *r)
{
	const struct record_marks_owner to = { on_event, on_record, r };

	record_marks_take(&r->marks, host_clock_mono(), &to);
}

void recorder_marks_again(struct recorder *r)
{
	const struct record_marks_owner to = { on_event, on_record, r };

	record_marks_again(&r->marks, r->watermark, &to);
}

static bool on_nvtx(void *ctx, const struct decode_thread *t, const struct wire_nvtx *w, size_t n)
{
	struct recorder *r = ctx;
	const struct record_marks_owner to = { on_event, on_record, r };

	return record_nvtx_take(&r->nvtx, &r->marks, r->world, t, w, n, &to);
}

static bool on_whole(void *ctx, uint32_t tgid)
{
	return library_instances_whole(((struct recorder *)ctx)->copies, tgid);
}

static uint32_t on_gpu(void *ctx, uint32_t tgid, uint32_t ordinal, const uint8_t *uuid, bool *later)
{
	struct recorder *r = ctx;
	int64_t now = record_gpus_settled(&r->gpus) ? 0 : host_clock_mono();

	if (now >= r->next_gpus && now && !r->event_error.code) {
		r->next_gpus = now + GPUS_NS;
		record_gpus_say(&r->gpus, r->writer, &r->event_error);
	}
	return record_gpus_device(&r->gpus, tgid, ordinal, uuid, later);
}

const struct wire_decoder_owner recorder_owner = { .event = on_event,
						   .lost = on_lost,
						   .exe = on_exe,
						   .cgroup = on_cgroup,
						   .program = on_program,
						   .stack = on_stack,
						   .code = on_code,
						   .lines = on_lines,
						   .record = on_named,
						   .nvtx = on_nvtx,
						   .bytes = on_bytes,
						   .socket = on_socket,
						   .asleep = on_asleep,
						   .gil = on_gil,
						   .process = on_process,
						   .kernel = on_kernel,
						   .nameless = on_nameless,
						   .whole = on_whole,
						   .gpu = on_gpu };

/* Everything that ended before the drain began is with the writer afterwards, less what a preempted
 * thread still holds: hence the lag. */
void recorder_drain(struct recorder *r)
{
	int64_t now = host_clock_mono();

	if (probe_session_drain(r->session, on_life, on_ring, r) &&
	    now - RECORD_LAG_NS > r->watermark)
		r->watermark = now - RECORD_LAG_NS;
	probe_targets_settle(r->targets);
	probe_stacks_collect(r->stacks, false, on_stub, r);
}

/* What still is in the rings once nothing is attached any more. */
void recorder_drain_rest(struct recorder *r)
{
	probe_session_drain(r->session, on_life, on_ring, r);
	probe_stacks_collect(r->stacks, true, on_stub, r);
}

static void on_stopped(void *ctx, const void *p, size_t n)
{
	struct recorder *r = ctx;
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

void recorder_let_go(struct recorder *r)
{
	probe_session_stop(r->session);
	library_instances_detach(r->copies);
	probe_targets_close(r->targets);
	probe_session_drain(r->session, on_stopped, pass_by, r);
}

uint32_t recorder_process(void *ctx, uint32_t tgid)
{
	struct recorder *r = ctx;
	struct world_process v = { .node = r->node.id, .tgid = tgid };
	struct err ignored = { 0 };
	struct host_process p;
	uint64_t id = 0;

	/* A process that made no call has not been announced; it is part of the recording all the
	 * same. */
	map_get(&r->lives.processes, tgid, &id);
	if (id && !(id & PROCESS_ENDED))
		return (uint32_t)id;
	if (host_proc_read(tgid, &p, &ignored) == 0) {
		v.start_ns = p.start_ns;
		v.parent = p.ppid;
		v.ns_tgid = p.ns_tgid;
		v.uid = p.uid;
	} else if (id) {
		return (uint32_t)id;
	}
	return world_process(r->world, &v);
}

int recorder_say_places(struct recorder *r, struct err *e)
{
	int64_t now = host_clock_mono();
	uint64_t tgid, process;
	size_t at = 0;
	int rc = 0;

	while (rc == 0 && map_each(&r->lives.processes, &at, &tgid, &process))
		rc = process & PROCESS_ENDED
			     ? 0
			     : metadata_write_place(r->writer, r->world, now, (uint32_t)tgid,
						    (uint32_t)process, &r->kubelet.pods, e);
	return rc;
}
