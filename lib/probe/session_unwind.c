/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the maps that stacks are unwound by. A table or a list of mappings is a map of its own, filled through a mapping of
 * its memory and only then put into the map of maps: the kernel exchanges one whole thing for another, and lets go of the old
 * one when nobody reads it any more.
 */
#include "lib/probe/session_unwind.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/probe/session_state.h"

static size_t whole_pages(size_t bytes)
{
	size_t page = (size_t)getpagesize();

	return (bytes + page - 1) / page * page;
}

static void *map_array(const struct bpf_map *map, size_t bytes)
{
	void *p = mmap(NULL, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED,
		       bpf_map__fd(map), 0);

	return p == MAP_FAILED ? NULL : p;
}

bool probe_session_unwind_open(struct probe_session *s, struct probe_unwind_maps *out)
{
	*out = (struct probe_unwind_maps){ 0 };
	if (!s->bpf->rodata->config_unwind)
		return false;
	out->processes = map_array(s->bpf->maps.unwind_processes,
				   UNWIND_PROCESSES * sizeof(*out->processes));
	out->rules = map_array(s->bpf->maps.unwind_rules, UNWIND_RULES_MAX * sizeof(*out->rules));
	if (out->processes && out->rules)
		return true;
	probe_session_unwind_close(out);
	return false;
}

void probe_session_unwind_close(struct probe_unwind_maps *m)
{
	if (m->processes)
		munmap(m->processes, whole_pages(UNWIND_PROCESSES * sizeof(*m->processes)));
	if (m->rules)
		munmap(m->rules, whole_pages(UNWIND_RULES_MAX * sizeof(*m->rules)));
	*m = (struct probe_unwind_maps){ 0 };
}

/* An array of n values, and its memory. -1: no memory. */
static int make_inner(const char *name, uint32_t value, uint32_t n, void **memory)
{
	LIBBPF_OPTS(bpf_map_create_opts, how, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(uint32_t), value, n, &how);

	if (fd < 0)
		return -1;
	*memory = mmap(NULL, whole_pages((size_t)n * value), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       0);
	if (*memory == MAP_FAILED) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Puts it there; bytes that it takes, 0: it could not be. */
static size_t put_inner(const struct bpf_map *outer, uint32_t at, int fd, void *memory,
			size_t bytes)
{
	bool put;

	munmap(memory, whole_pages(bytes));
	put = bpf_map_update_elem(bpf_map__fd(outer), &at, &fd, BPF_ANY) == 0;
	close(fd);
	return put ? whole_pages(bytes) : 0;
}

size_t probe_session_unwind_table(struct probe_session *s, uint32_t module,
				  const struct unwind_table *t)
{
	const struct bpf_map *outer = s->bpf->maps.unwind_tables;
	size_t words, n;
	uint32_t *word;
	void *memory;
	int fd;

	if (!t) {
		bpf_map_delete_elem(bpf_map__fd(outer), &module);
		return 0;
	}
	words = (size_t)t->npages + 1 + t->nrows;
	n = UNWIND_HEAD + (words + 1) / 2;
	fd = make_inner("unwind_table", sizeof(uint64_t), (uint32_t)n, &memory);
	if (fd < 0)
		return 0;
	((uint64_t *)memory)[0] = t->base;
	((uint64_t *)memory)[1] = t->npages;
	word = (uint32_t *)memory + 2 * (size_t)UNWIND_HEAD;
	if (t->npages) {
		memcpy(word, t->pages, ((size_t)t->npages + 1) * sizeof(*word));
		memcpy(word + t->npages + 1, t->rows, t->nrows * sizeof(*word));
	}
	return put_inner(outer, module, fd, memory, n * sizeof(uint64_t));
}

size_t probe_session_unwind_list(struct probe_session *s, uint32_t slot,
				 const struct unwind_mapping *list, uint32_t n)
{
	size_t bytes = ((size_t)n + 1) * sizeof(*list);
	void *memory;
	int fd = make_inner("unwind_list", sizeof(*list), n + 1, &memory);

	if (fd < 0)
		return 0;
	memcpy(memory, list, bytes);
	return put_inner(s->bpf->maps.unwind_lists, slot, fd, memory, bytes);
}

bool probe_session_unwind_slot(struct probe_session *s, uint32_t tgid, uint32_t slot, bool on)
{
	int slots = bpf_map__fd(s->bpf->maps.unwind_slots);
	bool done = on ? bpf_map_update_elem(slots, &tgid, &slot, BPF_ANY) == 0
		       : bpf_map_delete_elem(slots, &tgid) == 0;

	__atomic_fetch_add(&s->bpf->bss->unwind_epoch, 1, __ATOMIC_SEQ_CST);
	return done;
}

struct unwind_counts probe_session_unwind_counts(const struct probe_session *s)
{
	int cpus = libbpf_num_possible_cpus();
	struct unwind_counts *of_cpu = cpus > 0 ? calloc((size_t)cpus, sizeof(*of_cpu)) : NULL;
	struct unwind_counts sum = { 0 };
	uint32_t zero = 0;

	if (of_cpu &&
	    bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.unwind_counts), &zero, of_cpu) == 0)
		for (int i = 0; i < cpus; i++) {
			sum.walks += of_cpu[i].walks;
			sum.searched += of_cpu[i].searched;
		}
	free(of_cpu);
	return sum;
}
