/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading columns tells the same as reading events: on every sample of the format, whole and cut,
 * the events that come of the arrays are those that a reader of events gives, and damage is told
 * alike, except that of columns nobody asked for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/io.h"
#include "tests/fuzz/both.h"
#include "tests/tap.h"
#include "tests/unit/samples.h"

static void test_sample(const char *kind, const char *path)
{
	struct buf file = { 0 };
	struct heard events, columns;
	unsigned bad = 0;
	char first[80] = "";

	if (read_file(path, &file, 1 << 20, NULL))
		abort();
	hear_events(&events, file.p, file.n);
	hear_columns(&columns, file.p, file.n);
	ok(both_same(&events, &columns), "%s: %llu events, %llu of columns; status %d, %d", path,
	   (unsigned long long)events.n, (unsigned long long)columns.n, events.rc, columns.rc);
	for (size_t cut = 0; cut < file.n; cut += 7) {
		hear_events(&events, file.p, cut);
		hear_columns(&columns, file.p, cut);
		if (!both_same(&events, &columns) && !bad++)
			snprintf(first, sizeof(first), ": first cut at %zu", cut);
	}
	is_u64(bad, 0, "%s, cut%s", path, first);
	buf_free(&file);
}

int main(void)
{
	unsigned n = samples_each(test_sample);

	ok(n > 80, "%u samples", n);
	return tap_done();
}
