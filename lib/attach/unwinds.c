/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that keeps the tables for unwinding up to date. It alone owns modules, lists and slots;
 * the recorder only queues numbers of processes. Order of a look: read how often the loader has
 * changed and removed something, read the maps, put the tables, put the list, say for which change
 * it holds. What was added meanwhile is not in the list, and stacks end there; from a removal on
 * stacks are marked as changing until then. The thread sees in the memory that it shares with the
 * kernel side which processes changed, were forked or ended: no message is needed for that, and
 * none can be lost.
 */
#include "lib/attach/unwinds.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/hash.h"
#include "lib/base/vec.h"
#include "lib/host/clock.h"
#include "lib/host/maps.h"
#include "lib/host/rights.h"
#include "lib/attach/session_unwind.h"
#include "lib/attach/unwind_files.h"
#include "lib/attach/unwind_lists.h"
#include "lib/attach/unwind_modules.h"

#define POLL_NS (PROBE_UNWINDS_POLL_MS * 1000000ll)
#define AGAIN_NS \
	1000000000ll /* what is mapped without the loader's knowledge is looked for that often */
#define AGAIN_MOST_NS 5000000ll /* for so long at a time */
#define LOOK_SHARE \
	4 /* a process that changes all the time is not looked at for longer than 1/5 of the time */
#define SLOTS_AHEAD 64 /* slots are given from the lowest on: so many free ones end a search */

struct order {
	uint32_t tgid;
	uint64_t ticket; /* 0: nobody waits */
};

/* What the recorder knows of a process, by slot. */
struct slot {
	uint64_t list;	      /* that it uses; 0: none yet */
	uint64_t fingerprint; /* of the mappings read last */
	int64_t rest_until_ns;
};

struct probe_unwinds {
	struct probe_session *session;
	struct probe_unwind_maps maps;
	struct unwind_modules modules;
	struct unwind_lists lists;
	struct unwind_files files;
	struct slot *slots;
	uint32_t slots_used;	   /* all that were ever used are below */
	uint32_t again;		   /* slot to be looked at again next */
	int64_t poll_ns, again_ns; /* when to do so next */
	/* Of the process that is looked at, as many of the one as of the other: */
	VEC(struct unwind_mapping) list;
	VEC(struct unwind_file_range) ranges;

	pthread_t thread;
	pthread_mutex_t lock; /* over what follows */
	pthread_cond_t changed;
	bool running, stop;
	VEC(struct order) orders;
	uint64_t asked, done; /* tickets */
	struct probe_unwinds_sum sum;
};

struct look {
	struct probe_unwinds *u;
	uint32_t tgid;
	bool failed;
	uint64_t fingerprint;
};

static bool is_vdso(const struct host_mapping *h)
{
	return bytes_equal(h->path, bytes_of("[vdso]"));
}

static void add_to_fingerprint(struct look *l, const struct host_mapping *h)
{
	const uint64_t m[5] = { h->start, h->end, h->offset, h->inode,
				(uint64_t)h->major << 32 | h->minor };

	l->fingerprint = hash_bytes(m, sizeof(m), l->fingerprint);
}

static bool fingerprint_mapping(void *ctx, const struct host_mapping *h)
{
	if (h->executable)
		add_to_fingerprint(ctx, h);
	return true;
}

static bool on_mapping(void *ctx, const struct host_mapping *h)
{
	struct look *l = ctx;
	struct unwind_mapping m = { .start = h->start, .end = h->end };
	struct unwind_file_range range;

	if (!h->executable)
		return true;
	add_to_fingerprint(l, h);
	if (h->inode || is_vdso(h))
		unwind_modules_find(&l->u->modules, l->tgid, h, &m);
	if (l->u->list.n + 1 >= UNWIND_MAPPINGS_MAX ||
	    !unwind_files_range(&l->u->files, h, &range) || !vec_push(&l->u->ranges, range) ||
	    !vec_push(&l->u->list, m)) {
		l->failed = true;
		return false;
	}
	return true;
}

static void mapping_gone(void *ctx, const struct unwind_mapping *m)
{
	struct probe_unwinds *u = ctx;

	unwind_modules_use(&u->modules, m, -1);
}

static void drop_list(struct probe_unwinds *u, uint64_t list)
{
	if (unwind_lists_drop(&u->lists, list, mapping_gone, u))
		unwind_files_gone(&u->files, UNWIND_LIST_GENERATION(list), host_clock_mono());
}

/* The slot of a process, a free one for a new process: its changes are counted from here on. False:
 * there is none. */
static bool slot_of(struct probe_unwinds *u, uint32_t tgid, uint32_t *slot)
{
	struct unwind_process *p;

	if (probe_session_unwind_slot(u->session, tgid, slot) && *slot < UNWIND_PROCESSES &&
	    __atomic_load_n(&u->maps.processes[*slot].tgid, __ATOMIC_SEQ_CST) == tgid)
		return true;
	if (!probe_session_unwind_take(u->session, slot))
		return false;
	if (*slot >= UNWIND_PROCESSES)
		return false;
	p = &u->maps.processes[*slot];
	*p = (struct unwind_process){ 0 };
	u->slots[*slot] = (struct slot){ 0 };
	__atomic_store_n(&p->tgid, tgid, __ATOMIC_SEQ_CST);
	if (probe_session_unwind_enter(u->session, tgid, *slot))
		return true;
	/* It is being forked, or its number was another's a moment ago. */
	__atomic_store_n(&p->tgid, 0, __ATOMIC_SEQ_CST);
	probe_session_unwind_give(u->session, *slot);
	return false;
}

static void free_slot(struct probe_unwinds *u, uint32_t slot)
{
	struct unwind_process *p = &u->maps.processes[slot];
	uint32_t tgid = __atomic_load_n(&p->tgid, __ATOMIC_SEQ_CST), known;

	if (probe_session_unwind_slot(u->session, tgid, &known) && known == slot)
		probe_session_unwind_leave(u->session, tgid);
	__atomic_store_n(&p->list, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->tgid, 0, __ATOMIC_SEQ_CST);
	drop_list(u, u->slots[slot].list);
	u->slots[slot] = (struct slot){ 0 };
	probe_session_unwind_give(u->session, slot);
}

/* Shares the parent's list, which the kernel side gave to a child, while it is still valid. */
static bool share_list(struct probe_unwinds *u, uint32_t slot)
{
	struct unwind_process *p = &u->maps.processes[slot];
	uint64_t list = __atomic_load_n(&p->list, __ATOMIC_SEQ_CST);

	if (u->slots[slot].list || __atomic_load_n(&p->changes, __ATOMIC_SEQ_CST) !=
					   __atomic_load_n(&p->looked, __ATOMIC_SEQ_CST))
		return false;
	if (!unwind_lists_share(&u->lists, list))
		return false;
	u->slots[slot].list = list;
	return true;
}

/* Publishes the list that was read for the process in that slot. Where something was removed while
 * it was read, that may show what was mapped only later: it holds for no number of removals. False:
 * no memory. */
static bool set_list(struct probe_unwinds *u, uint32_t slot, uint32_t changes, uint32_t removals)
{
	struct unwind_process *p = &u->maps.processes[slot];
	bool holds = __atomic_load_n(&p->removals, __ATOMIC_SEQ_CST) == removals;
	uint64_t before = u->slots[slot].list, list;
	bool is_new;

	list = unwind_lists_take(&u->lists, u->list.v, (uint32_t)u->list.n, &is_new);
	for (size_t i = 0; list && is_new && i < u->list.n; i++)
		unwind_modules_use(&u->modules, &u->list.v[i], 1);
	if (!list)
		return false;
	if (is_new)
		unwind_files_put(&u->files, UNWIND_LIST_GENERATION(list), u->ranges.v,
				 (uint32_t)u->list.n);
	/* Readers never see a list with the counters of another one. */
	__atomic_store_n(&p->kept, ~removals, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->list, list, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->looked, changes, __ATOMIC_SEQ_CST);
	if (holds)
		__atomic_store_n(&p->kept, removals, __ATOMIC_SEQ_CST);
	u->slots[slot].list = list;
	drop_list(u, before);
	return true;
}

/* Reads the mappings of a process. On failure its slot is freed, and its stacks are walked by frame
 * pointers. */
static void read_slot(struct probe_unwinds *u, uint32_t tgid, uint32_t slot)
{
	struct look l = { .u = u, .tgid = tgid };
	int64_t from = host_clock_mono(), now;
	struct err ignored = { 0 };
	uint32_t changes = __atomic_load_n(&u->maps.processes[slot].changes, __ATOMIC_SEQ_CST);
	uint32_t removals = __atomic_load_n(&u->maps.processes[slot].removals, __ATOMIC_SEQ_CST);

	u->modules.round++;
	u->list.n = u->ranges.n = 0;
	if (host_maps_read(tgid, on_mapping, &l, &ignored) || l.failed || u->list.n == 0 ||
	    !set_list(u, slot, changes, removals)) {
		free_slot(u, slot);
		return;
	}
	now = host_clock_mono();
	u->slots[slot].fingerprint = l.fingerprint;
	u->slots[slot].rest_until_ns = now + LOOK_SHARE * (now - from);
}

static void read_process(struct probe_unwinds *u, uint32_t tgid)
{
	uint32_t slot;

	if (!slot_of(u, tgid, &slot))
		return;
	if (slot >= u->slots_used)
		u->slots_used = slot + 1;
	if (!share_list(u, slot))
		read_slot(u, tgid, slot);
}

/* Handles what the kernel side has set in a slot: an end, a shared list, or changes. */
static void poll_slot(struct probe_unwinds *u, uint32_t slot, uint32_t tgid, int64_t now)
{
	struct unwind_process *p = &u->maps.processes[slot];
	bool changed = __atomic_load_n(&p->changes, __ATOMIC_SEQ_CST) !=
		       __atomic_load_n(&p->looked, __ATOMIC_SEQ_CST);

	if (__atomic_load_n(&p->ended, __ATOMIC_SEQ_CST))
		free_slot(u, slot);
	else if (!u->slots[slot].list && share_list(u, slot))
		return;
	else if (!u->slots[slot].list || (changed && now >= u->slots[slot].rest_until_ns))
		read_slot(u, tgid, slot);
}

static void poll_slots(struct probe_unwinds *u, int64_t now)
{
	for (uint32_t i = 0; i < UNWIND_PROCESSES && i < u->slots_used + SLOTS_AHEAD; i++) {
		uint32_t tgid = __atomic_load_n(&u->maps.processes[i].tgid, __ATOMIC_SEQ_CST);

		if (!tgid)
			continue;
		if (i >= u->slots_used)
			u->slots_used = i + 1;
		poll_slot(u, i, tgid, now);
	}
}

/* Finds processes whose end was missed, and code that was mapped without the loader. */
static void recheck_slots(struct probe_unwinds *u)
{
	int64_t until = host_clock_mono() + AGAIN_MOST_NS;
	struct err ignored = { 0 };

	for (uint32_t n = 0; n < u->slots_used && host_clock_mono() < until; n++) {
		struct look l = { .u = u };
		uint32_t slot = u->again++ % u->slots_used, known;

		l.tgid = __atomic_load_n(&u->maps.processes[slot].tgid, __ATOMIC_SEQ_CST);
		if (!l.tgid)
			continue;
		if ((kill((pid_t)l.tgid, 0) && errno == ESRCH) ||
		    !probe_session_unwind_slot(u->session, l.tgid, &known) || known != slot)
			free_slot(u, slot);
		else if (host_maps_read(l.tgid, fingerprint_mapping, &l, &ignored) == 0 &&
			 l.fingerprint != u->slots[slot].fingerprint)
			read_slot(u, l.tgid, slot);
	}
}

static void poll_processes(struct probe_unwinds *u)
{
	int64_t now = host_clock_mono();

	if (now < u->poll_ns)
		return;
	poll_slots(u, now);
	if (now >= u->again_ns) {
		recheck_slots(u);
		unwind_files_forget(&u->files, now);
		u->again_ns = now + AGAIN_NS;
	}
	u->poll_ns = host_clock_mono() + POLL_NS;
}

static void set_deadline(struct timespec *t, int64_t ns)
{
	clock_gettime(CLOCK_MONOTONIC, t);
	ns += t->tv_nsec;
	t->tv_sec += ns / 1000000000;
	t->tv_nsec = ns % 1000000000;
}

/* With the lock held. */
static void obey_order(struct probe_unwinds *u)
{
	struct order o = u->orders.v[0];

	memmove(u->orders.v, u->orders.v + 1, --u->orders.n * sizeof(o));
	pthread_mutex_unlock(&u->lock);
	read_process(u, o.tgid);
	pthread_mutex_lock(&u->lock);
	if (o.ticket > u->done)
		u->done = o.ticket;
	pthread_cond_broadcast(&u->changed);
}

static void *unwind_thread(void *ctx)
{
	struct probe_unwinds *u = ctx;
	struct timespec until;

	(void)host_rights_keep(host_rights_recording());
	for (uint32_t i = UNWIND_PROCESSES; i > 0; i--)
		probe_session_unwind_give(u->session, i - 1);
	pthread_mutex_lock(&u->lock);
	while (!u->stop) {
		if (u->orders.n) {
			obey_order(u);
		} else {
			set_deadline(&until, POLL_NS);
			pthread_cond_timedwait(&u->changed, &u->lock, &until);
		}
		pthread_mutex_unlock(&u->lock);
		poll_processes(u);
		pthread_mutex_lock(&u->lock);
		u->sum = u->modules.sum;
	}
	pthread_mutex_unlock(&u->lock);
	return NULL;
}

static void init_locks(struct probe_unwinds *u)
{
	pthread_condattr_t how;

	pthread_condattr_init(&how);
	pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
	pthread_cond_init(&u->changed, &how);
	pthread_condattr_destroy(&how);
	pthread_mutex_init(&u->lock, NULL);
}

int probe_unwinds_new(struct probe_unwinds **out, struct probe_session *session, uint64_t memory,
		      struct err *e)
{
	struct probe_unwinds *u;
	struct probe_unwind_maps maps;

	*out = NULL;
	if (memory == 0 || !probe_session_unwind_open(session, &maps))
		return 0;
	u = calloc(1, sizeof(*u));
	if (!u) {
		probe_session_unwind_close(&maps);
		return err_nomem(e);
	}
	u->session = session;
	u->maps = maps;
	u->modules.maps = &u->maps;
	u->modules.lock = &u->lock;
	u->modules.memory = memory;
	u->slots = calloc(UNWIND_PROCESSES, sizeof(*u->slots));
	init_locks(u);
	unwind_lists_init(&u->lists, session);
	unwind_files_init(&u->files);
	u->running = u->slots && unwind_modules_init(&u->modules, session) &&
		     pthread_create(&u->thread, NULL, unwind_thread, u) == 0;
	if (!u->running) {
		probe_unwinds_free(u);
		return err_nomem(e);
	}
	*out = u;
	return 0;
}

void probe_unwinds_free(struct probe_unwinds *u)
{
	if (!u)
		return;
	pthread_mutex_lock(&u->lock);
	u->stop = true;
	pthread_cond_broadcast(&u->changed);
	pthread_mutex_unlock(&u->lock);
	if (u->running)
		pthread_join(u->thread, NULL);
	probe_session_unwind_close(&u->maps);
	unwind_modules_free(&u->modules);
	unwind_lists_free(&u->lists);
	unwind_files_free(&u->files);
	free(u->slots);
	vec_free(&u->list);
	vec_free(&u->ranges);
	vec_free(&u->orders);
	pthread_mutex_destroy(&u->lock);
	pthread_cond_destroy(&u->changed);
	free(u);
}

static bool is_queued(const struct probe_unwinds *u, uint32_t tgid)
{
	for (size_t i = 0; i < u->orders.n; i++)
		if (u->orders.v[i].tgid == tgid)
			return true;
	return false;
}

/* Who is waited for comes first. */
static bool queue_order(struct probe_unwinds *u, struct order o)
{
	if (!vec_push(&u->orders, o))
		return false;
	if (o.ticket) {
		memmove(u->orders.v + 1, u->orders.v, (u->orders.n - 1) * sizeof(o));
		u->orders.v[0] = o;
	}
	pthread_cond_broadcast(&u->changed);
	return true;
}

void probe_unwinds_look(struct probe_unwinds *u, uint32_t tgid, bool wait)
{
	struct order o = { .tgid = tgid };
	struct timespec until;

	if (!u)
		return;
	set_deadline(&until, PROBE_UNWINDS_WAIT_MS * 1000000ll);
	pthread_mutex_lock(&u->lock);
	if (wait)
		o.ticket = ++u->asked;
	if ((wait || !is_queued(u, tgid)) && queue_order(u, o))
		while (wait && u->done < o.ticket)
			if (pthread_cond_timedwait(&u->changed, &u->lock, &until))
				break;
	pthread_mutex_unlock(&u->lock);
}

bool probe_unwinds_file(struct probe_unwinds *u, uint32_t list, uint64_t address,
			struct host_mapping *out)
{
	return u && list && unwind_files_find(&u->files, list, address, out);
}

/* The list of a process that holds for so many removals; 0: there is none now. Asked before and
 * behind it: another list may be published meanwhile. */
static uint32_t list_for(const struct unwind_process *p, uint32_t removals)
{
	bool holds = __atomic_load_n(&p->kept, __ATOMIC_SEQ_CST) == removals;
	uint64_t list = __atomic_load_n(&p->list, __ATOMIC_SEQ_CST);

	return holds && __atomic_load_n(&p->kept, __ATOMIC_SEQ_CST) == removals
		       ? UNWIND_LIST_GENERATION(list)
		       : 0;
}

bool probe_unwinds_confirm(struct probe_unwinds *u, const struct wire_stack *s)
{
	uint32_t slot, list;

	if (!u || !probe_session_unwind_slot(u->session, s->tgid, &slot) ||
	    slot >= UNWIND_PROCESSES)
		return false;
	list = list_for(&u->maps.processes[slot], s->removals);
	if (!list)
		return false;
	for (unsigned i = 0; i < s->n; i++)
		if (!unwind_files_agree(&u->files, s->list, list, s->ip[i] - 1))
			return false;
	return true;
}

struct probe_unwinds_sum probe_unwinds_totals(struct probe_unwinds *u)
{
	struct probe_unwinds_sum sum = { 0 };

	if (u) {
		struct unwind_counts c = probe_session_unwind_counts(u->session);

		pthread_mutex_lock(&u->lock);
		sum = u->sum;
		pthread_mutex_unlock(&u->lock);
		sum.walks = c.walks;
		sum.searched = c.searched;
	}
	return sum;
}

int probe_unwinds_refusals(struct probe_unwinds *u,
			   int (*fn)(void *ctx, const struct probe_unwinds_refusal *r,
				     struct err *e),
			   void *ctx, struct err *e)
{
	int rc = 0;

	if (!u)
		return 0;
	pthread_mutex_lock(&u->lock);
	for (size_t i = 0; i < u->modules.refusals.n && rc == 0; i++)
		rc = fn(ctx, &u->modules.refusals.v[i], e);
	pthread_mutex_unlock(&u->lock);
	return rc;
}
