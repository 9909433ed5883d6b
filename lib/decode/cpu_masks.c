/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On which CPUs threads may run, as ALLOWED records. One row for each process and for each of its
 * threads that differs from it or has once.
 */
#include "lib/decode/cpu_masks.h"

#include <string.h>

/* Further differing threads have no row: each of their masks gives a record. */
#define ROWS_MAX 65536

static bool is_set(const uint64_t *words, unsigned n, unsigned cpu)
{
	return cpu < n * 64 && words[cpu / 64] >> cpu % 64 & 1;
}

void cpu_masks_list(const uint64_t *words, unsigned n, struct buf *out)
{
	const char *between = "";

	for (unsigned cpu = 0; cpu < n * 64; cpu++) {
		unsigned first = cpu;

		if (!is_set(words, n, cpu))
			continue;
		while (is_set(words, n, cpu + 1))
			cpu++;
		buf_printf(out, first == cpu ? "%s%u" : "%s%u-%u", between, first, cpu);
		between = ",";
	}
}

static void emit_row(struct cpu_masks *a, const struct cpu_masks_row *row, int64_t time_ns,
		     cpu_masks_fn *fn, void *ctx)
{
	struct record r = { .kind = RECORD_ALLOWED };

	buf_reset(&a->text);
	cpu_masks_list(row->cpus, WIRE_ALLOWED_WORDS, &a->text);
	if (a->text.failed)
		return;
	REC_SET(&r, ALLOWED, time_ns, time_ns);
	if (row->thread)
		REC_SET(&r, ALLOWED, thread, row->thread);
	else
		REC_SET(&r, ALLOWED, process, row->process);
	REC_SET(&r, ALLOWED, cpus, buf_bytes(&a->text));
	fn(ctx, &r);
}

static uint64_t key_of(const struct cpu_masks_row *row)
{
	return row->thread ? (uint64_t)row->thread << 32 : row->process;
}

static struct cpu_masks_row *row_of(struct cpu_masks *a, uint64_t key)
{
	uint64_t at;

	return map_get(&a->by, key, &at) ? &a->rows.v[at] : NULL;
}

static bool same_cpus(const struct cpu_masks_row *a, const struct cpu_masks_row *b)
{
	return a && memcmp(a->cpus, b->cpus, sizeof(a->cpus)) == 0;
}

void cpu_masks_take(struct cpu_masks *a, const struct wire_allowed *w, uint32_t process,
		    uint32_t thread, cpu_masks_fn *fn, void *ctx)
{
	struct cpu_masks_row now = { .process = process }, *whole, *own;
	unsigned words = w->words < WIRE_ALLOWED_WORDS ? w->words : WIRE_ALLOWED_WORDS;

	memcpy(now.cpus, w->cpus, words * sizeof(now.cpus[0]));
	whole = row_of(a, key_of(&now));
	own = row_of(a, (uint64_t)thread << 32);
	if (own ? same_cpus(own, &now) : same_cpus(whole, &now))
		return;
	if (whole)
		now.thread = thread;
	if (own)
		*own = now;
	else if (a->rows.n < ROWS_MAX && vec_push(&a->rows, now) &&
		 !map_put(&a->by, key_of(&now), a->rows.n - 1))
		a->rows.n--;
	emit_row(a, &now, (int64_t)w->time_ns, fn, ctx);
}

void cpu_masks_again(struct cpu_masks *a, int64_t time_ns, cpu_masks_fn *fn, void *ctx)
{
	for (size_t i = 0; i < a->rows.n; i++)
		emit_row(a, &a->rows.v[i], time_ns, fn, ctx);
}

void cpu_masks_gone(struct cpu_masks *a, const struct gone_processes *gone)
{
	size_t n = 0;

	for (size_t i = 0; i < a->rows.n; i++) {
		const struct cpu_masks_row *row = &a->rows.v[i];

		if (map_get(&gone->processes, row->process, NULL)) {
			map_del(&a->by, key_of(row));
			continue;
		}
		/* It is there already: this does not ask for memory. */
		map_put(&a->by, key_of(row), n);
		a->rows.v[n++] = *row;
	}
	a->rows.n = n;
}

void cpu_masks_free(struct cpu_masks *a)
{
	vec_free(&a->rows);
	map_free(&a->by);
	buf_free(&a->text);
}
