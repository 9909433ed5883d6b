/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: what is read of a Python that may be none, or a damaged one. The first byte
 * says what the rest is: a line table, a record of a code object with its frames, or a file with a
 * runtime in it.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/decode/python_codes.h"
#include "lib/symbols/lines.h"
#include "lib/symbols/python.h"

static void fuzz_lines(unsigned minor, const uint8_t *p, size_t n)
{
	for (uint64_t at = 0; at < 600; at += 2)
		if (sym_lines_find(minor, 1, p, n, at) > INT32_MAX)
			abort();
	sym_lines_find(minor, UINT32_MAX, p, n, UINT64_MAX);
}

/* The record as it stands, then the rest of the input as more of its table. */
static void fuzz_code(const uint8_t *p, size_t n)
{
	static struct wire_code code;
	static struct wire_lines more;
	struct world *w = world_new();
	struct python_codes *c;
	struct err e = { 0 };
	size_t first = n < sizeof(code) ? n : sizeof(code), rest = n - first;

	if (!w || python_codes_new(&c, w, &e))
		abort();
	memset(&code, 0, sizeof(code));
	memset(&more, 0, sizeof(more));
	memcpy(&code, p, first);
	if (rest > sizeof(more))
		rest = sizeof(more);
	memcpy(&more, p + first, rest);
	more.id = code.id;
	if (python_codes_take(c, &code, first))
		python_codes_more(c, &more, rest);
	for (uint32_t at = 0; at < 256; at++) {
		struct wire_python_frame f = { .code = code.id, .at = at * 33 };
		bool entry;

		if (python_codes_frame(c, &f, &entry) > world_count(w, WORLD_FRAME))
			abort();
	}
	python_codes_free(c);
	world_free(w);
}

static void fuzz_file(const uint8_t *p, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct sym_python out;
	struct sym_elf *f;
	uint64_t bias;
	struct err e = { 0 };

	if (fd < 0 || write(fd, p, n) != (ssize_t)n)
		abort();
	if (sym_elf_open_fd(&f, fd, "fuzz", &e) == 0) {
		sym_python_read(&out, f, "/usr/bin/fuzz");
		/* The walker reads frames and thread states by the piece: what it is told must lie
		 * inside. */
		if (out.kind == SYM_PYTHON_KNOWN &&
		    (out.layout.thread_ident > 216 || out.layout.thread_frame > 216 ||
		     out.layout.frame_at > 104 || out.layout.frame_code > 104 ||
		     out.layout.frame_back > 104 || out.nloops > SYM_PYTHON_LOOPS))
			abort();
		sym_python_bias(f, 0x7f0000000000, 4096, &bias);
		sym_elf_free(f);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	if (n == 0)
		return 0;
	switch (p[0] & 3) {
	case 0:
		fuzz_lines(8 + (p[0] >> 2) % 8, p + 1, n - 1);
		break;
	case 1:
		fuzz_code(p + 1, n - 1);
		break;
	default:
		fuzz_file(p + 1, n - 1);
	}
	return 0;
}
