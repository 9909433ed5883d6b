/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as a recording, and whatever can be read of it as timelines, once as
 * they are and once with checksums made to fit. `make fuzz-timeline` builds it;
 * tests/unit/fuzz_timeline.c replays inputs.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/export/format.h"
#include "lib/ige/reader.h"
#include "tests/fuzz/mend.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

extern const struct export_format export_perfetto, export_chrome;

static void draw(const void *p, size_t n)
{
	const struct export_format *const formats[] = { &export_perfetto, &export_chrome };
	struct world *w = world_new();
	struct late_names told = { 0 };
	struct buf out = { 0 };
	struct export_ctx em = { .w = w, .told = &told, .opt.stacks = true, .out = &out };
	struct ige_reader *r;
	struct stream_item item;
	struct err e = { 0 };
	void *state[2];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || !w || (n && write(fd, p, n) != (ssize_t)n) || lseek(fd, 0, SEEK_SET))
		abort();
	if (ige_reader_open(&r, w, fd, true, "input", &e))
		abort();
	for (unsigned i = 0; i < 2; i++)
		state[i] = formats[i]->open(&em);
	while (ige_reader_stream(r)->next(ige_reader_stream(r), &item, &e) == 1) {
		if (item.kind == STREAM_RECORD)
			late_names_record(&told, w, item.record);
		for (unsigned i = 0; i < 2; i++)
			if (formats[i]->item(state[i], &item, &e) && e.code != ERR_LIMIT)
				abort();
		buf_reset(&out);
	}
	for (unsigned i = 0; i < 2; i++) {
		if (formats[i]->finish(state[i], &e))
			abort();
		formats[i]->free(state[i]);
	}
	ige_reader_free(r);
	late_names_free(&told);
	buf_free(&out);
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
	draw(p, n);
	memcpy(copy, p, n);
	mend(copy, n);
	draw(copy, n);
	free(copy);
	return 0;
}
