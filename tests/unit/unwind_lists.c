/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules and lists of mappings for unwinding, over a kernel side made here: tables are shared and
 * dropped when the memory limit asks for it, numbers are given again, serials and generations never.
 */
#include <string.h>
#include <unistd.h>

#include "lib/attach/session_unwind.h"
#include "lib/attach/unwind_lists.h"
#include "lib/attach/unwind_modules.h"
#include "tests/tap.h"

static unsigned chunks; /* that are there */

void *probe_session_unwind_chunk(struct probe_session *s, enum probe_unwind_kind kind,
				 uint32_t number, uint32_t n, size_t each)
{
	(void)s;
	(void)kind;
	(void)number;
	chunks++;
	return calloc(n, each);
}

void probe_session_unwind_chunk_gone(struct probe_session *s, enum probe_unwind_kind kind,
				     uint32_t number, void *memory, size_t bytes)
{
	(void)s;
	(void)kind;
	(void)number;
	(void)bytes;
	chunks--;
	free(memory);
}

bool probe_session_unwind_open(struct probe_session *s, struct probe_unwind_maps *out)
{
	(void)s;
	(void)out;
	return false;
}

void probe_session_unwind_close(struct probe_unwind_maps *m)
{
	(void)m;
}

struct unwind_counts probe_session_unwind_counts(const struct probe_session *s)
{
	(void)s;
	return (struct unwind_counts){ 0 };
}

bool probe_session_unwind_slot(struct probe_session *s, uint32_t tgid, uint32_t *slot)
{
	(void)s;
	(void)tgid;
	(void)slot;
	return false;
}

bool probe_session_unwind_take(struct probe_session *s, uint32_t *slot)
{
	(void)s;
	(void)slot;
	return false;
}

void probe_session_unwind_give(struct probe_session *s, uint32_t slot)
{
	(void)s;
	(void)slot;
}

bool probe_session_unwind_enter(struct probe_session *s, uint32_t tgid, uint32_t slot)
{
	(void)s;
	(void)tgid;
	(void)slot;
	return false;
}

void probe_session_unwind_leave(struct probe_session *s, uint32_t tgid)
{
	(void)s;
	(void)tgid;
}

/* Code that this process maps: the C library, the loader, the kernel's own library. */
struct mapped {
	struct host_mapping libc, loader, vdso;
};

static void keep(struct host_mapping *to, const struct host_mapping *h)
{
	static char paths[3][256];
	static unsigned n;

	*to = *h;
	snprintf(paths[n], sizeof(paths[n]), "%s", h->path.p);
	to->path = bytes_of(paths[n++ % 3]);
}

static bool keep_mapping(void *ctx, const struct host_mapping *h)
{
	struct mapped *m = ctx;

	if (!h->executable)
		return true;
	if (strstr(h->path.p, "/libc.so") && !m->libc.inode)
		keep(&m->libc, h);
	else if (strstr(h->path.p, "/ld-linux") && !m->loader.inode)
		keep(&m->loader, h);
	else if (strcmp(h->path.p, "[vdso]") == 0 && !m->vdso.end)
		keep(&m->vdso, h);
	return true;
}

static struct mapped read_own(void)
{
	struct mapped m = { 0 };
	struct err e = { 0 };

	host_maps_read((uint32_t)getpid(), keep_mapping, &m, &e);
	return m;
}

static uint64_t rules[UNWIND_RULES_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct probe_unwind_maps maps = { .rules = rules };

static struct unwind_mapping find(struct unwind_modules *m, const struct host_mapping *h)
{
	struct unwind_mapping out = { .start = h->start, .end = h->end };

	m->round++;
	unwind_modules_find(m, (uint32_t)getpid(), h, &out);
	return out;
}

/* The serial in the kernel's memory where that table was. */
static uint64_t serial_at(const struct unwind_modules *m, const struct unwind_mapping *of)
{
	const uint64_t *head =
		unwind_room_memory(&m->room, (struct unwind_place){ of->chunk, of->at });

	return head[1] >> 32;
}

static void test_tables_are_shared(const struct mapped *own)
{
	struct unwind_modules m = { .maps = &maps, .lock = &lock, .memory = 1 << 30 };
	struct unwind_mapping a, b, vdso;

	ok(unwind_modules_init(&m, NULL), "modules");
	a = find(&m, &own->libc);
	b = find(&m, &own->libc);
	vdso = find(&m, &own->vdso);
	ok(a.module && a.module != UNWIND_NO_TABLE && a.serial, "the C library has a table");
	ok(a.module == b.module && a.serial == b.serial && a.bias == b.bias,
	   "met again it is the same");
	ok(vdso.module && vdso.module != a.module && vdso.module != UNWIND_NO_TABLE,
	   "the kernel's library has one");
	is_u64(m.sum.modules, 2, "two tables were built");
	is_u64(m.sum.bytes, m.v.v[a.module - 1].bytes + m.v.v[vdso.module - 1].bytes,
	       "their bytes");
	unwind_modules_free(&m);
}

static void test_unused_tables_make_room(const struct mapped *own)
{
	struct unwind_modules m = { .maps = &maps, .lock = &lock, .memory = 1 << 30 };
	struct unwind_mapping small, large, again;
	uint64_t both;

	unwind_modules_init(&m, NULL);
	small = find(&m, &own->loader);
	both = m.sum.bytes;
	find(&m, &own->libc);
	both = m.sum.bytes;
	unwind_modules_free(&m);

	/* A byte less than both need. */
	m = (struct unwind_modules){ .maps = &maps, .lock = &lock, .memory = both - 1 };
	unwind_modules_init(&m, NULL);
	small = find(&m, &own->loader);
	unwind_modules_use(&m, &small, 1);
	large = find(&m, &own->libc);
	ok(large.module == UNWIND_NO_TABLE && m.sum.refused == 1,
	   "no room beside a table that is used");
	large = find(&m, &own->libc);
	ok(large.module == UNWIND_NO_TABLE && m.sum.refused == 1 && m.sum.modules == 1,
	   "nor when asked again");
	ok(m.refusals.n == 1 && strstr(m.refusals.v[0].why, "no room"), "which is said once");
	unwind_modules_use(&m, &small, -1);
	large = find(&m, &own->libc);
	ok(large.module != UNWIND_NO_TABLE && large.module,
	   "in place of one that nobody uses any more");
	is_u64(m.sum.dropped, 1, "which is dropped");
	ok(m.sum.refused == 0 && m.refusals.n == 0, "nobody is refused any more");
	ok(serial_at(&m, &small) != small.serial, "its memory is given back");
	ok(m.sum.bytes <= m.memory, "and the limit holds");
	unwind_modules_use(&m, &large, 1);
	again = find(&m, &own->loader);
	ok(again.module == UNWIND_NO_TABLE, "the other one has no room now");
	unwind_modules_use(&m, &large, -1);
	again = find(&m, &own->loader);
	ok(again.module != UNWIND_NO_TABLE && again.serial != small.serial,
	   "when it has, it is another by serial");
	unwind_modules_free(&m);
}

/* Mappings in the kernel's memory of that list; 0: it is not there. */
static uint64_t mappings_of(const struct unwind_lists *l, uint64_t list)
{
	struct unwind_place p = { UNWIND_LIST_CHUNK(list), UNWIND_LIST_AT(list) };
	const struct unwind_mapping *m = p.chunk < l->room.v.n && l->room.v.v[p.chunk].memory
						 ? unwind_room_memory(&l->room, p)
						 : NULL;

	return m && m->end == UNWIND_LIST_GENERATION(list) ? m->start : 0;
}

static unsigned gone;
static void count_gone(void *ctx, const struct unwind_mapping *m)
{
	(void)ctx;
	(void)m;
	gone++;
}

static void test_lists(void)
{
	struct unwind_mapping a[2] = { { 4096, 8192, 0, 1, 1 }, { 8192, 12288, 0, 2, 2 } },
			      b[1] = { { 4096, 8192, 0, 3, 3 } };
	struct unwind_lists l = { 0 };
	uint64_t first, second, other;
	bool is_new;

	unwind_lists_init(&l, NULL);
	first = unwind_lists_take(&l, a, 2, &is_new);
	ok(first && is_new, "a list");
	second = unwind_lists_take(&l, a, 2, &is_new);
	ok(second == first && !is_new, "who maps the same has the same");
	other = unwind_lists_take(&l, b, 1, &is_new);
	ok(other && is_new && (uint32_t)other != (uint32_t)first && other >> 32 != first >> 32,
	   "who does not, another");
	is_u64(mappings_of(&l, first), 2, "the kernel side sees it");
	ok(unwind_lists_share(&l, first), "a child shares it");
	unwind_lists_drop(&l, first, count_gone, NULL);
	unwind_lists_drop(&l, first, count_gone, NULL);
	ok(gone == 0 && mappings_of(&l, first) == 2, "it is there as long as somebody uses it");
	unwind_lists_drop(&l, first, count_gone, NULL);
	ok(gone == 2 && mappings_of(&l, first) == 0 && l.bytes == 2 * sizeof(*b),
	   "and goes with the last");
	ok(!unwind_lists_share(&l, first), "nobody shares what is gone");
	second = unwind_lists_take(&l, a, 2, &is_new);
	ok(is_new && (uint32_t)second == (uint32_t)first && second >> 32 != first >> 32,
	   "its number is given again, its generation is not");
	ok(!unwind_lists_share(&l, first), "nor by that");
	unwind_lists_drop(&l, first, count_gone, NULL);
	ok(mappings_of(&l, second) == 2, "the old name drops nothing");
	l.generation = (1u << UNWIND_GENERATION_BITS) - 1;
	unwind_lists_drop(&l, second, count_gone, NULL);
	second = unwind_lists_take(&l, a, 2, &is_new);
	ok(second >> 32 == 1 || other >> 32 == 1,
	   "after the last generation the first that is free");
	ok(second >> 32 != other >> 32 && second >> 32, "which no list has");
	unwind_lists_free(&l);
}

int main(void)
{
	struct mapped own = read_own();

	ok(own.libc.inode && own.loader.inode && own.vdso.end, "this process maps libraries");
	test_tables_are_shared(&own);
	test_unused_tables_make_room(&own);
	test_lists();
	is_u64(chunks, 0, "all memory is given back");
	return tap_done();
}
