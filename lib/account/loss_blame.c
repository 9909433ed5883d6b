/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps the class of a part to a family of losses, and the thread that is to blame to a culprit. A
 * culprit is asked for by its thread, so that it is the same as in every other place.
 */
#include "lib/account/loss_blame.h"

#include "lib/account/loss_background.h"
#include "lib/account/loss_behind.h"
#include "lib/event/syscall.h"
#include "lib/world/known_work.h"
#include "lib/world/waiter_call.h"

/* What a model that launches kernels computes between two calls takes less, 30 to 60 us in
 * PyTorch's eager mode. What no sample shows may be anything. */
#define LONG_OWN_NS 200000

/* Whether the main thread of the process is recorded. */
static bool has_main(const struct cause *c, uint32_t process)
{
	const struct tally_process *p = tally_process_known(&c->tally, process);

	for (size_t i = 0; p && i < p->threads.n; i++)
		if (cause_is_main(c, p->threads.v[i]))
			return true;
	return false;
}

bool loss_is_elsewhere(const struct cause *c, uint32_t process, const struct track_part *p)
{
	if (process < c->tally.processes.n && c->tally.processes.v[process].calls)
		return false;
	return c->calls || cause_process_of(c, p->leaf) != process;
}

bool loss_is_told_there(const struct cause *c, uint32_t anchor, const struct track_part *p)
{
	const struct world_thread *a = world_get_thread(c->w, anchor),
				  *b = world_get_thread(c->w, p->leaf);
	const struct world_process *process = b ? world_get_process(c->w, b->process) : NULL;
	const struct tally_thread *leaf = tally_thread_known(&c->tally, p->leaf);

	return p->leaf != anchor && a && process && a->process == b->process &&
	       (b->tid == process->tgid || (leaf && leaf->calls));
}

static uint32_t cgroup_of(const struct cause *c, uint32_t thread)
{
	const struct tally_thread *th = tally_thread_known(&c->tally, thread);
	const struct world_ctx *ctx = th ? world_get_ctx(c->w, th->ctx) : NULL;

	return ctx ? ctx->cgroup : 0;
}

/* The one that feeds the device has the interpreter: the program moves on, and what another thread
 * waits is not lost. Nor is what a thread waits for the main one, which will wait for that one when
 * it needs it. */
static bool moves_on(const struct cause *c, uint32_t anchor, const struct track_part *p)
{
	const struct tally_thread *holder = tally_thread_known(&c->tally, p->thread),
				  *waits = tally_thread_known(&c->tally, anchor);

	return p->gil && holder && holder->calls &&
	       (!(waits && waits->calls) ||
		(cause_is_main(c, p->thread) && loss_is_behind(&c->lost_time, anchor)));
}

static enum lock_type lock_type_of(const struct track_part *p)
{
	return p->gil ? LOCK_GIL : p->object == OBJECT_MAP ? LOCK_MAP : LOCK_OTHER;
}

/* The one of its process, which is remembered. */
static uint32_t learn_cgroup(struct cause *c, uint32_t anchor)
{
	struct loss_process *victim = &c->lost_time.processes.v[cause_process_of(c, anchor)];

	if (!victim->cgroup)
		victim->cgroup = cgroup_of(c, anchor);
	return victim->cgroup;
}

static struct loss_blame blame_cpu(struct cause *c, uint32_t anchor, const struct track_part *p)
{
	uint32_t cgroup = learn_cgroup(c, anchor);

	return (struct loss_blame){ LOSS_CPU, p->woken ? PART_RUNQ : PART_PREEMPTED,
				    culprit_task(c->tally.culprits, p->thread,
						 cause_process_of(c, anchor), cgroup) };
}

/* The thread that had the CPU is the one whose life the part lies in. */
static struct loss_blame blame_turn(struct cause *c, uint32_t anchor, const struct track_part *p)
{
	struct track_part taken = *p;
	struct loss_blame b;

	taken.thread = p->occupant;
	b = blame_cpu(c, anchor, &taken);
	b.sort = LOSS_TURNS;
	if (cause_process_of(c, p->occupant) == cause_process_of(c, anchor))
		b.culprit = culprit_own(c->tally.culprits, p->occupant);
	return b;
}

static struct loss_blame blame_disk(struct cause *c, uint32_t anchor, const struct track_part *p)
{
	const struct world_process *v = world_get_process(c->w, cause_process_of(c, anchor));

	return (struct loss_blame){ LOSS_DISK, PART_DISK,
				    culprit_device(c->tally.culprits, v ? v->node : 0, p->device) };
}

/* The culprit is the thread that continued the process, by its command. All threads of a process
 * stop at once: the loss of its main thread is all of it. */
static struct loss_blame blame_stop(struct cause *c, uint32_t anchor, const struct track_part *p)
{
	uint32_t process = cause_process_of(c, anchor), by = p->resumed_by;

	if (p->leaf == anchor && !cause_is_main(c, anchor) && has_main(c, process))
		return (struct loss_blame){ .family = LOSS_FAMILIES };
	return (struct loss_blame){ LOSS_STOPPED, PART_STOPPED,
				    by ? culprit_task(c->tally.culprits, by, process, 0) : 0 };
}

/* If the cgroup stands at its memory limit, pages of a file are read again because of that. What
 * was already reported with another family keeps it. */
static enum loss_family blame_pages(const struct cause *c, uint32_t anchor,
				    const struct track_part *p)
{
	uint32_t process = cause_process_of(c, p->leaf ? p->leaf : anchor);
	const struct loss_process *own =
		lost_time_process(&c->lost_time, cause_process_of(c, anchor));

	if (p->swapped)
		return LOSS_MEMORY;
	if (own->pages_told)
		return LOSS_PAGES;
	return cause_cgroups_full(&c->cgroups, process,
				  lost_time_process(&c->lost_time, process)->cgroup, p->pieces)
		       ? LOSS_MEMORY
		       : LOSS_PAGES;
}

bool loss_is_crowded(struct cause *c, uint32_t anchor, const struct track_part *p)
{
	return c->lost_time.pane == INT64_MAX &&
	       loss_crowd_of(&c->lost_time, cause_process_of(c, anchor)) &&
	       loss_is_turn(c, anchor, p);
}

/* A process that the holder of a lock waits for has no lock of the victim's. */
static uint32_t holder_of(const struct cause *c, uint32_t anchor, const struct track_part *p)
{
	return p->holder && cause_process_of(c, p->holder) == cause_process_of(c, anchor) &&
			       cause_process_of(c, p->thread) != cause_process_of(c, anchor)
		       ? p->holder
		       : p->thread;
}

struct loss_blame loss_blame_of(struct cause *c, uint32_t anchor, const struct track_part *p)
{
	struct loss_blame none = { .family = LOSS_FAMILIES };

	if (loss_is_crowded(c, anchor, p))
		return blame_turn(c, anchor, p);

	switch (p->class) {
	case PATH_TAKEN:
		return blame_cpu(c, anchor, p);
	case PATH_CPU_OTHER:
		return (struct loss_blame){ LOSS_CPU, p->woken ? PART_RUNQ : PART_PREEMPTED, 0 };
	case PATH_THROTTLED:
		return (struct loss_blame){ LOSS_THROTTLED, PART_THROTTLED,
					    culprit_cgroup(c->tally.culprits, p->cgroup) };
	case PATH_DISK:
		return blame_disk(c, anchor, p);
	case PATH_LOCK:
	case PATH_OWN:
	case PATH_CALL:
	case PATH_DEVICE:
	case PATH_SLEEP:
	case PATH_CHILD:
	case PATH_DEMAND:
	case PATH_REPLY:
	case PATH_SEND:
	case PATH_OUTSIDE:
	case PATH_BLOCKED:
		if (!p->lock || moves_on(c, anchor, p))
			return none;
		return (struct loss_blame){
			LOSS_LOCK, PART_LOCK,
			culprit_holder(c->tally.culprits, holder_of(c, anchor, p), lock_type_of(p))
		};
	case PATH_STOPPED:
	case PATH_FROZEN:
		return blame_stop(c, anchor, p);
	case PATH_RECLAIM:
	case PATH_COMPACT:
		learn_cgroup(c, anchor);
		return (struct loss_blame){ LOSS_MEMORY, PART_SELF, 0 };
	case PATH_FAULT:
		learn_cgroup(c, anchor);
		if (!p->swapped && !p->file_page)
			return none; /* asleep on the way to its own code, for whatever reason */
		return (struct loss_blame){ blame_pages(c, anchor, p), PART_FAULT, 0 };
	default:
		return none;
	}
}

/* ---- devices without work ---- */

/* PART_COUNT: it is neither the program's doing nor a wait of its. */
static enum part state_of_wait(const struct track_part *p)
{
	switch (p->blocked_on) {
	case OBJECT_TIMER:
		return PART_SLEEP;
	case OBJECT_SOCKET:
		return PART_SOCKET;
	case OBJECT_POLL:
		return PART_POLL;
	case OBJECT_FD:
		return PART_FD;
	case OBJECT_CHILD:
		return PART_CHILD;
	case OBJECT_FUTEX:
		return p->lock ? PART_COUNT : PART_IDLE;
	case OBJECT_NONE:
		return PART_BLOCKED;
	default:
		return PART_COUNT;
	}
}

static enum part state_of(const struct track_part *p, bool beside)
{
	switch (p->class) {
	case PATH_OWN:
	case PATH_YIELD:
		return PART_SELF;
	case PATH_CALL:
		return beside ? PART_SELF : PART_COUNT;
	case PATH_DEVICE:
		return beside ? PART_DEVICE : PART_COUNT;
	case PATH_LOCK: /* who had it is not known: not known to be one, either */
		return p->thread ? PART_COUNT : state_of_wait(p);
	case PATH_SLEEP:
	case PATH_CHILD:
	case PATH_REPLY:
	case PATH_SEND:
	case PATH_OUTSIDE:
	case PATH_BLOCKED:
	case PATH_UNENDED:
		return state_of_wait(p);
	default:
		return PART_COUNT;
	}
}

/* Whoever it waited for, else whoever ended the wait. */
static uint32_t idle_culprit(struct cause *c, uint32_t anchor, const struct track_part *p)
{
	uint32_t thread = p->leaf != anchor ? p->leaf : p->thread;

	/* Who ends a program ends its waits, too. */
	if (!thread || (p->leaf == anchor && 2 * p->unended_ns > p->ns))
		return 0;
	if (cause_process_of(c, thread) == cause_process_of(c, anchor))
		return culprit_holder(c->tally.culprits, thread, LOCK_OTHER);
	return culprit_task(c->tally.culprits, thread, cause_process_of(c, anchor), 0);
}

/* Nobody asked, or an answer did not come. */
static bool is_outside(const struct cause *c, const struct track_part *p)
{
	struct path_unended u;

	if (p->class != PATH_UNENDED)
		return p->class == PATH_OUTSIDE;
	path_tracks_unended(c->tracks, p->leaf, &u);
	return path_unended_is_outside(&u);
}

/* What Python does for its own code besides. */
static enum known_work known_work_for(const struct cause *c, uint32_t anchor,
				      const struct track_part *p)
{
	bool own = p->class == PATH_OWN && p->leaf == anchor;
	enum known_work work =
		own && p->inner ? known_work_of_frame(c->w, p->inner) : KNOWN_WORK_OTHER;

	if (work == KNOWN_WORK_LOADS || work == KNOWN_WORK_MOVES)
		work = KNOWN_WORK_OTHER;
	return work == KNOWN_WORK_OTHER && own && p->line
		       ? line_calls_singles(&c->lost_time.step_stalls.lines, c, anchor, p)
		       : work;
}

/* A database that tries again does so for its lock: what the lock took is gained without it. */
static bool polls_for_unknown(const struct cause *c, const struct track_part *p)
{
	return p->poll.interval_us && waiter_call_of(c->w, p->stack) != WAITER_RETRIES;
}

struct loss_blame loss_blame_idle(struct cause *c, uint32_t anchor, const struct track_part *p)
{
	const struct world_process *v = world_get_process(c->w, cause_process_of(c, anchor));
	bool beside = p->leaf != anchor;
	enum part state = state_of(p, beside);
	struct loss_blame b = { LOSS_IDLE, state, 0, state };

	/* A lock that others want is reported as lock-wait. */
	if (state == PART_COUNT || p->lock ||
	    (state == PART_SLEEP && !beside && loss_is_background(&c->lost_time, c, anchor)))
		return (struct loss_blame){ .family = LOSS_FAMILIES };
	b.culprit = idle_culprit(c, anchor, p);
	b.sort |= (unsigned)known_work_for(c, anchor, p) << LOSS_WORK_SHIFT;
	b.sort |= beside ? LOSS_BESIDE : 0;
	b.sort |= p->ran_out && !b.culprit ? LOSS_RAN_OUT : 0;
	b.sort |= is_outside(c, p) ? LOSS_OUTSIDE : 0;
	b.sort |= p->pace == PACE_KEPT ? LOSS_PACED : 0;
	b.sort |= p->event_loop && !b.culprit ? LOSS_EVENT_LOOP : 0;
	b.sort |= state == PART_SLEEP && polls_for_unknown(c, p) ? LOSS_POLLS : 0;
	if (p->syscall &&
	    syscall_writes(cause_nodes_arch(&c->nodes, v ? v->node : 0), p->syscall - 1u))
		b.sort |= LOSS_WRITES;
	return b;
}

uint64_t loss_blame_key(const struct cause *c, uint32_t anchor, const struct loss_blame *b)
{
	const struct line_culprit *who = culprit_get(c->tally.culprits, b->culprit);
	struct loss x = { .process = cause_process_of(c, anchor),
			  .culprit = who ? who->base : 0,
			  .family = b->family,
			  .sort = b->sort };

	return loss_key(&x);
}

bool loss_is_step_stall(const struct cause *c, uint32_t anchor, const struct track_part *p)
{
	/* It waited for a CPU, which somebody had that it needs, too. */
	if (loss_is_told_there(c, anchor, p) || p->occupant)
		return false;
	if (known_work_for(c, anchor, p) != KNOWN_WORK_OTHER)
		return true;
	if (p->class == PATH_OWN && p->leaf == anchor)
		return p->sampled && p->pieces && p->ns / p->pieces >= LONG_OWN_NS;
	switch (p->class) {
	case PATH_OWN:
	case PATH_CALL:
		return p->leaf != anchor &&
		       (p->exclusion || p->lock ||
			cause_process_of(c, p->leaf) != cause_process_of(c, anchor));
	case PATH_SLEEP: /* its own may be a pace, where that is not known */
		return p->leaf == anchor
			       ? p->pace == PACE_ADDED || (p->seldom && p->pace != PACE_KEPT)
			       : p->pace != PACE_KEPT;
	case PATH_LOCK:
	case PATH_CHILD:
	case PATH_REPLY:
	case PATH_SEND:
	case PATH_BLOCKED:
		return true;
	default:
		return false;
	}
}
