/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The maps that stacks are unwound by, as memory that is shared with the kernel side, and the slots
 * of processes.
 */
#include "lib/attach/session_unwind.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/attach/session_internal.h"

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

static int outer_of(const struct probe_session *s, enum probe_unwind_kind kind)
{
	return bpf_map__fd(kind == PROBE_UNWIND_LISTS ? s->bpf->maps.unwind_lists
						      : s->bpf->maps.unwind_tables);
}

void *probe_session_unwind_chunk(struct probe_session *s, enum probe_unwind_kind kind,
				 uint32_t number, uint32_t n, size_t each)
{
	LIBBPF_OPTS(bpf_map_create_opts, how, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_chunk", sizeof(uint32_t),
				(uint32_t)each, n, &how);
	void *memory;

	if (fd < 0)
		return NULL;
	memory = mmap(NULL, whole_pages(n * each), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory != MAP_FAILED && bpf_map_update_elem(outer_of(s, kind), &number, &fd, BPF_ANY)) {
		munmap(memory, whole_pages(n * each));
		memory = MAP_FAILED;
	}
	close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}

void probe_session_unwind_chunk_gone(struct probe_session *s, enum probe_unwind_kind kind,
				     uint32_t number, void *memory, size_t bytes)
{
	bpf_map_delete_elem(outer_of(s, kind), &number);
	munmap(memory, whole_pages(bytes));
}

bool probe_session_unwind_slot(struct probe_session *s, uint32_t tgid, uint32_t *slot)
{
	return bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.unwind_slots), &tgid, slot) == 0;
}

bool probe_session_unwind_take(struct probe_session *s, uint32_t *slot)
{
	return bpf_map_lookup_and_delete_elem(bpf_map__fd(s->bpf->maps.unwind_free), NULL, slot) ==
	       0;
}

void probe_session_unwind_give(struct probe_session *s, uint32_t slot)
{
	bpf_map_update_elem(bpf_map__fd(s->bpf->maps.unwind_free), NULL, &slot, BPF_ANY);
}

bool probe_session_unwind_enter(struct probe_session *s, uint32_t tgid, uint32_t slot)
{
	bool entered = bpf_map_update_elem(bpf_map__fd(s->bpf->maps.unwind_slots), &tgid, &slot,
					   BPF_NOEXIST) == 0;

	__atomic_fetch_add(&s->bpf->bss->unwind_epoch, 1, __ATOMIC_SEQ_CST);
	return entered;
}

void probe_session_unwind_leave(struct probe_session *s, uint32_t tgid)
{
	bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.unwind_slots), &tgid);
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
