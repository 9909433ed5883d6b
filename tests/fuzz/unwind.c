/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: the unwind table of an ELF file that a target process maps, and that anybody
 * may have written. Whatever the bytes, a table is one that the walk in the kernel can go by: pages
 * in order, each beginning with a row at 0, rows in order, rules that there are.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/symbols/unwind_table.h"

static void check_page(const struct unwind_table *t, uint32_t page, unsigned nrules)
{
	uint32_t first = t->pages[page], end = t->pages[page + 1];

	if (first >= end || end > t->nrows || (t->rows[first] & 0xffff) != 0)
		abort();
	for (uint32_t i = first; i < end; i++) {
		if (i > first && (t->rows[i] & 0xffff) <= (t->rows[i - 1] & 0xffff))
			abort();
		if (t->rows[i] >> 16 >= nrules)
			abort();
	}
}

static void check_table(const struct unwind_table *t, unsigned nrules, uint64_t bytes)
{
	if (t->npages > UNWIND_PAGES_MAX || t->nrows > UNWIND_ROWS_MAX + UNWIND_PAGES_MAX)
		abort();
	/* A row takes at least one byte of the file, but for the two around a function and one a
	 * page. */
	if (t->nrows > bytes + 2ull * t->nfunctions + t->npages + 2)
		abort();
	for (uint32_t page = 0; page < t->npages; page++)
		check_page(t, page, nrules);
	if (unwind_table_find(t, t->base - 1) != UNWIND_RULE_NONE ||
	    unwind_table_find(t, t->base + ((uint64_t)t->npages << UNWIND_PAGE_BITS)) !=
		    UNWIND_RULE_NONE)
		abort();
	for (uint64_t i = 0; i < 64; i++)
		if (unwind_table_find(t, t->base + i * 997) >= nrules)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct unwind_rules *rules = unwind_rules_new();
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct unwind_table *t;
	struct sym_elf *f;
	struct err e = { 0 };
	unsigned nrules;

	if (!rules || fd < 0 || write(fd, p, n) != (ssize_t)n)
		abort();
	if (sym_elf_open_fd(&f, fd, "fuzz", &e) == 0) {
		if (unwind_table_build(&t, f, rules, &e) == 0) {
			unwind_rules_all(rules, &nrules);
			check_table(t, nrules, n);
			unwind_table_free(t);
		}
		sym_elf_free(f);
	}
	close(fd);
	unwind_rules_free(rules);
	return 0;
}
