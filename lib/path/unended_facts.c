/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects from a stream what shows which thread an unended wait is for: where each thread stands,
 * who released which object last, and what the recorder read of locks, pipes and sockets.
 */
#include "lib/path/path_unended.h"

#include "lib/base/hash.h"
#include "lib/event/ongoing_wait.h"
#include "lib/attrib/blame.h"
#include "lib/path/killed.h"
#include "lib/path/unended_facts.h"

#define PASS_NS 1000000 /* records of one pass over the machine are this close together */

void unended_facts_free(struct unended_facts *f)
{
	vec_free(&f->threads);
	vec_free(&f->processes);
	map_free(&f->process_by);
	map_free(&f->objects);
	map_free(&f->lines);
	map_free(&f->changes);
	map_free(&f->roles);
	map_free(&f->owners);
	vec_free(&f->owner);
	vec_free(&f->owner_present);
	map_free(&f->pipes);
	vec_free(&f->pipe);
	map_free(&f->peers);
}

uint64_t unended_object_key(uint32_t process, unsigned kind, uint64_t object)
{
	/* The interpreter's lock is one, whichever of its addresses is waited on. */
	if (kind == OBJECT_GIL)
		object = 0;
	return hash_u64(hash_u64(object) ^ ((uint64_t)process << 8 | kind));
}

uint64_t unended_pipe_key(uint32_t process, uint32_t fd, unsigned write)
{
	return hash_u64((uint64_t)process << 32 | fd) ^ (write != 0);
}

/* ---- threads ---- */

static bool add_process(struct unended_facts *f, uint32_t thread, const struct world_thread *t)
{
	const struct world_process *p = world_get_process(f->w, t->process);
	uint64_t at;

	if (!map_get(&f->process_by, t->process, &at)) {
		at = f->processes.n;
		if (!vec_push(&f->processes, (struct unended_process){ .id = t->process }) ||
		    !map_put(&f->process_by, t->process, at))
			return false;
	}
	f->processes.v[at].threads++;
	if (p && p->tgid == t->tid)
		f->processes.v[at].main = thread;
	return true;
}

/* NULL: out of memory, or (*none) the world has no such thread. */
static struct unended_thread *thread_of(struct unended_facts *f, uint32_t id, bool *none)
{
	const struct world_thread *t = world_get_thread(f->w, id);
	struct unended_thread *th;

	*none = !t;
	if (!t || !vec_reach(&f->threads, id))
		return NULL;
	th = &f->threads.v[id];
	if (!th->seen) {
		th->seen = true;
		th->process = t->process;
		th->since_ns = INT64_MIN;
		th->file_since_ns = th->socket_since_ns = INT64_MIN;
		if (!add_process(f, id, t))
			return NULL;
	}
	return th;
}

/* Puts a fact. Newer facts are worth more than all old ones: a full map is cleared. */
static bool put_fact(struct map *m, uint64_t key, uint64_t value)
{
	if (m->n >= UNENDED_OBJECTS_MAX && !map_get(m, key, NULL))
		map_clear(m);
	return map_put(m, key, value);
}

static bool is_exclusion(const struct event *ev, const struct op_def *def, unsigned kind)
{
	uint64_t op;

	return (kind == OBJECT_FUTEX && !event_get(ev, def, COL_FUTEX_OP, &op)) ||
	       blame_blocked(ev, def) == PART_LOCK;
}

static uint64_t line_key(uint32_t id, uint32_t stack)
{
	return (uint64_t)id << 32 | stack;
}

static bool count_change(struct unended_facts *f, uint64_t object)
{
	uint64_t n = 0;

	map_get(&f->changes, object, &n);
	return put_fact(&f->changes, object, n + 1);
}

/* A wait of the thread that another one ended. */
static bool add_release(struct unended_facts *f, uint32_t id, struct unended_thread *th,
			const struct unended_wait *wait)
{
	uint64_t object = unended_object_key(th->process, wait->kind, wait->object),
		 line = line_key(id, wait->stack);

	th->last = *wait;
	map_get(&f->objects, object, &th->last.object_released);
	map_get(&f->lines, line, &th->last.line_released);
	if (wait->kind != OBJECT_GIL && !wait->exclusion)
		th->released_by = wait->waker;
	if (th->last.object_released && (uint32_t)th->last.object_released != wait->waker &&
	    !count_change(f, object))
		return false;
	return put_fact(&f->objects, object, (uint64_t)id << 32 | wait->waker) &&
	       (!wait->stack || put_fact(&f->lines, line, wait->waker));
}

/* A signal ended the thread, and with it the wait that it was in, which had not ended. */
static bool is_killed_in(const struct unended_facts *f, const struct unended_thread *th,
			 int64_t exit_ns)
{
	const struct unended_wait *w = &th->last;
	const struct world_thread *waker = world_get_thread(f->w, w->waker);

	return !th->waits && w->waker && exit_ns - w->end_ns <= KILLED_DYING_NS &&
	       !(waker && waker->process == th->process);
}

static bool restore_fact(struct map *m, uint64_t key, uint64_t before)
{
	if (before)
		return map_put(m, key, before);
	map_del(m, key);
	return true;
}

void unended_restore(struct unended_thread *th)
{
	const struct unended_wait *w = &th->last;

	th->waits = true;
	th->kind = w->kind;
	th->object = w->object;
	th->since_ns = w->since_ns;
	th->stack = w->stack;
	th->futex_val = w->futex_val;
	th->exclusion = w->exclusion;
	th->released_by = w->released_by;
}

static bool restore_wait(struct unended_facts *f, uint32_t id, struct unended_thread *th)
{
	const struct unended_wait *w = &th->last;

	unended_restore(th);
	return restore_fact(&f->objects, unended_object_key(th->process, w->kind, w->object),
			    w->object_released) &&
	       (!w->stack || restore_fact(&f->lines, line_key(id, w->stack), w->line_released));
}

/* Another place than those known comes first, and the oldest goes. */
static void add_place(struct unended_thread *th, uint32_t stack)
{
	unsigned at = 0;

	if (!stack || th->places[0] == stack)
		return;
	while (at < UNENDED_PLACES - 1 && th->places[at] != stack)
		at++;
	for (; at > 0; at--)
		th->places[at] = th->places[at - 1];
	th->places[0] = stack;
}

/* An off-CPU interval; one without an end is where the thread stands. */
static bool add_offcpu(struct unended_facts *f, uint32_t id, struct unended_thread *th,
		       const struct event *ev, const struct op_def *def)
{
	unsigned kind = (unsigned)event_get_or(ev, def, COL_OBJECT_KIND, OBJECT_NONE);
	uint64_t object = event_get_or(ev, def, COL_OBJECT, 0), cpu,
		 waker = event_get_or(ev, def, COL_WAKER_KIND, WAKER_NONE);

	th->waits = th->runnable = false;
	if (event_get(ev, def, COL_CPU_IN, &cpu)) {
		struct unended_wait wait = { .kind = (uint8_t)kind,
					     .exclusion = is_exclusion(ev, def, kind),
					     .object = object,
					     .since_ns = event_start(ev),
					     .end_ns = ev->end_ns,
					     .stack = ev->stack,
					     .released_by = th->released_by };

		th->since_ns = ev->end_ns;
		add_place(th, ev->stack);
		wait.futex_val = (uint32_t)event_get_or(ev, def, COL_FUTEX_VAL, 0);
		if (waker == WAKER_TIMER)
			th->last = wait;
		if (waker != WAKER_TASK || event_get_or(ev, def, COL_WAIT_NS, 0) >= ev->dur_ns)
			return true;
		wait.waker = (uint32_t)event_get_or(ev, def, COL_WAKER, 0);
		return add_release(f, id, th, &wait);
	}
	th->runnable = (waker != WAKER_NONE && waker != WAKER_TIMER) ||
		       event_get_or(ev, def, COL_WAIT_NS, 0) >= ev->dur_ns;
	th->waits = !th->runnable;
	th->kind = (uint8_t)kind;
	th->object = object;
	th->since_ns = event_start(ev);
	th->stack = ev->stack;
	th->futex_val = (uint32_t)event_get_or(ev, def, COL_FUTEX_VAL, 0);
	th->exclusion = is_exclusion(ev, def, kind);
	return true;
}

/* What a wait is on comes before its interval or behind it. */
static void add_target(struct unended_thread *th, const struct event *ev, const struct op_def *def)
{
	if (ev->op == OP_NET_SOCKET) {
		th->socket_since_ns = event_start(ev);
		th->newest_socket = event_get_or(ev, def, COL_SOCKET, 0);
	} else {
		th->file_since_ns = event_start(ev);
		th->newest_write = (uint8_t)event_get_or(ev, def, COL_WRITE, UINT8_MAX);
	}
}

static bool add_exit(struct unended_facts *f, uint32_t id, struct unended_thread *th,
		     const struct event *ev, const struct op_def *def)
{
	if (event_get_or(ev, def, COL_STATUS, 0) & KILLED_SIGNAL && is_killed_in(f, th, ev->end_ns))
		return restore_wait(f, id, th);
	th->exited = true;
	th->waits = false;
	return true;
}

static bool add_fork(struct unended_facts *f, uint32_t id, const struct event *ev,
		     const struct op_def *def)
{
	struct unended_thread *th;
	uint64_t child;
	bool none;

	if (!event_get(ev, def, COL_CHILD, &child))
		return true;
	th = thread_of(f, (uint32_t)child, &none);
	if (!th)
		return none;
	th->made_by = id;
	return true;
}

bool unended_event(struct unended_facts *f, const struct event *ev)
{
	const struct op_def *def = op_builtin(ev->op);
	const struct world_ctx *ctx = world_get_ctx(f->w, ev->ctx);
	bool none = true;
	struct unended_thread *th = ctx && def ? thread_of(f, ctx->thread, &none) : NULL;

	if (!th)
		return none;
	f->now_ns = ev->end_ns > f->now_ns ? ev->end_ns : f->now_ns;
	switch (ev->op) {
	case OP_SCHED_OFFCPU:
		return add_offcpu(f, ctx->thread, th, ev, def);
	case OP_PROC_EXIT:
		return add_exit(f, ctx->thread, th, ev, def);
	case OP_CPU_SAMPLE:
		add_place(th, ev->stack);
		return true;
	case OP_PROC_FORK:
		return add_fork(f, ctx->thread, ev, def);
	case OP_IO_FILE:
	case OP_NET_SOCKET:
		add_target(th, ev, def);
		return true;
	default:
		return true;
	}
}

/* ---- records ---- */

static bool add_asleep(struct unended_facts *f, const struct record *r)
{
	uint32_t id = r->u.ASLEEP.thread;
	bool none;
	struct unended_thread *th = thread_of(f, id, &none);
	struct event ev;

	if (!th)
		return none;
	/* One that has ended meanwhile, or an older one, is not where it stands. */
	if (th->exited || th->since_ns > r->u.ASLEEP.since_ns)
		return true;
	for (unsigned i = 0; i < ASLEEP_OPS; i++) {
		const struct op_def *def = op_builtin(asleep_ops[i]);

		if (!asleep_event(r, def, &ev))
			continue;
		if (ev.op == OP_SCHED_OFFCPU && !add_offcpu(f, id, th, &ev, def))
			return false;
		if (ev.op != OP_SCHED_OFFCPU)
			add_target(th, &ev, def);
	}
	return true;
}

static bool add_owner(struct unended_facts *f, const struct record *r)
{
	uint64_t at;

	if (map_get(&f->owners, r->u.OWNER.thread, &at)) {
		f->owner.v[at] = r->u.OWNER;
		f->owner_present.v[at] = r->present;
		return true;
	}
	return vec_push(&f->owner, r->u.OWNER) && vec_push(&f->owner_present, r->present) &&
	       map_put(&f->owners, r->u.OWNER.thread, f->owner.n - 1);
}

static bool add_pipe(struct unended_facts *f, const struct record *r)
{
	const struct rec_PIPE *said = &r->u.PIPE;
	uint64_t key = unended_pipe_key(said->process, said->fd, said->write), at;
	struct unended_pipe *pipe;

	if (!map_get(&f->pipes, key, &at)) {
		at = f->pipe.n;
		if (!vec_push(&f->pipe, (struct unended_pipe){ .time_ns = said->time_ns }) ||
		    !map_put(&f->pipes, key, at))
			return false;
	}
	pipe = &f->pipe.v[at];
	if (said->time_ns > pipe->time_ns + PASS_NS)
		*pipe = (struct unended_pipe){ .time_ns = said->time_ns };
	if (REC_HAS(r, PIPE, pid) && pipe->npids < sizeof(pipe->pids) / sizeof(pipe->pids[0]))
		pipe->pids[pipe->npids++] = said->pid;
	return true;
}

enum unended_role unended_role_of(struct bytes role)
{
	if (bytes_equal(role, bytes_of("accepted")) || bytes_equal(role, bytes_of("listening")))
		return UNENDED_ROLE_DEMAND;
	return bytes_equal(role, bytes_of("connected")) ? UNENDED_ROLE_REPLY : UNENDED_ROLE_UNKNOWN;
}

static bool add_socket(struct unended_facts *f, const struct record *r)
{
	enum unended_role role =
		REC_HAS(r, SOCKET, role) ? unended_role_of(r->u.SOCKET.role) : UNENDED_ROLE_UNKNOWN;

	return !role || put_fact(&f->roles, r->u.SOCKET.id, role);
}

/* Of several nobody is known to be it. */
static bool add_peer(struct unended_facts *f, const struct rec_PEER *said)
{
	uint64_t before;

	return put_fact(
		&f->peers, said->socket,
		map_get(&f->peers, said->socket, &before) && before != said->pid ? 0 : said->pid);
}

static bool add_ready(struct unended_facts *f, const struct record *r)
{
	struct unended_thread *th;
	uint64_t role = UNENDED_ROLE_UNKNOWN;
	bool none;

	if (!REC_HAS(r, READY, socket))
		return true;
	th = thread_of(f, r->u.READY.thread, &none);
	if (!th)
		return none;
	map_get(&f->roles, r->u.READY.socket, &role);
	th->ready_role = (uint8_t)role;
	return true;
}

bool unended_record(struct unended_facts *f, const struct record *r)
{
	switch (r->kind) {
	case RECORD_SOCKET:
		return add_socket(f, r);
	case RECORD_READY:
		return add_ready(f, r);
	case RECORD_ASLEEP:
		return add_asleep(f, r);
	case RECORD_OWNER:
		return add_owner(f, r);
	case RECORD_PIPE:
		return add_pipe(f, r);
	case RECORD_PEER:
		return add_peer(f, &r->u.PEER);
	default:
		return true;
	}
}
