/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the unwind tables of mapped files, built once per file and shared by processes. The number
 * of a dropped module is given to another, its serial is not: the walk compares that of the list
 * with that of the table. No file is kept open, so that one that was deleted gives back its room.
 */
#include "lib/attach/unwind_modules.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/host/clock.h"
#include "lib/symbols/elf.h"

#define VDSO_MAX     (1u << 20)
#define SEGMENTS_MAX 64
#define CHUNK_SIZE   (1u << 15) /* 256 KB */

bool unwind_modules_init(struct unwind_modules *m, struct probe_session *session)
{
	m->room = (struct unwind_room){ .session = session,
					.kind = PROBE_UNWIND_TABLES,
					.each = sizeof(uint64_t),
					.chunk_size = CHUNK_SIZE,
					.chunks_max = UNWIND_TABLE_CHUNKS };
	m->rules = unwind_rules_new();
	return m->rules != NULL;
}

void unwind_modules_free(struct unwind_modules *m)
{
	for (size_t i = 0; i < m->v.n; i++)
		vec_free(&m->v.v[i].segments);
	vec_free(&m->v);
	map_free(&m->by_key);
	unwind_room_free(&m->room);
	for (size_t i = 0; i < m->refusals.n; i++)
		free(m->refusals.v[i].path);
	vec_free(&m->refusals);
	unwind_rules_free(m->rules);
}

/* The kernel's own library has no file: its bytes, from the process, into a file and a hash. -1:
 * they cannot be read. */
static int copy_vdso(uint32_t tgid, const struct host_mapping *h, uint64_t *hash)
{
	size_t n = (size_t)(h->end - h->start);
	char path[64], *bytes = n <= VDSO_MAX ? malloc(n) : NULL;
	int memory, fd = -1;

	snprintf(path, sizeof(path), "/proc/%u/mem", tgid);
	memory = bytes ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (memory >= 0 && pread(memory, bytes, n, (off_t)h->start) == (ssize_t)n) {
		*hash = hash_bytes(bytes, n, 0);
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

/* Opens the mapped file, and says what it is known by. -1: it cannot be. */
static int open_mapping(uint32_t tgid, const struct host_mapping *h, struct unwind_module *out)
{
	struct stat st;
	uint64_t hash = 0;
	int fd;

	if (!h->inode) {
		fd = copy_vdso(tgid, h, &hash);
		out->changed_ns = (int64_t)hash;
		return fd;
	}
	fd = host_maps_open(tgid, h);
	if (fd < 0 || fstat(fd, &st)) {
		close(fd);
		return -1;
	}
	out->size = (int64_t)st.st_size;
	out->changed_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return fd;
}

static void put_rules(struct unwind_modules *m)
{
	unsigned n;
	const uint64_t *rule = unwind_rules_all(m->rules, &n);

	for (; m->nrules < n; m->nrules++)
		m->maps->rules[m->nrules] = rule[m->nrules];
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static uint64_t key_of(const struct unwind_module *m)
{
	const uint64_t file[4] = { m->inode, (uint64_t)m->major << 32 | m->minor, (uint64_t)m->size,
				   (uint64_t)m->changed_ns };

	return hash_bytes(file, sizeof(file), 4);
}

static bool is_same_file(const struct unwind_module *a, const struct unwind_module *b)
{
	return a->inode == b->inode && a->major == b->major && a->minor == b->minor &&
	       a->size == b->size && a->changed_ns == b->changed_ns;
}

/* Its u64, as the kernel side has them. */
static size_t size_of_table(const struct unwind_table *t)
{
	return UNWIND_HEAD + ((size_t)t->npages + 1 + t->nrows + 1) / 2;
}

/* The serial last: it says that the table is there. */
static size_t write_table(struct unwind_modules *m, struct unwind_module *of,
			  const struct unwind_table *t)
{
	size_t n = size_of_table(t);
	uint64_t *head;
	uint32_t *word;

	if (!unwind_room_take(&m->room, (uint32_t)n, &of->place))
		return 0;
	head = unwind_room_memory(&m->room, of->place);
	word = (uint32_t *)(head + UNWIND_HEAD);
	if (t->npages) {
		memcpy(word, t->pages, ((size_t)t->npages + 1) * sizeof(*word));
		memcpy(word + t->npages + 1, t->rows, t->nrows * sizeof(*word));
	}
	head[0] = t->base;
	__atomic_store_n(&head[1], t->npages | (uint64_t)of->serial << 32, __ATOMIC_SEQ_CST);
	return n * sizeof(uint64_t);
}

static void remove_table(struct unwind_modules *m, const struct unwind_module *of)
{
	uint64_t *head = unwind_room_memory(&m->room, of->place);

	__atomic_store_n(&head[1], 0, __ATOMIC_SEQ_CST);
	unwind_room_give(&m->room, of->place);
}

static void drop_module(struct unwind_modules *m, uint32_t number)
{
	struct unwind_module *of = &m->v.v[number - 1];
	uint64_t known;

	if (of->bytes)
		remove_table(m, of);
	if (map_get(&m->by_key, key_of(of), &known) && known == number)
		map_del(&m->by_key, key_of(of));
	m->sum.bytes -= of->bytes;
	m->sum.dropped += of->bytes > 0;
	m->sum.refused -= of->wanted > 0;
	vec_free(&of->segments);
	*of = (struct unwind_module){ 0 };
	m->nfree++;
}

/* Nobody maps it, the process neither that is looked at. */
static bool is_unused(const struct unwind_modules *m, const struct unwind_module *of)
{
	return of->known && !of->users && of->round != m->round;
}

/* The one that nobody maps and that was met longest ago; 0: none. */
static uint32_t find_unused(const struct unwind_modules *m, bool with_table)
{
	uint32_t oldest = 0;

	for (size_t i = 0; i < m->v.n; i++) {
		const struct unwind_module *of = &m->v.v[i];

		if (is_unused(m, of) && (of->bytes || !with_table) &&
		    (!oldest || m->round - of->round > m->round - m->v.v[oldest - 1].round))
			oldest = (uint32_t)i + 1;
	}
	return oldest;
}

/* Room for so many bytes of a table, if need be in place of tables that nobody needs. */
static bool make_room(struct unwind_modules *m, size_t bytes)
{
	uint64_t needed = m->sum.bytes + bytes;

	for (size_t i = 0; i < m->v.n && needed > m->memory; i++)
		if (is_unused(m, &m->v.v[i]))
			needed -= m->v.v[i].bytes;
	if (needed > m->memory)
		return false;
	while (m->sum.bytes + bytes > m->memory)
		drop_module(m, find_unused(m, true));
	return true;
}

/* Its code cannot be unwound, for that reason; NULL: it can by now. */
static void note_refusal(struct unwind_modules *m, struct bytes path, const char *why)
{
	struct probe_unwinds_refusal r = { .path = strndup(path.p, path.n) };

	pthread_mutex_lock(m->lock);
	for (size_t i = m->refusals.n; r.path && i-- > 0;)
		if (strcmp(m->refusals.v[i].path, r.path) == 0) {
			free(m->refusals.v[i].path);
			m->refusals.v[i] = m->refusals.v[--m->refusals.n];
		}
	if (why)
		memcpy(r.why, why, strnlen(why, sizeof(r.why) - 1));
	if (!why || !r.path || !vec_push(&m->refusals, r))
		free(r.path);
	pthread_mutex_unlock(m->lock);
}

/* Builds its table and puts it into the kernel's memory. Called again where there was no room for
 * it. e: why its code cannot be unwound. */
static void build_table(struct unwind_modules *m, struct unwind_module *of,
			const struct sym_elf *file, struct err *e)
{
	struct unwind_table *t = NULL;
	int64_t from = host_clock_mono();
	size_t bytes;

	of->wanted = 0;
	if (unwind_table_build(&t, file, m->rules, e) == 0) {
		put_rules(m);
		bytes = size_of_table(t) * sizeof(uint64_t);
		if (make_room(m, bytes))
			of->bytes = write_table(m, of, t);
		else
			of->wanted = bytes;
		if (of->wanted)
			err_set(e, ERR_LIMIT, "no room within --unwind-memory");
		else if (!of->bytes)
			err_set(e, ERR_NOMEM, "the kernel has no memory for its table");
		else if (t->npages == 0)
			err_set(e, ERR_CANNOT, "it has no .eh_frame");
	}
	m->sum.bytes += of->bytes;
	m->sum.build_ns += (uint64_t)(host_clock_mono() - from);
	unwind_table_free(t);
}

static void store_segments(struct unwind_module *of, const struct sym_elf *file)
{
	struct sym_elf_part s;

	for (unsigned i = 0; sym_elf_segment(file, i, &s) && of->segments.n < SEGMENTS_MAX; i++)
		if (s.type == PT_LOAD)
			vec_push(&of->segments,
				 (struct unwind_segment){ s.offset, s.address, s.size });
	vec_fit(&of->segments);
}

/* fd: of its file. path: for people. */
static void read_file(struct unwind_modules *m, struct unwind_module *of, int fd, struct bytes path)
{
	struct sym_elf *file = NULL;
	struct err e = { 0 };
	unsigned char magic[SELFMAG];
	bool again = of->wanted > 0;

	of->is_code = pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
		      memcmp(magic, ELFMAG, SELFMAG) == 0;
	if (!of->is_code)
		return;
	if (sym_elf_open_fd(&file, fd, "a mapped file", &e) == 0) {
		if (!of->segments.n)
			store_segments(of, file);
		build_table(m, of, file, &e);
		sym_elf_free(file);
	}
	m->sum.refused -= again;
	m->sum.refused += e.code != 0;
	m->sum.modules += e.code == 0;
	if (e.code || again)
		note_refusal(m, path, e.code ? e.text : NULL);
}

/* A number that is free; 0: there is none. */
static uint32_t free_number(struct unwind_modules *m)
{
	uint32_t unused;

	if (!m->nfree && m->v.n + 1 < UNWIND_MODULES)
		return vec_push(&m->v, (struct unwind_module){ 0 }) ? (uint32_t)m->v.n : 0;
	if (!m->nfree) {
		unused = find_unused(m, false);
		if (!unused)
			return 0;
		drop_module(m, unused);
	}
	for (size_t i = 0; i < m->v.n; i++)
		if (!m->v.v[i].known) {
			m->nfree--;
			return (uint32_t)i + 1;
		}
	return 0;
}

/* Its number; 0: there is no room for it. fd: of its file. */
static uint32_t number_of(struct unwind_modules *m, const struct unwind_module *file, int fd,
			  struct bytes path)
{
	uint64_t known;
	uint32_t number;

	if (map_get(&m->by_key, key_of(file), &known) && is_same_file(&m->v.v[known - 1], file)) {
		number = (uint32_t)known;
		m->v.v[number - 1].round = m->round;
		if (m->v.v[number - 1].wanted && make_room(m, m->v.v[number - 1].wanted))
			read_file(m, &m->v.v[number - 1], fd, path);
		return number;
	}
	number = free_number(m);
	if (!number)
		return 0;
	m->v.v[number - 1] = *file;
	m->v.v[number - 1].known = true;
	m->v.v[number - 1].serial = ++m->serial;
	m->v.v[number - 1].round = m->round;
	/* Without memory for this it is read again next time. */
	map_put(&m->by_key, key_of(file), number);
	read_file(m, &m->v.v[number - 1], fd, path);
	return number;
}

/* What is added to addresses as linked where this part of the file is mapped. */
static bool bias_of(const struct unwind_module *of, const struct host_mapping *h, uint64_t *bias)
{
	uint64_t page = (uint64_t)getpagesize();
	bool found = false;

	/* Mappings begin at whole pages, where the segment before may still have its end. */
	for (size_t i = 0; i < of->segments.n; i++) {
		const struct unwind_segment *s = &of->segments.v[i];

		if ((s->offset & ~(page - 1)) <= h->offset && h->offset < s->offset + s->size) {
			*bias = h->start - h->offset + s->offset - s->address;
			found = true;
		}
	}
	return found;
}

bool unwind_modules_find(struct unwind_modules *m, uint32_t tgid, const struct host_mapping *h,
			 struct unwind_mapping *out)
{
	struct unwind_module file = { .major = h->major, .minor = h->minor, .inode = h->inode };
	const struct unwind_module *of;
	uint64_t bias;
	int fd = open_mapping(tgid, h, &file);
	uint32_t number = fd >= 0 ? number_of(m, &file, fd, h->path) : 0;

	if (fd >= 0)
		close(fd);
	out->module = UNWIND_NO_TABLE;
	if (!number)
		return false;
	of = &m->v.v[number - 1];
	if (!of->is_code) {
		out->module = 0;
	} else if (of->bytes && bias_of(of, h, &bias)) {
		out->bias = bias;
		out->module = number;
		out->serial = of->serial;
		out->chunk = of->place.chunk;
		out->at = of->place.at;
	}
	return true;
}

void unwind_modules_use(struct unwind_modules *m, const struct unwind_mapping *of, int users)
{
	if (of->module && of->module != UNWIND_NO_TABLE)
		m->v.v[of->module - 1].users += (uint32_t)users;
}
