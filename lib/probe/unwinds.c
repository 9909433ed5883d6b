/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that keeps the tables for unwinding up to date. It alone owns modules and processes; the recorder only queues
 * numbers of processes. A file is known by device, inode, size and time of change, so that one table serves all processes.
 * Order of a look: read how often the loader has changed something, read the maps, put the tables, put the list, raise its
 * generation, say for which change it holds. Until that stacks are marked as changing.
 */
#include "lib/probe/unwinds.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/host/clock.h"
#include "lib/host/maps.h"
#include "lib/probe/session_unwind.h"
#include "lib/sym/python.h"

#define VDSO_MAX (1u << 20)

struct unwind_module {
	uint32_t major, minor;
	uint64_t inode; /* 0: the kernel's own library */
	int64_t size, changed_ns;
	struct sym_elf *file; /* NULL: it could not be read */
	bool has_table;
};

struct order {
	uint32_t tgid;
	bool ended;
};

struct probe_unwinds {
	struct probe_session *session;
	struct probe_unwind_maps maps;
	struct unwind_rules *rules;
	unsigned nrules; /* that the kernel side has */
	uint64_t memory;
	VEC(struct unwind_module) modules; /* by number less 1 */
	struct map slots;		   /* tgid -> slot */
	uint32_t next_slot;
	uint32_t generation; /* of the list given last: the kernel side keeps rules by it, of all processes */
	VEC(uint32_t) free_slots;
	VEC(struct unwind_mapping) list; /* of the process that is looked at */

	pthread_t thread;
	pthread_mutex_t lock; /* over what follows */
	pthread_cond_t changed;
	bool running, stop;
	VEC(struct order) orders;
	uint64_t asked, done; /* orders, ever */
	VEC(struct probe_unwinds_refusal) refusals;
	struct probe_unwinds_sum sum;
};

struct look {
	struct probe_unwinds *u;
	uint32_t tgid;
	bool failed;
};

static int64_t changed_ns(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

/* The kernel's own library has no file: its bytes, from the process. -1: they cannot be read. */
static int copy_vdso(uint32_t tgid, const struct host_mapping *m)
{
	size_t n = (size_t)(m->end - m->start);
	char path[64], *bytes = n <= VDSO_MAX ? malloc(n) : NULL;
	int memory, fd = -1;

	snprintf(path, sizeof(path), "/proc/%u/mem", tgid);
	memory = bytes ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (memory >= 0 && pread(memory, bytes, n, (off_t)m->start) == (ssize_t)n) {
		fd = memfd_create("vdso", MFD_CLOEXEC);
		if (fd >= 0 && write(fd, bytes, n) != (ssize_t)n) {
			close(fd);
			fd = -1;
		}
	}
	if (memory >= 0)
		close(memory);
	free(bytes);
	return fd;
}

static int open_mapping(uint32_t tgid, const struct host_mapping *m)
{
	char path[4400];

	if (!m->inode)
		return copy_vdso(tgid, m);
	/* Without O_NONBLOCK a FIFO in its place would hold us. */
	return open(host_maps_path(tgid, m, path, sizeof(path)),
		    O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static void put_rules(struct probe_unwinds *u)
{
	unsigned n;
	const uint64_t *rule = unwind_rules_all(u->rules, &n);

	for (; u->nrules < n; u->nrules++)
		u->maps.rules[u->nrules] = rule[u->nrules];
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Builds its table, and puts it under this number. e says why its code cannot be unwound, where it cannot. */
static bool build_table(struct probe_unwinds *u, const struct unwind_module *m, uint32_t number,
			struct err *e)
{
	struct unwind_table *t = NULL;
	int64_t from = host_clock_mono();
	size_t bytes = 0;
	bool fits = false;

	if (m->file && unwind_table_build(&t, m->file, u->rules, e) == 0) {
		fits = u->sum.bytes + unwind_table_bytes(t) <= u->memory;
		put_rules(u);
		if (fits)
			bytes = probe_session_unwind_table(u->session, number, t);
		if (!fits)
			err_set(e, ERR_LIMIT, "no room within --unwind-memory");
		else if (!bytes)
			err_set(e, ERR_NOMEM, "the kernel has no memory for its table");
		else if (t->npages == 0)
			err_set(e, ERR_CANNOT, "it has no .eh_frame");
	}
	pthread_mutex_lock(&u->lock);
	u->sum.modules += !e->code;
	u->sum.bytes += bytes;
	u->sum.refused += e->code != 0;
	u->sum.build_ns += (uint64_t)(host_clock_mono() - from);
	pthread_mutex_unlock(&u->lock);
	unwind_table_free(t);
	return bytes > 0;
}

static void note_refusal(struct probe_unwinds *u, struct bytes path, const struct err *e)
{
	struct probe_unwinds_refusal r = { .path = strndup(path.p, path.n) };

	snprintf(r.why, sizeof(r.why), "%.*s", (int)sizeof(r.why) - 1, e->text);
	pthread_mutex_lock(&u->lock);
	if (!r.path || !vec_push(&u->refusals, r))
		free(r.path);
	pthread_mutex_unlock(&u->lock);
}

static bool is_module_of(const struct unwind_module *m, const struct host_mapping *h,
			 const struct stat *st)
{
	return m->inode == h->inode && m->major == h->major && m->minor == h->minor &&
	       (!h->inode || (m->size == (int64_t)st->st_size && m->changed_ns == changed_ns(st)));
}

/* Its number; 0: no memory. fd: of its file. */
static uint32_t module_of(struct probe_unwinds *u, const struct host_mapping *h, int fd)
{
	struct unwind_module m = { .major = h->major, .minor = h->minor, .inode = h->inode };
	struct err e = { 0 };
	struct stat st = { 0 };

	if (fd < 0 || fstat(fd, &st))
		return 0;
	for (size_t i = u->modules.n; i > 0; i--)
		if (is_module_of(&u->modules.v[i - 1], h, &st))
			return (uint32_t)i;
	if (u->modules.n + 1 >= UNWIND_MODULES)
		return 0;
	m.size = (int64_t)st.st_size;
	m.changed_ns = changed_ns(&st);
	if (sym_elf_open_fd(&m.file, fd, "a mapped file", &e))
		m.file = NULL;
	m.has_table = build_table(u, &m, (uint32_t)u->modules.n + 1, &e);
	if (e.code)
		note_refusal(u, h->path, &e);
	if (!vec_push(&u->modules, m)) {
		sym_elf_free(m.file);
		return 0;
	}
	return (uint32_t)u->modules.n;
}

static bool is_vdso(const struct host_mapping *h)
{
	return bytes_equal(h->path, bytes_of("[vdso]"));
}

static bool look_at_mapping(void *ctx, const struct host_mapping *h)
{
	struct look *l = ctx;
	struct unwind_mapping m = { .start = h->start, .end = h->end };
	const struct unwind_module *module;
	uint64_t bias;
	uint32_t number;
	int fd;

	if (!h->executable)
		return true;
	if (h->inode || is_vdso(h)) {
		m.module = UNWIND_NO_TABLE;
		fd = open_mapping(l->tgid, h);
		number = module_of(l->u, h, fd);
		if (fd >= 0)
			close(fd);
		module = number ? &l->u->modules.v[number - 1] : NULL;
		if (module && module->has_table &&
		    sym_python_bias(module->file, h->start, h->offset, &bias)) {
			m.module = number;
			m.bias = bias;
		}
	}
	if (l->u->list.n > UNWIND_MAPPINGS_MAX || !vec_push(&l->u->list, m)) {
		l->failed = true;
		return false;
	}
	return true;
}

/* Its slot, a free one for a new process. False: there is none. */
static bool slot_of(struct probe_unwinds *u, uint32_t tgid, uint32_t *slot)
{
	uint64_t known;

	if (map_get(&u->slots, tgid, &known)) {
		*slot = (uint32_t)known;
		return true;
	}
	if (u->free_slots.n)
		*slot = u->free_slots.v[--u->free_slots.n];
	else if (u->next_slot < UNWIND_PROCESSES)
		*slot = u->next_slot++;
	else
		return false;
	return map_put(&u->slots, tgid, *slot);
}

static void forget_process(struct probe_unwinds *u, uint32_t tgid)
{
	uint64_t slot;

	if (!map_get(&u->slots, tgid, &slot))
		return;
	__atomic_store_n(&u->maps.processes[slot].tgid, 0, __ATOMIC_SEQ_CST);
	probe_session_unwind_slot(u->session, tgid, (uint32_t)slot, false);
	map_del(&u->slots, tgid);
	vec_push(&u->free_slots, (uint32_t)slot);
}

static void look_at_process(struct probe_unwinds *u, uint32_t tgid)
{
	struct look l = { .u = u, .tgid = tgid };
	struct unwind_mapping head = { 0 };
	struct err ignored = { 0 };
	struct unwind_process *p;
	uint32_t slot, changes;

	if (!slot_of(u, tgid, &slot))
		return;
	p = &u->maps.processes[slot];
	changes = __atomic_load_n(&p->changes, __ATOMIC_SEQ_CST);
	u->list.n = 0;
	if (!vec_push(&u->list, head) || host_maps_read(tgid, look_at_mapping, &l, &ignored) ||
	    l.failed || u->list.n < 2) {
		forget_process(u, tgid);
		return;
	}
	u->list.v[0].start = u->list.n - 1;
	if (!probe_session_unwind_list(u->session, slot, u->list.v, (uint32_t)u->list.n - 1)) {
		forget_process(u, tgid);
		return;
	}
	__atomic_store_n(&p->generation, ++u->generation, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->looked, changes, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&p->tgid, tgid, __ATOMIC_SEQ_CST) != tgid &&
	    !probe_session_unwind_slot(u->session, tgid, slot, true))
		forget_process(u, tgid);
}

static void *keep_tables(void *ctx)
{
	struct probe_unwinds *u = ctx;

	pthread_mutex_lock(&u->lock);
	for (;;) {
		struct order o;

		while (!u->stop && u->orders.n == 0)
			pthread_cond_wait(&u->changed, &u->lock);
		if (u->stop)
			break;
		o = u->orders.v[0];
		memmove(u->orders.v, u->orders.v + 1, --u->orders.n * sizeof(o));
		pthread_mutex_unlock(&u->lock);
		if (o.ended)
			forget_process(u, o.tgid);
		else
			look_at_process(u, o.tgid);
		pthread_mutex_lock(&u->lock);
		u->done++;
		pthread_cond_broadcast(&u->changed);
	}
	pthread_mutex_unlock(&u->lock);
	return NULL;
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
	u->memory = memory;
	u->rules = unwind_rules_new();
	pthread_mutex_init(&u->lock, NULL);
	pthread_cond_init(&u->changed, NULL);
	u->running = u->rules && pthread_create(&u->thread, NULL, keep_tables, u) == 0;
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
	for (size_t i = 0; i < u->modules.n; i++)
		sym_elf_free(u->modules.v[i].file);
	probe_session_unwind_close(&u->maps);
	unwind_rules_free(u->rules);
	vec_free(&u->modules);
	for (size_t i = 0; i < u->refusals.n; i++)
		free(u->refusals.v[i].path);
	vec_free(&u->refusals);
	vec_free(&u->free_slots);
	vec_free(&u->list);
	vec_free(&u->orders);
	map_free(&u->slots);
	pthread_mutex_destroy(&u->lock);
	pthread_cond_destroy(&u->changed);
	free(u);
}

static void give_order(struct probe_unwinds *u, struct order o, bool wait)
{
	struct timespec until;
	uint64_t mine;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PROBE_UNWINDS_WAIT_MS / 1000;
	until.tv_nsec += PROBE_UNWINDS_WAIT_MS % 1000 * 1000000l;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&u->lock);
	for (size_t i = 0; i < u->orders.n; i++)
		if (!wait && u->orders.v[i].tgid == o.tgid && u->orders.v[i].ended == o.ended) {
			pthread_mutex_unlock(&u->lock);
			return;
		}
	if (vec_push(&u->orders, o)) {
		mine = ++u->asked;
		pthread_cond_broadcast(&u->changed);
		while (wait && u->done < mine)
			if (pthread_cond_timedwait(&u->changed, &u->lock, &until))
				break;
	}
	pthread_mutex_unlock(&u->lock);
}

void probe_unwinds_look(struct probe_unwinds *u, uint32_t tgid, bool wait)
{
	if (u)
		give_order(u, (struct order){ .tgid = tgid }, wait);
}

void probe_unwinds_ended(struct probe_unwinds *u, uint32_t tgid)
{
	if (u)
		give_order(u, (struct order){ .tgid = tgid, .ended = true }, false);
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
	for (size_t i = 0; i < u->refusals.n && rc == 0; i++)
		rc = fn(ctx, &u->refusals.v[i], e);
	pthread_mutex_unlock(&u->lock);
	return rc;
}
