/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables by tid, stack number and process. Kernel numbers are reused: an announcement is about a
 * thread from then on, never about events before it.
 */
#include "lib/decode/wire_internal.h"

#include <stdlib.h>
#include <string.h>

#include "lib/decode/kernel_handles.h"

int wire_decoder_new(struct wire_decoder **out, struct world *w, uint32_t node,
		     const struct wire_decoder_owner *owner, struct err *e)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return err_nomem(e);
	(*out)->handles = kernel_handles_new();
	if (!(*out)->handles) {
		free(*out);
		*out = NULL;
		return err_nomem(e);
	}
	(*out)->world = w;
	(*out)->node = node;
	(*out)->owner = *owner;
	(*out)->last_key = UINT64_MAX;
	if (owner->gpu) {
		const struct cuda_devices_owner ask = { owner->ctx, owner->whole, owner->gpu };

		(*out)->devices = cuda_devices_new(&ask);
	}
	return owner->gpu && !(*out)->devices ? err_nomem(e) : 0;
}

void wire_decoder_free(struct wire_decoder *wire)
{
	if (!wire)
		return;
	kernel_handles_free(wire->handles);
	vec_free(&wire->threads);
	vec_free(&wire->unused);
	vec_free(&wire->over);
	map_free(&wire->by_tid);
	map_free(&wire->stacks);
	vec_free(&wire->frames);
	map_free(&wire->pythons);
	map_free(&wire->images);
	map_free(&wire->image_start);
	map_free(&wire->delivered);
	map_free(&wire->cgroups);
	kernel_id_names_free(&wire->numbers);
	cpu_masks_free(&wire->allowed);
	cuda_devices_free(wire->devices);
	free(wire);
}

/* Name of a thread when it was announced; for a first thread the whole name of its process. */
static uint32_t comm_of(struct wire_decoder *wire, const struct wire_thread *w, uint32_t image)
{
	const struct world_image *im = world_get_image(wire->world, image);
	struct bytes whole = world_text(wire->world, im ? im->comm : 0),
		     comm = decode_comm(w->comm);

	if (w->tid == w->tgid && comm.n && whole.n > comm.n && memcmp(whole.p, comm.p, comm.n) == 0)
		comm = whole;
	return world_string(wire->world, comm);
}

static uint32_t image_of(struct wire_decoder *wire, const struct wire_thread *w, uint32_t process,
			 uint32_t *cgroup_path)
{
	uint64_t key = (uint64_t)w->tgid << 32 | w->execs, image, start = 0;
	struct decode_exe exe = { 0 };

	*cgroup_path = 0;
	if (map_get(&wire->images, key, &image) && map_get(&wire->image_start, key, &start) &&
	    start == decode_start(w->tgid_start_ns))
		return (uint32_t)image;
	map_del(&wire->pythons, w->tgid); /* another program than it was */
	if (wire->owner.process)
		wire->owner.process(wire->owner.ctx, w, process);
	/* A first thread has its process's name, as it was then: its owner reads what it is now. */
	if (w->tid == w->tgid && w->comm[0])
		exe.comm = world_string(wire->world, decode_comm(w->comm));
	if (wire->owner.exe)
		wire->owner.exe(wire->owner.ctx, w->tgid, w->execs, &exe);
	if (!exe.comm)
		exe.comm = world_string(wire->world, decode_comm(w->comm));
	*cgroup_path = exe.cgroup_path;
	image = world_image(wire->world, &(struct world_image){ .process = process,
								.exec = w->execs,
								.exe = exe.exe,
								.cmdline = exe.cmdline,
								.comm = exe.comm });
	map_put(&wire->images, key, image);
	map_put(&wire->image_start, key, decode_start(w->tgid_start_ns));
	return (uint32_t)image;
}

static struct decode_thread thread_of(const struct wire_thread *w)
{
	return (struct decode_thread){ .tid = w->tid,
				       .tgid = w->tgid,
				       .nice = w->nice,
				       .autogroup_nice = w->autogroup_nice,
				       .policy = w->policy,
				       .autogroup = w->autogroup,
				       .cpu_cgroup = w->cpu_cgroup };
}

struct decode_thread wire_decoder_make(struct wire_decoder *wire, const struct wire_thread *w)
{
	struct decode_thread t = thread_of(w);
	uint32_t image, path;

	t.process = world_process(
		wire->world, &(struct world_process){ .node = wire->node,
						      .tgid = w->tgid,
						      .start_ns = decode_start(w->tgid_start_ns),
						      .parent = w->parent,
						      .ns_tgid = w->ns_tgid,
						      .uid = w->uid });
	image = image_of(wire, w, t.process, &path);
	t.thread = world_thread(wire->world,
				&(struct world_thread){ .process = t.process,
							.tid = w->tid,
							.start_ns = decode_start(w->start_ns),
							.comm = comm_of(wire, w, image) });
	if (w->cgroup)
		t.cgroup = world_cgroup(wire->world, &(struct world_cgroup){ .node = wire->node,
									     .id = w->cgroup,
									     .path = path });
	t.ctx = world_ctx(wire->world, &(struct world_ctx){ .node = wire->node,
							    .image = image,
							    .thread = t.thread,
							    .cgroup = t.cgroup });
	return t;
}

/* Registers a thread in place of the last one with its tid, which gets no further events. */
static void register_thread(struct wire_decoder *wire, const struct decode_thread *t)
{
	uint64_t at;

	if (map_get(&wire->by_tid, t->tid, &at)) {
		if (wire->devices && wire->threads.v[at].thread != t->thread)
			cuda_devices_ended(wire->devices, wire->threads.v[at].thread, 0);
		wire->threads.v[at] = *t;
		return;
	}
	if (wire->unused.n == 0) {
		if (!vec_push(&wire->threads, (struct decode_thread){ 0 }))
			return;
		if (!vec_push(&wire->unused, (uint32_t)wire->threads.n - 1)) {
			wire->threads.n--;
			return;
		}
	}
	at = wire->unused.v[wire->unused.n - 1];
	if (!map_put(&wire->by_tid, t->tid, at))
		return;
	wire->unused.n--;
	wire->threads.v[at] = *t;
}

void wire_decoder_announce(struct wire_decoder *wire, const struct wire_thread *w)
{
	struct decode_thread t = wire_decoder_make(wire, w);

	register_thread(wire, &t);
}

static uint32_t cgroup_of(struct wire_decoder *wire, const struct wire_thread *w)
{
	struct world_cgroup g = { .node = wire->node, .id = w->cgroup };
	uint64_t id;

	if (!w->cgroup)
		return 0;
	if (map_get(&wire->cgroups, w->cgroup, &id))
		return (uint32_t)id;
	if (wire->owner.cgroup)
		g.path = wire->owner.cgroup(wire->owner.ctx, w->tgid);
	id = world_cgroup(wire->world, &g);
	map_put(&wire->cgroups, w->cgroup, id);
	return (uint32_t)id;
}

/* Somebody who is no target but is met on a CPU, or wakes one. Announced once per name: what a
 * thread executes after an exec is somebody else in findings, so it gets an identity of its own,
 * told apart by the digits below the tick of its start. */
void wire_decoder_announce_occupant(struct wire_decoder *wire, const struct wire_thread *w)
{
	struct world_process process = { .node = wire->node,
					 .tgid = w->tgid,
					 .start_ns = decode_start(w->tgid_start_ns),
					 .parent = w->parent,
					 .ns_tgid = w->ns_tgid,
					 .uid = w->uid };
	struct decode_thread t = thread_of(w);
	struct world_thread thread = { .tid = w->tid, .start_ns = decode_start(w->start_ns) };
	const struct decode_thread *known = wire_decoder_thread(wire, w->tid);
	const struct world_thread *was =
		known ? world_get_thread(wire->world, known->thread) : NULL;

	t.process = thread.process = world_process(wire->world, &process);
	thread.comm = world_string(wire->world, decode_comm(w->comm));
	if (wire->owner.program && w->tid == w->tgid)
		thread.comm = wire->owner.program(wire->owner.ctx, w->tgid, thread.comm);
	if (was && was->process == thread.process &&
	    decode_start(was->start_ns) == thread.start_ns) {
		if (known->ctx || was->comm == thread.comm)
			return;
		thread.start_ns = was->start_ns + 1;
	}
	t.thread = world_thread(wire->world, &thread);
	t.cgroup = cgroup_of(wire, w);
	register_thread(wire, &t);
}

/* Threads tell their stacks side by side; what waits longer belongs to a stack that was lost. */
#define FRAMES_WAITING 64

bool wire_decoder_announce_python(struct wire_decoder *wire, const struct wire_python *p, size_t n)
{
	struct wire_python copy = { 0 };

	if (n < WIRE_PYTHON_HEAD || p->n > PYTHON_FRAMES_MAX ||
	    n < WIRE_PYTHON_HEAD + p->n * sizeof(p->frame[0]))
		return false;
	copy.id = p->id;
	copy.n = p->n;
	memcpy(copy.frame, p->frame, p->n * sizeof(p->frame[0]));
	if (wire->frames.n == FRAMES_WAITING) {
		wire->frames.n--;
		memmove(wire->frames.v, wire->frames.v + 1, wire->frames.n * sizeof(copy));
	}
	vec_push(&wire->frames, copy);
	return true;
}

bool wire_decoder_announce_code(struct wire_decoder *wire, const void *r, size_t n)
{
	const struct wire_code *code = r;

	if (code->kind == WIRE_CODE)
		return !wire->owner.code || wire->owner.code(wire->owner.ctx, r, n);
	return !wire->owner.lines || wire->owner.lines(wire->owner.ctx, r, n);
}

bool wire_decoder_announce_stack(struct wire_decoder *wire, const struct wire_stack *s, size_t n)
{
	struct decode_python_frames python = { .flags = s->python };
	size_t i = wire->frames.n;
	uint64_t stack;

	if (s->n == 0 || s->n > WIRE_STACK_MAX || n < WIRE_STACK_HEAD + s->n * sizeof(s->ip[0]))
		return false;
	while (i > 0 && wire->frames.v[i - 1].id != s->id)
		i--;
	if (i > 0) {
		python.frame = wire->frames.v[i - 1].frame;
		python.n = wire->frames.v[i - 1].n;
	}
	stack = wire->owner.stack ? wire->owner.stack(wire->owner.ctx, s, &python) : 0;
	if (i > 0) {
		wire->frames.n--;
		memmove(wire->frames.v + i - 1, wire->frames.v + i,
			(wire->frames.n - (i - 1)) * sizeof(wire->frames.v[0]));
	}
	if (stack)
		map_put(&wire->stacks, s->id,
			(uint64_t)s->tgid << 40 | (uint64_t)s->python << 32 | stack);
	if (s->python)
		map_put(&wire->pythons, s->tgid, 1);
	return true;
}

uint32_t wire_decoder_call_stack(struct wire_decoder *wire, uint32_t number, uint32_t tgid)
{
	uint64_t stack = 0, flags;

	if (number)
		map_get(&wire->stacks, number, &stack);
	flags = stack >> 32 & 0xff;
	wire->shares.calls++;
	wire->shares.stacks += stack != 0;
	if (stack ? flags && !(flags & PYTHON_NO_THREAD) : map_get(&wire->pythons, tgid, NULL))
		wire->shares.python++;
	if (flags && !(flags & (PYTHON_NO_THREAD | PYTHON_MISSING)))
		wire->shares.python_whole++;
	return (uint32_t)stack;
}

const struct decode_shares *wire_decoder_shares(const struct wire_decoder *wire)
{
	return &wire->shares;
}

/* The kernel's running count of losses; its steps say where in the stream they happened. */
void wire_decoder_lost(struct wire_decoder *wire, uint32_t lost)
{
	uint32_t step = lost - wire->lost_seen;

	if (step == 0)
		return;
	/* Threads on other CPUs read it a moment ago: an older value is not a step back. */
	if (step > INT32_MAX)
		return;
	wire->lost_seen = lost;
	if (wire->devices)
		cuda_devices_lost(wire->devices);
	if (wire->owner.lost)
		wire->owner.lost(wire->owner.ctx, step);
}

const struct decode_thread *wire_decoder_thread(const struct wire_decoder *wire, uint32_t tid)
{
	uint64_t i;

	return map_get(&wire->by_tid, tid, &i) ? &wire->threads.v[i] : NULL;
}

const struct decode_thread *wire_decoder_born(const struct wire_decoder *wire, uint32_t tid,
					      uint64_t start_ns)
{
	const struct decode_thread *t = wire_decoder_thread(wire, tid);
	const struct world_thread *v = t ? world_get_thread(wire->world, t->thread) : NULL;

	return v && decode_start(v->start_ns) == decode_start(start_ns) ? t : NULL;
}

uint32_t wire_decoder_exec(const struct wire_decoder *wire, const struct decode_thread *t)
{
	const struct world_ctx *c = world_get_ctx(wire->world, t->ctx);
	const struct world_image *i = c ? world_get_image(wire->world, c->image) : NULL;

	return i ? i->exec : 0;
}

uint32_t wire_decoder_stack(const struct wire_decoder *wire, uint32_t number)
{
	uint64_t stack = 0;

	if (number)
		map_get(&wire->stacks, number, &stack);
	return (uint32_t)stack;
}

static uint64_t delivered_key(uint32_t process, uint32_t copy)
{
	return (uint64_t)process << 10 | copy;
}

void wire_decoder_emit(struct wire_decoder *wire, const struct event *ev)
{
	wire->owner.event(wire->owner.ctx, ev);
}

void wire_decoder_count(struct wire_decoder *wire, uint32_t process, uint32_t copy)
{
	uint64_t key = delivered_key(process, copy), n = 0;

	if (key != wire->last_key) {
		if (wire->last_count)
			map_put(&wire->delivered, wire->last_key, wire->last_count);
		map_get(&wire->delivered, key, &n);
		wire->last_key = key;
		wire->last_count = n;
	}
	wire->last_count++;
}

bool wire_decoder_caller(const struct wire_decoder *wire, bool (*is)(void *ctx, uint32_t process),
			 void *ctx)
{
	uint64_t key, count;
	size_t at = 0;

	if (wire->last_count && is(ctx, (uint32_t)(wire->last_key >> 10)))
		return true;
	while (map_each(&wire->delivered, &at, &key, &count))
		if (is(ctx, (uint32_t)(key >> 10)))
			return true;
	return false;
}

uint64_t wire_decoder_delivered(const struct wire_decoder *wire, uint32_t process, uint32_t copy)
{
	uint64_t key = delivered_key(process, copy), n = 0;

	if (key == wire->last_key)
		return wire->last_count;
	map_get(&wire->delivered, key, &n);
	return n;
}

void wire_decoder_say(struct wire_decoder *wire, struct record *r)
{
	if (wire->owner.record)
		wire->owner.record(wire->owner.ctx, r);
}

static void emit_record(void *ctx, struct record *r)
{
	wire_decoder_say(ctx, r);
}

bool wire_decoder_numbered(struct wire_decoder *wire, uint32_t number, int64_t end_ns, uint64_t *id)
{
	return kernel_id_names_use(&wire->numbers, number, end_ns, id, emit_record, wire);
}

void wire_decoder_peers(struct wire_decoder *wire)
{
	kernel_id_names_peers(&wire->numbers, emit_record, wire);
}

void wire_decoder_allowed(struct wire_decoder *wire, const struct wire_allowed *a,
			  const struct decode_thread *t)
{
	cpu_masks_take(&wire->allowed, a, t->process, t->thread, emit_record, wire);
}

struct kernel_id_names *wire_decoder_numbers(struct wire_decoder *wire)
{
	return &wire->numbers;
}

struct kernel_handles *wire_decoder_handles(struct wire_decoder *wire)
{
	return wire->handles;
}

static void emit_kernel(void *ctx, uint32_t process, uint64_t handle, struct bytes name,
			int64_t since_ns)
{
	struct wire_decoder *wire = ctx;

	if (wire->owner.kernel)
		wire->owner.kernel(wire->owner.ctx, process, handle, name, since_ns);
}

void wire_decoder_again(struct wire_decoder *wire, int64_t since_ns)
{
	kernel_id_names_again(&wire->numbers, since_ns, emit_record, wire);
	cpu_masks_again(&wire->allowed, since_ns, emit_record, wire);
	wire->file++;
	kernel_handles_again(wire->handles, emit_kernel, wire);
}

uint32_t wire_decoder_process(const struct wire_decoder *wire, uint32_t tgid)
{
	const struct decode_thread *t = tgid ? wire_decoder_thread(wire, tgid) : NULL;

	/* Its main thread, or whoever of it was announced. */
	if (t && t->tgid == tgid && t->ctx)
		return t->ctx;
	for (size_t i = wire->threads.n; tgid && i-- > 0;)
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): as many as are counted stand
		 * there */
		if (wire->threads.v[i].tgid == tgid && wire->threads.v[i].ctx)
			return wire->threads.v[i].ctx;
	return 0;
}

uint32_t wire_decoder_socket_owner(struct wire_decoder *wire, uint64_t inode)
{
	uint32_t tgid =
		inode && wire->owner.socket ? wire->owner.socket(wire->owner.ctx, inode) : 0;

	return wire_decoder_process(wire, tgid);
}

void wire_decoder_unowned(struct wire_decoder *wire, uint64_t segments)
{
	wire->unowned.retransmits++;
	wire->unowned.segments += segments;
}

const struct decode_unowned *wire_decoder_others(const struct wire_decoder *wire)
{
	return &wire->unowned;
}

uint64_t wire_decoder_refused(const struct wire_decoder *wire)
{
	return wire->refused;
}

const struct decode_name_counts *wire_decoder_names(const struct wire_decoder *wire)
{
	return &wire->names;
}

const struct decode_name_counts *wire_decoder_texts(const struct wire_decoder *wire)
{
	return &wire->texts;
}

struct world *wire_decoder_world(const struct wire_decoder *wire)
{
	return wire->world;
}

uint32_t wire_decoder_node(const struct wire_decoder *wire)
{
	return wire->node;
}

void wire_decoder_refuse(struct wire_decoder *wire)
{
	wire->refused++;
}

void wire_decoder_named(struct wire_decoder *wire, uint32_t tgid, uint64_t handle,
			struct bytes name)
{
	wire->names.read++;
	kernel_handles_name(wire->handles, tgid, handle, name);
}

void wire_decoder_launched(struct wire_decoder *wire, const struct decode_thread *t,
			   const struct event *ev)
{
	const struct op_def *def = op_builtin(ev->op);
	struct bytes name;
	uint64_t handle;

	if (!def || !wire->owner.kernel)
		return;
	switch (kernel_handles_launch(wire->handles, t->tgid, t->process, ev, def, &handle,
				      &name)) {
	case KERNEL_LAUNCH_NAME:
		wire->owner.kernel(wire->owner.ctx, t->process, handle, name, event_start(ev));
		break;
	case KERNEL_LAUNCH_RENAMED:
		wire->owner.kernel(wire->owner.ctx, t->process, handle, bytes_of(""),
				   event_start(ev));
		__attribute__((fallthrough));
	case KERNEL_LAUNCH_UNKNOWN:
		if (wire->owner.nameless)
			wire->owner.nameless(wire->owner.ctx, t, handle, event_start(ev));
		break;
	case KERNEL_LAUNCH_OTHER:
		break;
	}
}

void wire_decoder_found(struct wire_decoder *wire, uint32_t tgid, uint32_t process, uint64_t handle,
			struct bytes name, int64_t since_ns)
{
	kernel_handles_found(wire->handles, tgid, process, handle, name, since_ns);
	emit_kernel(wire, process, handle, name, since_ns);
}

void wire_decoder_no_devices(struct wire_decoder *wire)
{
	cuda_devices_free(wire->devices);
	wire->devices = NULL;
}

uint32_t wire_decoder_current(struct wire_decoder *wire, const struct decode_thread *t,
			      const struct event *ev)
{
	const struct op_def *def = op_builtin(ev->op);
	const struct world_ctx *was = world_get_ctx(wire->world, t->ctx);
	struct cuda_device_user user = { .thread = t->thread, .tgid = t->tgid };
	struct world_ctx now;
	uint32_t gpu;

	if (!wire->devices || !def || !was)
		return t->ctx;
	user.image = was->image;
	gpu = cuda_devices_call(wire->devices, &user, ev, def);
	if (gpu == was->gpu)
		return t->ctx;
	/* The thread's other events say so too, until its next call. */
	now = *was;
	now.gpu = gpu;
	wire->threads.v[t - wire->threads.v].ctx = world_ctx(wire->world, &now);
	return wire->threads.v[t - wire->threads.v].ctx;
}

void wire_decoder_asleep(struct wire_decoder *wire, const struct wire_asleep *a)
{
	if (wire->owner.asleep)
		wire->owner.asleep(wire->owner.ctx, a);
}

bool wire_decoder_gil(const struct wire_decoder *wire, uint32_t tgid, uint64_t address)
{
	return wire->owner.gil && wire->owner.gil(wire->owner.ctx, tgid, address);
}
