/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as a recording, read to the end, once as they are and once with all
 * checksums made to fit, since guessing those is not what is to be tested. What comes out must be
 * of this world. `make fuzz-ige_reader` builds it; tests/unit/fuzz_ige_reader.c replays inputs.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/ige/reader.h"
#include "tests/fuzz/mend.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void check_event(const struct world *w, const struct event *ev)
{
	const struct op_def *op = world_op(w, ev->op);

	if (!op || ev->ctx > world_count(w, WORLD_CTX) || ev->stack > world_count(w, WORLD_STACK))
		abort();
	if (ev->dur_ns >= (uint64_t)IGE_TIME_MAX || ev->end_ns >= IGE_TIME_MAX)
		abort();
	for (unsigned i = 0; i < op->ncols; i++) {
		const struct column_def *column = world_column(w, op->cols[i]);

		if (!(ev->present >> i & 1))
			continue;
		if (!column ||
		    (column->role == ROLE_THREAD && ev->x[i] > world_count(w, WORLD_THREAD)))
			abort();
	}
	if (ev->present >> op->ncols)
		abort();
}

static void read_all(const void *p, size_t n)
{
	struct world *w = world_new();
	struct ige_reader *r;
	struct event_stream *s;
	struct stream_item item;
	struct err e = { 0 };
	volatile char sink;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || !w || (n && write(fd, p, n) != (ssize_t)n) || lseek(fd, 0, SEEK_SET))
		abort();
	if (ige_reader_open(&r, w, fd, true, "input", &e))
		abort();
	s = ige_reader_stream(r);
	while (s->next(s, &item, &e) == 1) {
		for (size_t i = 0; item.kind == STREAM_EVENTS && i < item.n; i++)
			check_event(w, &item.events[i]);
		if (item.kind != STREAM_RECORD)
			continue;
		const struct record_def *def = record_builtin(item.record->kind);

		/* Every byte of every text can be read. */
		for (unsigned i = 0; i < def->nfields; i++) {
			struct bytes text;

			if (def->fields[i].type != REC_TEXT ||
			    !record_has(item.record, def->fields[i].number))
				continue;
			memcpy(&text, (const char *)&item.record->u + def->fields[i].offset,
			       sizeof(text));
			for (size_t k = 0; k < text.n; k++)
				sink = text.p[k];
		}
	}
	(void)sink;
	ige_reader_free(r);
	world_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	unsigned char *copy;

	if (n > (1u << 20))
		return 0;
	copy = malloc(n + 1);
	if (!copy)
		return 0;
	read_all(p, n);
	memcpy(copy, p, n);
	mend(copy, n);
	read_all(copy, n);
	free(copy);
	return 0;
}
