/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows unended waits from thread to thread. What the kernel and a lock's memory say comes first,
 * then who did what the thread waits for the last time.
 */
#include "lib/path/path_unended.h"

#include "lib/path/unended_facts.h"
#include "lib/world/call_site.h"
#include "lib/world/module_owner.h"

static const char *const ends_texts[] = {
	[PATH_ENDS_UNKNOWN] = "nothing tells whom it waits for",
	[PATH_ENDS_CYCLE] = "waits for a thread that waits for it",
	[PATH_ENDS_RUNS] = "runs",
	[PATH_ENDS_SLEEPS] = "sleeps",
	[PATH_ENDS_DEVICE] = "waits for the device",
	[PATH_ENDS_DISK] = "waits for a disk",
	[PATH_ENDS_STOPPED] = "is stopped",
	[PATH_ENDS_EXITED] = "has ended",
	[PATH_ENDS_GONE] = "the owner of the lock has ended",
	[PATH_ENDS_NOBODY] = "nobody else has the other end",
	[PATH_ENDS_FORKED] = "held the lock when the process was forked",
	[PATH_ENDS_OUTSIDE] = "is not recorded",
	[PATH_ENDS_DEMAND] = "waits for somebody to ask",
	[PATH_ENDS_REPLY] = "waits for an answer",
	[PATH_ENDS_TOO_LONG] = "waits for further ones",
};

const char *path_ends_text(enum path_ends ends)
{
	return ends < sizeof(ends_texts) / sizeof(ends_texts[0]) ? ends_texts[ends] : "?";
}

static const char *const by_texts[] = {
	[PATH_BY_NOTHING] = "",
	[PATH_BY_OWNER] = "owns the lock",
	[PATH_BY_JOIN] = "is waited for to end",
	[PATH_BY_CHILD] = "is the child waited for",
	[PATH_BY_PIPE] = "has the other end of the pipe",
	[PATH_BY_PEER] = "has the other end of the socket",
	[PATH_BY_TAKER] = "took the lock last",
	[PATH_BY_RELEASER] = "ended such a wait last",
	[PATH_BY_MAKER] = "starts the threads that end such waits",
	[PATH_BY_BESIDE] = "never woke up again either",
	[PATH_BY_LAST] = "ended its last wait",
};

const char *path_by_text(enum path_by by)
{
	return by < sizeof(by_texts) / sizeof(by_texts[0]) ? by_texts[by] : "?";
}

/* Whom a thread waits for. */
struct next {
	bool found;
	uint32_t thread, pid;
	enum path_known known;
	enum path_by by;
	bool ends; /* the chain ends there, as */
	enum path_ends as;
	uint32_t gone_tid;
};

static const struct unended_thread *thread_get(const struct unended_facts *f, uint32_t id)
{
	return id && id < f->threads.n && f->threads.v[id].seen ? &f->threads.v[id] : NULL;
}

static const struct unended_process *process_get(const struct unended_facts *f, uint32_t id)
{
	uint64_t at;

	return map_get(&f->process_by, id, &at) ? &f->processes.v[at] : NULL;
}

static uint32_t pid_of(const struct unended_facts *f, uint32_t process)
{
	return world_process_pid(f->w, process);
}

/* The newest process of that pid on the node of th. */
static const struct unended_process *find_process(const struct unended_facts *f,
						  const struct unended_thread *th, uint32_t pid)
{
	const struct world_process *own = world_get_process(f->w, th->process);

	for (size_t i = f->processes.n; i > 0; i--) {
		const struct world_process *p = world_get_process(f->w, f->processes.v[i - 1].id);

		if (p && own && p->tgid == pid && p->node == own->node)
			return &f->processes.v[i - 1];
	}
	return NULL;
}

/* Who released a waiter of that object, or took it, last; 0: not known. */
static uint32_t find_last(const struct unended_facts *f, const struct unended_thread *th,
			  bool taker)
{
	uint64_t who;

	if (!map_get(&f->objects, unended_object_key(th->process, th->kind, th->object), &who))
		return 0;
	return taker ? (uint32_t)(who >> 32) : (uint32_t)who;
}

static bool is_alive(const struct unended_facts *f, uint32_t id)
{
	const struct unended_thread *th = thread_get(f, id);

	return th && !th->exited;
}

/* ---- what is read of the object ---- */

static struct next next_owner(const struct unended_facts *f, uint32_t id,
			      const struct unended_thread *th)
{
	struct next next = { .by = PATH_BY_OWNER, .known = PATH_PROVEN };
	const struct unended_thread *owner;
	const struct rec_OWNER *said;
	struct record r = { .kind = RECORD_OWNER };
	uint64_t at;

	if (th->kind != OBJECT_FUTEX || !map_get(&f->owners, id, &at))
		return next;
	said = &f->owner.v[at];
	r.present = f->owner_present.v[at];
	if (said->object != th->object || said->time_ns < th->since_ns)
		return next;
	next.found = true;
	if (!REC_HAS(&r, OWNER, pid)) {
		next.ends = true;
		next.as = PATH_ENDS_GONE;
		next.gone_tid = said->tid;
		return next;
	}
	next.pid = said->pid;
	next.thread = REC_HAS(&r, OWNER, owner) ? said->owner : 0;
	owner = thread_get(f, next.thread);
	/* What it has is a copy of the lock of before. */
	next.ends = owner && owner->process != th->process &&
		    !(REC_HAS(&r, OWNER, shared) && said->shared);
	next.as = PATH_ENDS_FORKED;
	return next;
}

/* The thread of another process that has an end: the one that was active there last, else its main
 * thread. */
static void find_in_process(const struct unended_facts *f, const struct unended_thread *th,
			    struct next *next)
{
	const struct unended_process *p = find_process(f, th, next->pid);
	const struct unended_thread *last = thread_get(f, find_last(f, th, false));

	next->found = true;
	if (!p)
		return;
	next->thread = p->main;
	if (last && last->process == p->id)
		next->thread = find_last(f, th, false);
	if (p->threads > 1 && next->known == PATH_PROVEN)
		next->known = PATH_LIKELY;
}

static const struct unended_pipe *find_pipe(const struct unended_facts *f,
					    const struct unended_thread *th)
{
	bool said = th->file_since_ns == th->since_ns && th->newest_write <= 1;
	uint64_t at;

	for (unsigned write = 0; write < 2; write++) {
		if (said && write != th->newest_write)
			continue;
		if (map_get(&f->pipes, unended_pipe_key(th->process, (uint32_t)th->object, write),
			    &at) &&
		    f->pipe.v[at].time_ns >= th->since_ns)
			return &f->pipe.v[at];
	}
	return NULL;
}

static struct next next_pipe(const struct unended_facts *f, const struct unended_thread *th)
{
	const struct unended_pipe *pipe = th->kind == OBJECT_FD ? find_pipe(f, th) : NULL;
	const struct unended_process *own = process_get(f, th->process);
	struct next next = { .by = PATH_BY_PIPE, .known = PATH_PROVEN };
	unsigned others = 0;

	if (!pipe)
		return next;
	for (unsigned i = 0; i < pipe->npids; i++) {
		if (pipe->pids[i] == pid_of(f, th->process))
			continue;
		others++;
		if (!next.pid)
			next.pid = pipe->pids[i];
	}
	if (others > 1)
		next.known = PATH_LIKELY;
	if (next.pid) {
		find_in_process(f, th, &next);
	} else if (!pipe->npids || !own || own->threads == 1) {
		next.found = next.ends = true;
		next.as = PATH_ENDS_NOBODY;
	}
	return next;
}

static struct next next_peer(const struct unended_facts *f, const struct unended_thread *th)
{
	struct next next = { .by = PATH_BY_PEER, .known = PATH_PROVEN };
	uint64_t pid;

	if (th->socket_since_ns != th->since_ns || !th->newest_socket ||
	    !map_get(&f->peers, th->newest_socket, &pid) || !pid || pid == pid_of(f, th->process))
		return next;
	next.pid = (uint32_t)pid;
	find_in_process(f, th, &next);
	return next;
}

/* ---- ends of threads and processes ---- */

/* glibc waits for a thread's end on the word that holds its number. */
static struct next next_join(const struct unended_facts *f, uint32_t id,
			     const struct unended_thread *th)
{
	struct next next = { .by = PATH_BY_JOIN, .known = PATH_LIKELY };

	if (th->kind != OBJECT_FUTEX || th->exclusion || th->futex_val < 2)
		return next;
	for (uint32_t i = 1; i < f->threads.n; i++) {
		const struct world_thread *t = world_get_thread(f->w, i);

		if (i == id || !is_alive(f, i) || f->threads.v[i].process != th->process || !t ||
		    t->tid != th->futex_val)
			continue;
		next.found = true;
		next.thread = i;
	}
	return next;
}

static struct next next_child(const struct unended_facts *f, const struct unended_thread *th)
{
	struct next next = { .by = PATH_BY_CHILD, .known = PATH_PROVEN };
	const struct world_process *own = world_get_process(f->w, th->process);

	for (size_t i = 0; th->kind == OBJECT_CHILD && own && i < f->processes.n; i++) {
		const struct world_process *p = world_get_process(f->w, f->processes.v[i].id);

		if (!p || p->parent != own->tgid || p->node != own->node ||
		    !is_alive(f, f->processes.v[i].main))
			continue;
		if (next.found)
			next.known = PATH_CANDIDATE;
		else
			next.thread = f->processes.v[i].main;
		next.found = true;
	}
	return next;
}

/* ---- what comes from outside ---- */

static struct next next_outside(const struct unended_facts *f, const struct unended_thread *th)
{
	struct next next = { .known = PATH_PROVEN };
	uint64_t role = UNENDED_ROLE_UNKNOWN;

	if (th->kind == OBJECT_POLL)
		role = th->ready_role;
	else if (th->kind == OBJECT_SOCKET && th->socket_since_ns == th->since_ns)
		map_get(&f->roles, th->newest_socket, &role);
	next.found = next.ends = role != UNENDED_ROLE_UNKNOWN;
	next.as = role == UNENDED_ROLE_DEMAND ? PATH_ENDS_DEMAND : PATH_ENDS_REPLY;
	return next;
}

/* ---- what was seen before ---- */

#define MAKER_CHANGES 3 /* so often another thread released it: each serves one request, or a few */

/* Threads that end after what they were started for leave their work to the next one: whoever
 * starts them is waited for. */
static void go_to_maker(const struct unended_facts *f, const struct unended_thread *th,
			struct next *next)
{
	const struct unended_thread *last = thread_get(f, next->thread);
	uint64_t changes = 0;

	map_get(&f->changes, unended_object_key(th->process, th->kind, th->object), &changes);
	if (!last || !last->exited || !is_alive(f, last->made_by) || changes < MAKER_CHANGES)
		return;
	next->thread = last->made_by;
	next->by = PATH_BY_MAKER;
}

static uint64_t compute_distance(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* Whether it waits to the end for another lock or condition, at a place where nobody ever let it go
 * on: not that of a pool. */
static bool is_beside(const struct unended_facts *f, uint32_t id, const struct unended_thread *th,
		      const struct unended_thread *own)
{
	return th->seen && !th->exited && th->waits && th->process == own->process &&
	       (th->kind == OBJECT_FUTEX || th->kind == OBJECT_GIL) && th->object != own->object &&
	       !map_get(&f->lines, (uint64_t)id << 32 | th->stack, NULL);
}

/* The one of them that fell asleep nearest in time. */
static uint32_t find_beside(const struct unended_facts *f, uint32_t id,
			    const struct unended_thread *own)
{
	uint32_t best = 0;

	if (own->kind != OBJECT_FUTEX && own->kind != OBJECT_GIL)
		return 0;
	for (uint32_t i = 1; i < f->threads.n; i++) {
		const struct unended_thread *th = &f->threads.v[i];

		if (i != id && is_beside(f, i, th, own) &&
		    (!best || compute_distance(th->since_ns, own->since_ns) <
				      compute_distance(f->threads.v[best].since_ns, own->since_ns)))
			best = i;
	}
	return best;
}

static struct next next_seen(const struct unended_facts *f, uint32_t id,
			     const struct unended_thread *th)
{
	bool taker = th->exclusion || th->kind == OBJECT_GIL;
	struct next next = { .by = taker ? PATH_BY_TAKER : PATH_BY_RELEASER,
			     .known = PATH_LIKELY,
			     .thread = find_last(f, th, taker) };
	uint64_t who = 0;

	/* What several descriptors are for is not said. */
	if (th->kind == OBJECT_POLL || th->kind == OBJECT_NONE)
		next.thread = 0;
	if (!next.thread || next.thread == id) {
		map_get(&f->lines, (uint64_t)id << 32 | th->stack, &who);
		next.thread = th->stack ? (uint32_t)who : 0;
		next.by = PATH_BY_RELEASER;
		next.known = PATH_CANDIDATE;
	}
	if (!taker)
		go_to_maker(f, th, &next);
	if (!next.thread) {
		next.thread = find_beside(f, id, th);
		next.by = PATH_BY_BESIDE;
	}
	if (!next.thread && !taker && thread_get(f, th->released_by)) {
		next.thread = th->released_by;
		next.by = PATH_BY_LAST;
	}
	next.found = next.thread && next.thread != id;
	return next;
}

/* Who answers, where that one is known; else as before. */
static struct next next_peer_of(const struct unended_facts *f, const struct unended_thread *th,
				struct next before)
{
	struct next peer = next_peer(f, th);

	return peer.found ? peer : before;
}

static struct next find_next(const struct unended_facts *f, uint32_t id,
			     const struct unended_thread *th)
{
	struct next next = next_owner(f, id, th);

	if (!next.found)
		next = next_pipe(f, th);
	if (!next.found)
		next = next_outside(f, th);
	if (!next.found || next.as == PATH_ENDS_REPLY)
		next = next_peer_of(f, th, next);
	if (!next.found)
		next = next_join(f, id, th);
	if (!next.found)
		next = next_child(f, th);
	if (!next.found && th->kind != OBJECT_CHILD)
		next = next_seen(f, id, th);
	return next;
}

/* ---- the chain ---- */

/* Whether the chain ends with what this thread does. */
static bool ends_at(const struct unended_thread *th, enum path_ends *ends)
{
	static const enum path_ends by_kind[] = {
		[OBJECT_TIMER] = PATH_ENDS_SLEEPS, [OBJECT_DISK] = PATH_ENDS_DISK,
		[OBJECT_FAULT] = PATH_ENDS_DISK,   [OBJECT_GPU] = PATH_ENDS_DEVICE,
		[OBJECT_STOP] = PATH_ENDS_STOPPED, [OBJECT_FREEZER] = PATH_ENDS_STOPPED,
	};

	if (!th)
		*ends = PATH_ENDS_OUTSIDE;
	else if (th->exited)
		*ends = PATH_ENDS_EXITED;
	else if (!th->waits)
		*ends = PATH_ENDS_RUNS;
	else if (th->kind < sizeof(by_kind) / sizeof(by_kind[0]) && by_kind[th->kind])
		*ends = by_kind[th->kind];
	else
		return false;
	return true;
}

/* How much a place says of what a thread does: lines of Python's and of the C library are passed on
 * the way out of any. */
static unsigned place_rank(const struct world *w, uint32_t stack)
{
	const struct world_frame *f = world_get_frame(w, call_site_frame(w, stack));

	if (!f || call_site_is_starter(w, stack))
		return 0;
	if (f->kind == FRAME_PYTHON || module_is_own(w, f))
		return 2;
	return !call_site_passes_on(w, call_site_frame(w, stack));
}

/* Where it was last seen in code of its own. */
static uint32_t last_place(const struct unended_facts *f, const struct unended_thread *th)
{
	uint32_t best = th->places[0];
	unsigned best_rank = 0;

	for (unsigned i = 0; i < UNENDED_PLACES && th->places[i]; i++) {
		unsigned rank = place_rank(f->w, th->places[i]);

		if (rank > best_rank) {
			best = th->places[i];
			best_rank = rank;
		}
	}
	return best;
}

static void add_step(const struct unended_facts *f, struct path_unended *out,
		     const struct next *next, const struct unended_thread *th)
{
	struct path_unended_step *s = &out->v[out->n++];

	*s = (struct path_unended_step){ .thread = next->thread,
					 .pid = th ? pid_of(f, th->process) : next->pid,
					 .known = next->known,
					 .by = next->by };
	if (!th)
		return;
	s->waits = th->waits;
	s->stack = th->waits ? th->stack : last_place(f, th);
	if (!th->waits)
		return;
	s->kind = (enum event_object)th->kind;
	s->object = th->object;
	s->since_ns = th->since_ns;
}

/* Whether the thread is in the chain already. */
static bool is_cycle(struct path_unended *out, uint32_t thread)
{
	for (unsigned i = 0; thread && i < out->n; i++) {
		if (out->v[i].thread != thread)
			continue;
		out->ends = PATH_ENDS_CYCLE;
		out->cycle = i;
		return true;
	}
	return false;
}

/* Whether the time of its last wait ran out, and it was awake since for less than it waited. */
static bool looked_up(const struct unended_facts *f, const struct unended_thread *th)
{
	const struct unended_wait *w = &th->last;

	return !th->exited && !th->waits && !th->runnable && !w->waker &&
	       w->end_ns == th->since_ns && f->now_ns - w->end_ns < w->end_ns - w->since_ns;
}

/* Who looks up from a wait every now and then is in it all the same. */
static const struct unended_thread *thread_in_wait(const struct unended_facts *f,
						   const struct unended_thread *th,
						   struct unended_thread *held)
{
	if (!th || !looked_up(f, th))
		return th;
	*held = *th;
	unended_restore(held);
	return held;
}

void path_unended_of(const struct unended_facts *f, uint32_t thread, struct path_unended *out)
{
	struct next next = { .thread = thread, .known = PATH_PROVEN, .by = PATH_BY_NOTHING };

	*out = (struct path_unended){ .ends = PATH_ENDS_TOO_LONG };
	while (out->n < PATH_UNENDED_STEPS) {
		struct unended_thread held;
		const struct unended_thread *th =
			thread_in_wait(f, thread_get(f, next.thread), &held);

		add_step(f, out, &next, th);
		if (next.ends) {
			out->ends = next.as;
			return;
		}
		if (ends_at(th, &out->ends))
			return;
		next = find_next(f, next.thread, th);
		if (!next.found) {
			out->ends = PATH_ENDS_UNKNOWN;
			return;
		}
		if (next.ends && !next.thread && !next.pid) {
			out->ends = next.as;
			out->gone_tid = next.gone_tid;
			return;
		}
		if (is_cycle(out, next.thread)) {
			out->closing = next.known;
			return;
		}
	}
}

/* What the last one that is known waits for may come from outside. */
static bool is_open_question(const struct path_unended *u)
{
	const struct path_unended_step *last = &u->v[u->n - 1];

	if (last->kind == OBJECT_FD)
		return u->n == 1; /* not a pipe of a recorded program: a terminal, a device */
	return last->kind != OBJECT_FUTEX && last->kind != OBJECT_GIL;
}

bool path_unended_is_outside(const struct path_unended *u)
{
	return u->ends == PATH_ENDS_DEMAND || u->ends == PATH_ENDS_OUTSIDE ||
	       (u->ends == PATH_ENDS_UNKNOWN && u->n && is_open_question(u));
}

bool path_unended_is_hang(const struct path_unended *u, uint64_t ns)
{
	if (!u->n)
		return false;
	switch (u->ends) {
	case PATH_ENDS_UNKNOWN:
		return !is_open_question(u);
	case PATH_ENDS_SLEEPS:
		return u->n > 1 && ns >= PATH_SLEEPER_NS;
	case PATH_ENDS_RUNS:
	case PATH_ENDS_DEVICE:
	case PATH_ENDS_DISK:
	case PATH_ENDS_STOPPED:
	case PATH_ENDS_OUTSIDE:
	case PATH_ENDS_DEMAND:
		return false;
	default:
		return true;
	}
}
