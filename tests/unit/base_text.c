/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times and durations: what a person writes, what is printed, and that both ends meet.
 */
#include "lib/base/timetext.h"

#include <time.h>

#include "tests/tap.h"

static void durations(void)
{
	static const struct {
		const char *text;
		uint64_t ns; /* UINT64_MAX: refused */
	} rows[] = {
		{ "5m", 300000000000 },
		{ "1h30m", 5400000000000 },
		{ "3d12h", 302400000000000 },
		{ "2d", 172800000000000 },
		{ "1w", 604800000000000 },
		{ "1w1d", 691200000000000 },
		{ "1d1w", UINT64_MAX },
		{ "250ms", 250000000 },
		{ "1.5s", 1500000000 },
		{ "90", 90000000000 },
		{ "0", 0 },
		{ "0.000000001s", 1 },
		{ "1.5us", 1500 },
		{ "7ns", 7 },
		{ "1m0.5s", 60500000000 },
		{ "213503d", 18446659200000000000u },
		{ "213504d", UINT64_MAX }, /* past 2^64 ns */
		{ "99999999999999999999", UINT64_MAX },
		{ "", UINT64_MAX },
		{ "m", UINT64_MAX },
		{ "5", 5000000000 },
		{ "5x", UINT64_MAX },
		{ "30m1h", UINT64_MAX }, /* largest unit first */
		{ "1h1h", UINT64_MAX },
		{ "1h5", UINT64_MAX }, /* a bare number only alone */
		{ "-5m", UINT64_MAX },
		{ "5 m", UINT64_MAX },
		{ "1.m", UINT64_MAX },
		{ "1e3s", UINT64_MAX },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = { 0 };
		uint64_t ns = UINT64_MAX;
		int rc = duration_parse(bytes_of(rows[i].text), &ns, &e);

		is_u64(ns, rows[i].ns, "duration '%s'", rows[i].text);
		is_int(rc, rows[i].ns == UINT64_MAX ? ERR_USAGE : 0, "code of '%s'", rows[i].text);
	}
}

static void printed(void)
{
	static const struct {
		uint64_t ns;
		const char *text, *exact;
	} rows[] = {
		{ 0, "0 ns", "0s" },
		{ 999, "999 ns", "999ns" },
		{ 1000, "1.00 us", "1us" },
		{ 5204000, "5.20 ms", "5ms204us" },
		{ 52040000, "52.0 ms", "52ms40us" },
		{ 999499, "999 us", "999us499ns" },
		{ 999999, "1.00 ms", "999us999ns" },
		{ 999999999, "1.00 s", "999ms999us999ns" },
		{ 59900000000, "59.9 s", "59s900ms" },
		{ 125000000000, "2m 5s", "2m5s" },
		{ 5400000000000, "1h 30m", "1h30m" },
		{ 90000000000000, "1d 1h", "1d1h" },
	};
	char text[64];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t back = 1;

		is_str(duration_text(text, sizeof(text), rows[i].ns), rows[i].text,
		       "text of %" PRIu64, rows[i].ns);
		is_str(duration_exact(text, sizeof(text), rows[i].ns), rows[i].exact,
		       "exact %" PRIu64, rows[i].ns);
		is_int(duration_parse(bytes_of(text), &back, NULL), 0, "%s reads", text);
		is_u64(back, rows[i].ns, "%s reads back", text);
	}
}

static void clocks(void)
{
	static const struct {
		const char *text;
		int64_t ns; /* -1: refused */
	} rows[] = {
		{ "1970-01-01T00:00:01Z", 1000000000 },
		{ "2026-07-30T12:34:56.123456789Z", 1785414896123456789 },
		{ "2026-07-30T14:34:56+02:00", 1785414896000000000 },
		{ "2026-07-30 12:34Z", 1785414840000000000 },
		{ "2026-07-30T14:34:56", 1785414896000000000 }, /* local: two hours east below */
		{ "14:34:56", 1785414896000000000 },		/* the anchor itself */
		{ "14:34", 1785414840000000000 },
		{ "14:35", 1785414900000000000 - 86400000000000 }, /* yesterday's */
		{ "2028-02-29T00:00:00Z", 1835395200000000000 },
		{ "2026-02-29T00:00:00Z", -1 },
		{ "2026-02-31", -1 },
		{ "2026-13-01T00:00:00Z", -1 },
		{ "25:00", -1 },
		{ "14:34:56x", -1 },
		{ "2026-07-30T", -1 },
		{ "yesterday", -1 },
		{ "", -1 },
	};
	char text[64];
	size_t i;

	setenv("TZ", "XST-2", 1);
	tzset();
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t ns = -1;
		int rc = time_parse(bytes_of(rows[i].text), 1785414896000000000, &ns, NULL);

		is_int(rc, rows[i].ns < 0 ? ERR_USAGE : 0, "code of time '%s'", rows[i].text);
		if (rows[i].ns >= 0)
			is_i64(ns, rows[i].ns, "time '%s'", rows[i].text);
	}
	is_str(time_iso(text, sizeof(text), 1785414896123456789), "2026-07-30T12:34:56.123456789Z",
	       "ISO");
	is_str(time_iso(text, sizeof(text), -1), "1969-12-31T23:59:59.999999999Z",
	       "ISO before 1970");
	is_str(time_local(text, sizeof(text), 1785414896123456789, true),
	       "2026-07-30 14:34:56.123 XST", "local time");
	is_str(time_local(text, sizeof(text), 1785414896123456789, false), "14:34:56.123 XST",
	       "local time of day");
}

int main(void)
{
	durations();
	printed();
	clocks();
	return tap_done();
}
