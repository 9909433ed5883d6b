/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lay at an address by the list of mappings that a stack was walked by, whatever lies there
 * now.
 */
#include <stdio.h>

#include "lib/attach/unwind_files.h"
#include "tests/tap.h"

#define SECOND 1000000000ll

static struct unwind_files f;

static void put(uint32_t generation, uint64_t start, const char *path, uint64_t inode)
{
	struct host_mapping m[2] = {
		{ .start = start, .end = start + 0x1000, .offset = 0x2000, .inode = inode },
		{ .start = start + 0x5000, .end = start + 0x6000 },
	};
	struct unwind_file_range r[2];

	m[0].path = bytes_of(path);
	if (!unwind_files_range(&f, &m[0], &r[0]) || !unwind_files_range(&f, &m[1], &r[1]))
		abort();
	unwind_files_put(&f, generation, r, 2);
}

static void says(uint32_t generation, uint64_t address, const char *path, const char *what)
{
	struct host_mapping m;
	bool found = unwind_files_find(&f, generation, address, &m);

	is_str(found ? m.path.p : "nothing", path, "%s", what);
	if (found && m.path.n)
		ok(m.inode && m.offset + address - m.start == 0x2000 + (address & 0xfff),
		   "%s: where in the file", what);
}

int main(void)
{
	unwind_files_init(&f);
	put(1, 0x10000, "/lib/a.so", 7);
	put(2, 0x10000, "/lib/b.so", 8);
	says(1, 0x10010, "/lib/a.so", "the list of then");
	says(2, 0x10010, "/lib/b.so", "another file at the same address");
	says(1, 0x0ffff, "nothing", "before it");
	says(1, 0x11000, "nothing", "behind it");
	says(1, 0x15000, "", "code in no file");
	says(3, 0x10010, "nothing", "a list that never was");
	put(4, 0x10000, "/lib/a.so", 7);
	put(5, 0x10800, "/lib/a.so", 7);
	ok(unwind_files_agree(&f, 1, 4, 0x10010) && unwind_files_agree(&f, 1, 4, 0x15010),
	   "two lists agree on a file, and on code in none");
	ok(!unwind_files_agree(&f, 1, 2, 0x10010), "not on two files");
	ok(!unwind_files_agree(&f, 1, 5, 0x10810), "nor on two places of one");
	ok(!unwind_files_agree(&f, 1, 4, 0x11000) && !unwind_files_agree(&f, 1, 3, 0x10010),
	   "nor on nothing");
	unwind_files_gone(&f, 1, 10 * SECOND);
	unwind_files_forget(&f, 12 * SECOND);
	says(1, 0x10010, "/lib/a.so", "a list that has just gone");
	unwind_files_forget(&f, 16 * SECOND);
	says(1, 0x10010, "nothing", "one that went long ago");
	says(2, 0x10010, "/lib/b.so", "one that is there stays");
	for (uint32_t i = 0; i < 200000; i++) {
		put(10 + i, 0x10000, "/lib/a.so", 7);
		unwind_files_gone(&f, 10 + i, 20 * SECOND + i);
		if (i % 1000 == 0)
			unwind_files_forget(&f, 20 * SECOND + i);
	}
	unwind_files_forget(&f, 21 * SECOND);
	ok(f.gone_bytes <= UNWIND_FILES_BYTES, "lists that went take no more than their share");
	says(10 + 199999, 0x10010, "/lib/a.so", "the newest of them");
	says(10, 0x10010, "nothing", "the oldest of them");
	is_u64(f.files.n, 3, "a file is kept once");
	unwind_files_free(&f);
	return tap_done();
}
