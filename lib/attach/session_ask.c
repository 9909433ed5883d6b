/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel side has counted: losses, calls left out, I/O of others; the calls that are open
 * now; what is mapped.
 */
#include "lib/attach/session_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int probe_session_others(const struct probe_session *s, uint32_t *device, struct block_others *sum)
{
	int fd = bpf_map__fd(s->bpf->maps.block_others);
	struct block_others *each = calloc(s->ncpu, sizeof(*each));
	uint32_t next;
	bool found = each && bpf_map_get_next_key(fd, *device ? device : NULL, &next) == 0 &&
		     bpf_map_lookup_elem(fd, &next, each) == 0;

	*sum = (struct block_others){ 0 };
	for (size_t cpu = 0; found && cpu < s->ncpu; cpu++) {
		sum->requests += each[cpu].requests;
		sum->read_bytes += each[cpu].read_bytes;
		sum->write_bytes += each[cpu].write_bytes;
	}
	if (found)
		*device = next;
	free(each);
	return found;
}

uint64_t probe_session_left_out(const struct probe_session *s, uint16_t op)
{
	const volatile struct spec_passed *p = s->passed;
	uint64_t n = 0;

	for (size_t i = 0; i < s->nspecs; i++)
		n += s->specs[i].op == op ? p[i].left_out : 0;
	return n;
}

uint64_t probe_session_folded(const struct probe_session *s, uint16_t op)
{
	const volatile struct spec_passed *p = s->passed;
	uint64_t n = 0;

	for (size_t i = 0; i < s->nspecs; i++)
		n += s->specs[i].op == op ? p[i].folded : 0;
	return n;
}

void probe_session_folded_by_tier(const struct probe_session *s, uint64_t folded[SPEC_TIERS])
{
	const volatile struct spec_passed *p = s->passed;

	memset(folded, 0, SPEC_TIERS * sizeof(*folded));
	for (size_t i = 0; i < s->nspecs; i++)
		if (!(s->specs[i].flags & SPEC_SILENT))
			folded[s->specs[i].tier % SPEC_TIERS] += p[i].folded;
}

void probe_session_losses(const struct probe_session *s, struct loss_slot *sum)
{
	const volatile __u64 *from;
	__u64 *to = &sum->n[0][0];
	size_t each = sizeof(*sum) / sizeof(*to);

	memset(sum, 0, sizeof(*sum));
	for (size_t cpu = 0; cpu < s->ncpu; cpu++) {
		from = &s->losses[cpu].n[0][0];
		for (size_t i = 0; i < each; i++)
			to[i] += from[i];
	}
}

uint32_t probe_session_stacks(const struct probe_session *s)
{
	return __atomic_load_n(&s->bpf->bss->stack_number, __ATOMIC_RELAXED);
}

int probe_session_open_calls(struct probe_session *s, probe_open_fn *fn, void *ctx, struct err *e)
{
	int fd = bpf_iter_create(bpf_link__fd(s->open_link));
	uint64_t raw[8192];
	size_t have = 0;
	ssize_t n;
	int rc = 0;

	if (fd < 0)
		return err_sys(e, "cannot read open calls");
	for (;;) {
		size_t at = 0;

		n = read(fd, (char *)raw + have, sizeof(raw) - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			continue;
		if (n <= 0)
			break;
		have += (size_t)n;
		for (;;) {
			const struct wire_open *head = (const void *)((char *)raw + at);
			const struct wire_thread *who = (const void *)(head + 1);
			size_t size;

			if (have - at < sizeof(*head))
				break;
			size = sizeof(*head) + (head->unannounced ? sizeof(*who) : 0) +
			       head->ncalls * sizeof(struct wire_open_call);
			if (have - at < size)
				break;
			if (head->unannounced)
				fn(ctx, head, who, (const void *)(who + 1));
			else
				fn(ctx, head, NULL, (const void *)(head + 1));
			at += size;
		}
		memmove(raw, (char *)raw + at, have - at);
		have -= at;
	}
	if (n < 0)
		rc = err_sys(e, "cannot read open calls");
	close(fd);
	return rc;
}

/* The beginning of union bpf_iter_link_info, as kernels from 6.1 on know it: one task. */
struct one_task {
	uint32_t tid, pid, pid_fd;
};

static struct bpf_link *mappings_of(struct probe_session *s, uint32_t tgid)
{
	struct one_task one = { .tid = tgid };
	LIBBPF_OPTS(bpf_iter_attach_opts, how, .link_info = (union bpf_iter_link_info *)&one,
		    .link_info_len = sizeof(one));

	return s->one_task ? bpf_program__attach_iter(s->bpf->progs.mapped_files, &how) : NULL;
}

/* Everything that an iterator prints, in rows of that size of at most ROW_MAX bytes, until fn says
 * that it has enough. */
#define ROW_MAX 256
static int read_rows(struct bpf_link *iterator, size_t size, bool (*fn)(void *ctx, const void *row),
		     void *ctx, struct err *e)
{
	int fd = bpf_iter_create(bpf_link__fd(iterator));
	uint64_t raw[32 * ROW_MAX / sizeof(uint64_t)];
	size_t have = 0, at;
	bool more = true;
	ssize_t n = 0;

	if (fd < 0)
		return err_sys(e, "cannot create an iterator");
	while (more) {
		n = read(fd, (char *)raw + have, sizeof(raw) - have);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			break;
		have += (size_t)n;
		for (at = 0; more && have - at >= size; at += size)
			more = fn(ctx, (char *)raw + at);
		memmove(raw, (char *)raw + at, have - at);
		have -= at;
	}
	if (n < 0)
		err_sys(e, "cannot read an iterator");
	close(fd);
	return n < 0 ? ERR_SYS : 0;
}

struct mapped {
	uint32_t tgid;
	file_mappings_fn *fn;
	void *ctx;
};

static bool on_mapped(void *ctx, const void *row)
{
	const struct mapped *m = ctx;
	const struct wire_mapped *file = row;

	return file->tgid != m->tgid || m->fn(m->ctx, file);
}

bool probe_session_mapped(struct probe_session *s, uint32_t tgid, file_mappings_fn *fn, void *ctx)
{
	struct bpf_link *link = mappings_of(s, tgid);
	struct mapped m = { tgid, fn, ctx };
	struct err ignored = { 0 };
	int rc = link ? read_rows(link, sizeof(struct wire_mapped), on_mapped, &m, &ignored)
		      : ERR_CANNOT;

	if (link)
		bpf_link__destroy(link);
	return rc == 0;
}

struct asleep {
	probe_still_fn *fn;
	void *ctx;
};

static bool on_sleeper(void *ctx, const void *row)
{
	const struct asleep *a = ctx;

	a->fn(a->ctx, row);
	return true;
}

int probe_session_asleep(struct probe_session *s, probe_still_fn *fn, void *ctx, struct err *e)
{
	struct asleep a = { fn, ctx };

	return s->asleep_link
		       ? read_rows(s->asleep_link, sizeof(struct wire_still), on_sleeper, &a, e)
		       : 0;
}
