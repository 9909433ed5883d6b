/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a flight recorder still has: a window of two seconds, before now or before what is waiting
 * to be written, and no more than there is room for.
 */
#include "lib/record/flight.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/tap.h"

#define SECOND INT64_C(1000000000)

/* One byte of each second is written, and cut at its end. */
static void fill(struct record_flight *f, int64_t until, int64_t want)
{
	for (int64_t s = 1; s <= until; s++) {
		char byte = (char)('a' + s - 1);

		if (f->sink.put(&f->sink, IGE_PUT_EVENTS, &byte, 1, 1, NULL))
			abort();
		record_flight_cut(f, s * SECOND, (want && want < s ? want : s) * SECOND);
	}
}

int main(void)
{
	static const struct {
		const char *name, *kept;
		uint64_t room;
		int64_t until, want;
	} rows[] = {
		{ "all of a short recording", "abc", 100, 3, 0 },
		{ "the last two seconds", "fgh", 100, 8, 0 },
		{ "two seconds before what waits, and all since", "bcdefgh", 100, 8, 4 },
		{ "as much as there is room for", "efgh", 4, 8, 4 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct record_flight f;
		FILE *out = tmpfile();
		char text[20] = { 0 };
		uint64_t bytes;

		record_flight_init(&f, 2 * SECOND, rows[i].room);
		fill(&f, rows[i].until, rows[i].want);
		ok(out && record_flight_dump(&f, fileno(out), &bytes, NULL) == 0, "written");
		rewind(out);
		ok(fread(text, 1, sizeof(text) - 1, out) == bytes, "as much as it says");
		is_str(text, rows[i].kept, "%s", rows[i].name);
		fclose(out);
		record_flight_free(&f);
	}
	done_testing();
	return 0;
}
