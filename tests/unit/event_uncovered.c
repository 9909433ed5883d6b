/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that may have been made and are not recorded: of whom, when, and how that reads. */
#include "lib/event/uncovered.h"

#include <string.h>

#include "tests/tap.h"

static bool add(struct uncovered *u, uint32_t process, int64_t since_ns, int64_t until_ns,
		const char *layer, const char *path, bool from_start)
{
	struct record r = { .kind = RECORD_UNCOVERED };

	REC_SET(&r, UNCOVERED, since_ns, since_ns);
	if (until_ns != UNCOVERED_END)
		REC_SET(&r, UNCOVERED, until_ns, until_ns);
	REC_SET(&r, UNCOVERED, process, process);
	if (*layer)
		REC_SET(&r, UNCOVERED, layer, bytes_of(layer));
	REC_SET(&r, UNCOVERED, path, bytes_of(path));
	REC_SET(&r, UNCOVERED, reason,
		bytes_of(until_ns == UNCOVERED_END
				 ? "no symbols"
				 : "it was loaded before the probes were in place"));
	if (from_start)
		REC_SET(&r, UNCOVERED, from_start, 1);
	return uncovered_record(u, &r);
}

static bool add_coverage(struct uncovered *u, uint32_t process, uint32_t attached, uint64_t gap_ns,
			 const char *path)
{
	struct record r = { .kind = RECORD_COVERAGE };

	REC_SET(&r, COVERAGE, time_ns, 9000);
	REC_SET(&r, COVERAGE, process, process);
	REC_SET(&r, COVERAGE, layer, bytes_of("runtime"));
	REC_SET(&r, COVERAGE, path, bytes_of(path));
	REC_SET(&r, COVERAGE, requested, 7);
	REC_SET(&r, COVERAGE, attached, attached);
	REC_SET(&r, COVERAGE, gap_ns, gap_ns);
	return uncovered_record(u, &r);
}

static void reads(const struct uncovered *u, size_t at, const char *comm, const char *want)
{
	struct buf text = { 0 };

	uncovered_text(&text, &u->v.v[at], 4711, bytes_of(comm));
	is_str(buf_text(&text), want, "%s", want);
	buf_free(&text);
}

int main(void)
{
	static const struct {
		uint32_t process;
		int64_t from_ns, to_ns;
		bool is;
	} asked[] = {
		{ 1, 0, 99, false },   { 1, 0, 100, true },    { 1, 150, 160, true },
		{ 1, 200, 300, true }, { 1, 201, 300, false }, { 2, 100, 200, false },
		{ 3, 0, 499, false },  { 3, 500, 600, true },  { 3, INT64_MAX, INT64_MAX, true },
		{ 4, 0, 10, false },
	};
	struct uncovered u = { 0 };
	struct record other = { .kind = RECORD_CLOCK };

	ok(!uncovered_within(&u, 1, INT64_MIN, INT64_MAX), "nothing is missing from nothing");
	ok(add(&u, 1, 100, 200, "runtime", "/usr/lib/libcudart.so.12", false) &&
		   add(&u, 3, 500, UNCOVERED_END, "driver", "/opt/libcuda.so.1", false) &&
		   uncovered_record(&u, &other),
	   "two libraries");
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
		ok(uncovered_within(&u, asked[i].process, asked[i].from_ns, asked[i].to_ns) ==
			   asked[i].is,
		   "process %u from %lld to %lld: %s", asked[i].process,
		   (long long)asked[i].from_ns, (long long)asked[i].to_ns,
		   asked[i].is ? "may have made calls" : "is covered");
	ok(add(&u, 3, 500, UNCOVERED_END, "driver", "/opt/libcuda.so.1", false) && u.v.n == 2,
	   "another file of the recording repeats it");
	ok(add(&u, 5, -812000000, 0, "runtime", "/usr/lib/libcudart.so.12", true) &&
		   add(&u, 6, 10, UNCOVERED_END, "", "", false),
	   "a process that was there before, and one that nobody saw");
	reads(&u, 0, "python3",
	      "calls of 100 ns of process 4711 (python3) were not recorded: its libcudart.so.12 "
	      "was "
	      "loaded before the probes were in place");
	reads(&u, 1, "", "calls of process 4711 were not recorded: its libcuda.so.1: no symbols");
	reads(&u, 2, "python3",
	      "calls of the first 812 ms of process 4711 (python3) were not recorded: its "
	      "libcudart.so.12 was loaded before the probes were in place");
	reads(&u, 3, "ls",
	      "calls of process 4711 (ls) were not recorded, if it made any: no symbols");
	/* Older recordings have COVERAGE alone; younger ones have both, which is one. */
	ok(add_coverage(&u, 5, 7, 812000000, "/usr/lib/libcudart.so.12") && u.v.n == 4,
	   "COVERAGE at the end is no other");
	ok(add_coverage(&u, 7, 7, 5000000, "/usr/lib/libcudart.so.12") && u.v.n == 5,
	   "where it alone says so, it is told");
	reads(&u, 4, "old",
	      "calls of the first 5.00 ms of process 4711 (old) were not recorded: its "
	      "libcudart.so.12 was loaded before the probes were in place");
	ok(!uncovered_within(&u, 7, 0, 9000), "when in the recording it does not say");
	ok(add_coverage(&u, 8, 7, 0, "/x") && u.v.n == 5,
	   "from the first call on: nothing is missing");
	ok(add_coverage(&u, 9, 0, 0, "/x") && uncovered_within(&u, 9, 9000, 9001),
	   "no probe of it was attached");
	uncovered_free(&u);
	return done_testing();
}
