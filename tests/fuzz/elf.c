/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: an ELF file that a target process maps, and that anybody may have written. Its
 * head, sections and symbols are read, of each function whether it only enters another one, and the
 * source lines of addresses in its code.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/symbols/elf.h"
#include "lib/symbols/forward.h"
#include "lib/symbols/line_table.h"

#define FORWARDS_MAX 64 /* each reads all relocations */

struct fuzz_symbols {
	const struct sym_elf *file;
	unsigned forwards;
};

static bool check_symbol(void *ctx, const struct sym_elf_symbol *s)
{
	struct fuzz_symbols *f = ctx;
	struct sym_forward to;

	if (s->name && strlen(s->name) >= SYM_NAME_MAX)
		abort();
	if (s->offset == UINT64_MAX || f->forwards == FORWARDS_MAX)
		return true;
	if (sym_forward_of(f->file, s->offset, s->size, &to)) {
		f->forwards++;
		/* One of the two says where. */
		if ((to.offset == UINT64_MAX) != (to.name[0] != 0))
			abort();
	}
	return true;
}

#define ADDRESSES 64 /* asked for in each segment */

static void check_lines(const struct sym_elf *file)
{
	struct sym_elf_part part;
	struct line_table *t;
	struct buf path = { 0 };
	struct err e = { 0 };
	uint32_t line;

	if (line_table_new(&t, file, &e))
		return;
	for (unsigned i = 0; i < ADDRESSES && sym_elf_segment(file, i, &part); i++)
		for (unsigned k = 0; k < ADDRESSES; k++) {
			buf_reset(&path);
			line = 0;
			if (line_table_find(t, part.address + k * (part.size / ADDRESSES), &path,
					    &line)
				    ? line == 0 || path.n == 0
				    : path.n != 0)
				abort();
		}
	buf_free(&path);
	line_table_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const unsigned walks[] = { SYM_NAMES | SYM_FUNCTIONS, SYM_NAMES | SYM_FULL };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct sym_elf_part part;
	struct sym_elf *file;
	struct err e = { 0 };

	if (fd < 0 || write(fd, p, n) != (ssize_t)n)
		abort();
	if (sym_elf_open_fd(&file, fd, "fuzz", &e) == 0) {
		struct fuzz_symbols f = { .file = file };

		for (unsigned i = 0; sym_elf_section(file, i, &part); i++)
			if (i > 1u << 20)
				abort();
		for (unsigned i = 0; i < sizeof(walks) / sizeof(walks[0]); i++)
			sym_elf_symbols(file, walks[i], check_symbol, &f, &e);
		check_lines(file);
		sym_elf_free(file);
	}
	close(fd);
	return 0;
}
