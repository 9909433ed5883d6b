/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers which file lay where in each list of mappings, for stacks that are read later. Each
 * file's path is stored once and until the recorder ends, so callers may keep pointers to it.
 */
#include "lib/attach/unwind_files.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/bisect.h"
#include "lib/base/hash.h"

void unwind_files_init(struct unwind_files *f)
{
	pthread_mutex_init(&f->lock, NULL);
}

void unwind_files_free(struct unwind_files *f)
{
	for (size_t i = 0; i < f->files.n; i++)
		free((char *)f->files.v[i].path.p);
	for (size_t i = 0; i < f->lists.n; i++)
		free(f->lists.v[i].v);
	vec_free(&f->files);
	vec_free(&f->lists);
	map_free(&f->by_name);
	map_free(&f->by_generation);
	pthread_mutex_destroy(&f->lock);
}

static bool is_same(const struct host_mapping *a, const struct host_mapping *b)
{
	return a->inode == b->inode && a->major == b->major && a->minor == b->minor &&
	       bytes_equal(a->path, b->path);
}

/* With the lock held. */
static bool number_of(struct unwind_files *f, const struct host_mapping *m, uint32_t *number)
{
	const uint64_t file[2] = { m->inode, (uint64_t)m->major << 32 | m->minor };
	uint64_t hash = hash_bytes(m->path.p, m->path.n, hash_bytes(file, sizeof(file), 0)), known;
	struct host_mapping copy = *m;
	char *path;

	if (map_get(&f->by_name, hash, &known) && is_same(&f->files.v[known], m)) {
		*number = (uint32_t)known;
		return true;
	}
	path = malloc(m->path.n + 1);
	if (!path)
		return false;
	if (m->path.n)
		memcpy(path, m->path.p, m->path.n);
	path[m->path.n] = 0;
	copy.path.p = path;
	if (!vec_push(&f->files, copy)) {
		free(path);
		return false;
	}
	*number = (uint32_t)f->files.n - 1;
	/* Without memory for this it has another number next time. */
	map_put(&f->by_name, hash, *number);
	return true;
}

bool unwind_files_range(struct unwind_files *f, const struct host_mapping *m,
			struct unwind_file_range *out)
{
	bool ok;

	*out = (struct unwind_file_range){ .start = m->start, .end = m->end, .offset = m->offset };
	pthread_mutex_lock(&f->lock);
	ok = number_of(f, m, &out->file);
	pthread_mutex_unlock(&f->lock);
	return ok;
}

void unwind_files_put(struct unwind_files *f, uint32_t generation,
		      const struct unwind_file_range *v, uint32_t n)
{
	struct unwind_file_list l = { .generation = generation, .n = n };

	l.v = malloc(n * sizeof(*v));
	if (!l.v)
		return;
	memcpy(l.v, v, n * sizeof(*v));
	pthread_mutex_lock(&f->lock);
	if (!vec_push(&f->lists, l))
		free(l.v);
	else if (!map_put(&f->by_generation, generation, f->lists.n - 1))
		free(f->lists.v[--f->lists.n].v);
	pthread_mutex_unlock(&f->lock);
}

static size_t bytes_of_list(const struct unwind_file_list *l)
{
	return sizeof(*l) + l->n * sizeof(*l->v);
}

void unwind_files_gone(struct unwind_files *f, uint32_t generation, int64_t now_ns)
{
	uint64_t at;

	pthread_mutex_lock(&f->lock);
	if (map_get(&f->by_generation, generation, &at)) {
		f->lists.v[at].gone_ns = now_ns;
		f->gone_bytes += bytes_of_list(&f->lists.v[at]);
	}
	pthread_mutex_unlock(&f->lock);
}

static void remove_list(struct unwind_files *f, size_t at)
{
	struct unwind_file_list *l = &f->lists.v[at];

	f->gone_bytes -= bytes_of_list(l);
	map_del(&f->by_generation, l->generation);
	free(l->v);
	*l = f->lists.v[--f->lists.n];
	if (at < f->lists.n)
		map_put(&f->by_generation, l->generation, at);
}

void unwind_files_forget(struct unwind_files *f, int64_t now_ns)
{
	int64_t keep_ns = UNWIND_FILES_NS;

	pthread_mutex_lock(&f->lock);
	do {
		for (size_t i = f->lists.n; i-- > 0;)
			if (f->lists.v[i].gone_ns && now_ns - f->lists.v[i].gone_ns > keep_ns)
				remove_list(f, i);
		keep_ns /= 2;
	} while (f->gone_bytes > UNWIND_FILES_BYTES && keep_ns);
	pthread_mutex_unlock(&f->lock);
}

static const struct unwind_file_range *range_at(const struct unwind_file_list *l, uint64_t address)
{
	size_t lo = 0, hi = l->n;

	bisect(i, lo, hi, l->v[i].end <= address);
	return lo < l->n && l->v[lo].start <= address ? &l->v[lo] : NULL;
}

/* With the lock held. */
static const struct unwind_file_range *find_range(const struct unwind_files *f, uint32_t generation,
						  uint64_t address)
{
	uint64_t at;

	return map_get(&f->by_generation, generation, &at) ? range_at(&f->lists.v[at], address)
							   : NULL;
}

bool unwind_files_find(struct unwind_files *f, uint32_t generation, uint64_t address,
		       struct host_mapping *out)
{
	const struct unwind_file_range *r;

	pthread_mutex_lock(&f->lock);
	r = find_range(f, generation, address);
	if (r) {
		*out = f->files.v[r->file];
		out->start = r->start;
		out->end = r->end;
		out->offset = r->offset;
	}
	pthread_mutex_unlock(&f->lock);
	return r != NULL;
}

bool unwind_files_agree(struct unwind_files *f, uint32_t a, uint32_t b, uint64_t address)
{
	const struct unwind_file_range *ra, *rb;
	bool agree;

	pthread_mutex_lock(&f->lock);
	ra = find_range(f, a, address);
	rb = find_range(f, b, address);
	agree = ra && rb && ra->file == rb->file &&
		ra->offset - ra->start == rb->offset - rb->start;
	pthread_mutex_unlock(&f->lock);
	return agree;
}
