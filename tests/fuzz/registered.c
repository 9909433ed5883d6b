/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: kernels that a file registers, read from the code of whatever file that is.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/symbols/registered.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct sym_registered *t;
	struct buf name = { 0 };
	struct sym_elf *f;
	struct err e = { 0 };
	size_t found = 0;

	if (fd < 0 || write(fd, p, n) != (ssize_t)n)
		abort();
	if (sym_elf_open_fd(&f, fd, "fuzz", &e) == 0) {
		if (sym_registered_new(&t, f, &e) == 0) {
			for (uint64_t at = 0; at <= n; at++)
				found += sym_registered_find(t, at, &name);
			/* A name is in the file, and of one host function. */
			if (found > sym_registered_count(t))
				abort();
			buf_free(&name);
			sym_registered_free(t);
		}
		sym_elf_free(f);
	}
	close(fd);
	return 0;
}
