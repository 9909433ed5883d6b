/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations and clock times to text and back. Parsers take bytes from the command line and from
 * files, refuse what they do not fully understand, and never overflow silently.
 */
#include "lib/base/timetext.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000ll

static const struct unit {
	const char *name;
	uint64_t ns;
} units[] = {
	{ "w", 7 * 86400ull * NS_PER_S },
	{ "d", 86400ull * NS_PER_S },
	{ "h", 3600ull * NS_PER_S },
	{ "m", 60ull * NS_PER_S },
	{ "s", NS_PER_S },
	{ "ms", 1000000 },
	{ "us", 1000 },
	{ "ns", 1 },
};

#define NUNITS (sizeof(units) / sizeof(units[0]))
enum { UNIT_DAYS = 1, UNIT_SECONDS = 4 };

static int not_a_duration(struct bytes text, struct err *e)
{
	return err_set(e, ERR_USAGE, "'%.*s' is not a duration (as 5m, 1h30m, 250ms, 1.5s)",
		       (int)(text.n < 60 ? text.n : 60), text.n ? text.p : "");
}

/* Digits with an optional fraction of at most nine digits; *frac in units of 10^-9. Returns its
 * length, 0: none. */
static size_t number_scan(struct bytes t, size_t at, uint64_t *whole, uint64_t *frac)
{
	size_t i = at, digits = 0;
	uint64_t scale = 100000000;

	*whole = *frac = 0;
	for (; i < t.n && isdigit((unsigned char)t.p[i]); i++, digits++)
		if (__builtin_mul_overflow(*whole, 10, whole) ||
		    __builtin_add_overflow(*whole, (uint64_t)(t.p[i] - '0'), whole))
			return 0;
	if (!digits)
		return 0;
	if (i < t.n && t.p[i] == '.') {
		size_t dot = i++;

		for (; i < t.n && isdigit((unsigned char)t.p[i]); i++, scale /= 10)
			*frac += (uint64_t)(t.p[i] - '0') * scale;
		if (i == dot + 1)
			return 0;
	}
	return i - at;
}

int duration_parse(struct bytes text, uint64_t *ns, struct err *e)
{
	uint64_t sum = 0;
	size_t at = 0, next_unit = 0;

	if (!text.n)
		return not_a_duration(text, e);
	while (at < text.n) {
		uint64_t whole, frac, part;
		size_t n = number_scan(text, at, &whole, &frac), u, len;

		if (!n)
			return not_a_duration(text, e);
		at += n;
		for (len = 0; at + len < text.n && isalpha((unsigned char)text.p[at + len]); len++)
			;
		if (!len && at == text.n && n == text.n) {
			u = UNIT_SECONDS; /* a bare number is seconds */
		} else {
			for (u = next_unit; u < NUNITS; u++)
				if (bytes_equal(bytes_of(units[u].name),
						(struct bytes){ text.p + at, len }))
					break;
			if (u == NUNITS)
				return not_a_duration(text, e);
		}
		at += len;
		next_unit = u + 1;
		part = (uint64_t)((unsigned __int128)frac * units[u].ns / NS_PER_S);
		if (__builtin_mul_overflow(whole, units[u].ns, &whole) ||
		    __builtin_add_overflow(sum, whole, &sum) ||
		    __builtin_add_overflow(sum, part, &sum))
			return not_a_duration(text, e);
	}
	*ns = sum;
	return 0;
}

char *duration_text(char *out, size_t size, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} scale[] = { { 1000, "us" }, { 1000000, "ms" }, { NS_PER_S, "s" } };
	uint64_t s = ns / NS_PER_S;
	unsigned i = 0;
	double x;

	if (ns < 1000) {
		snprintf(out, size, "%" PRIu64 " ns", ns);
	} else if (s < 60) {
		/* 999.95 us and more would print as 1000 us */
		while (i < 2 && (double)ns / (double)scale[i].ns >= 999.5)
			i++;
		x = (double)ns / (double)scale[i].ns;
		snprintf(out, size,
			 x < 9.995   ? "%.2f %s"
			 : x < 99.95 ? "%.1f %s"
				     : "%.0f %s",
			 x, scale[i].name);
	} else if (s < 3600) {
		snprintf(out, size, "%" PRIu64 "m %" PRIu64 "s", s / 60, s % 60);
	} else if (s < 86400) {
		snprintf(out, size, "%" PRIu64 "h %" PRIu64 "m", s / 3600, s / 60 % 60);
	} else {
		snprintf(out, size, "%" PRIu64 "d %" PRIu64 "h", s / 86400, s / 3600 % 24);
	}
	return out;
}

char *duration_exact(char *out, size_t size, uint64_t ns)
{
	size_t n = 0, u;

	snprintf(out, size, "0s");
	for (u = UNIT_DAYS; u < NUNITS && ns && n < size; u++) { /* weeks are only read */
		uint64_t whole = ns / units[u].ns;

		if (!whole)
			continue;
		n += (size_t)snprintf(out + n, size - n, "%" PRIu64 "%s", whole, units[u].name);
		ns -= whole * units[u].ns;
	}
	return out;
}

/* Seconds rounded down, also before 1970. */
static time_t seconds_of(int64_t ns, unsigned *rest)
{
	int64_t s = ns / NS_PER_S, r = ns % NS_PER_S;

	if (r < 0) {
		r += NS_PER_S;
		s--;
	}
	*rest = (unsigned)r;
	return (time_t)s;
}

char *time_iso(char *out, size_t size, int64_t utc_ns)
{
	unsigned rest;
	time_t s = seconds_of(utc_ns, &rest);
	struct tm tm;

	gmtime_r(&s, &tm);
	snprintf(out, size, "%04d-%02d-%02dT%02d:%02d:%02d.%09uZ", tm.tm_year + 1900, tm.tm_mon + 1,
		 tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, rest);
	return out;
}

char *time_local(char *out, size_t size, int64_t utc_ns, bool date)
{
	unsigned rest;
	time_t s = seconds_of(utc_ns, &rest);
	char day[32] = "";
	struct tm tm;

	localtime_r(&s, &tm);
	if (date)
		snprintf(day, sizeof(day), "%04d-%02d-%02d ", tm.tm_year + 1900, tm.tm_mon + 1,
			 tm.tm_mday);
	snprintf(out, size, "%s%02d:%02d:%02d.%03u %s", day, tm.tm_hour, tm.tm_min, tm.tm_sec,
		 rest / 1000000, tm.tm_zone ? tm.tm_zone : "");
	return out;
}

/* Exactly `digits` digits and, when follow is not 0, that character; advances *at. */
static bool digits_scan(struct bytes t, size_t *at, int digits, char follow, int *value)
{
	int x = 0, i;

	for (i = 0; i < digits; i++, (*at)++) {
		if (*at >= t.n || !isdigit((unsigned char)t.p[*at]))
			return false;
		x = x * 10 + (t.p[*at] - '0');
	}
	if (follow && (*at >= t.n || t.p[(*at)++] != follow))
		return false;
	*value = x;
	return true;
}

/* [:SS[.fraction]] at *at. */
static bool seconds_scan(struct bytes t, size_t *at, struct tm *tm, uint64_t *frac)
{
	uint64_t whole;
	size_t n;

	*frac = 0;
	tm->tm_sec = 0;
	if (*at >= t.n || t.p[*at] != ':')
		return true;
	n = number_scan(t, ++*at, &whole, frac);
	if (n < 2 || whole > 60)
		return false;
	*at += n;
	tm->tm_sec = (int)whole;
	return true;
}

static bool zone_scan(struct bytes t, size_t *at, bool *utc, int *offset_s)
{
	int hours, minutes, sign;

	*utc = false;
	*offset_s = 0;
	if (*at >= t.n)
		return true;
	*utc = true;
	if (t.p[*at] == 'Z' || t.p[*at] == 'z') {
		(*at)++;
		return true;
	}
	if (t.p[*at] != '+' && t.p[*at] != '-')
		return false;
	sign = t.p[(*at)++] == '-' ? -1 : 1;
	if (!digits_scan(t, at, 2, 0, &hours))
		return false;
	if (*at < t.n && t.p[*at] == ':')
		(*at)++;
	if (!digits_scan(t, at, 2, 0, &minutes) || hours > 14 || minutes > 59)
		return false;
	*offset_s = sign * (hours * 3600 + minutes * 60);
	return true;
}

static bool in_range(const struct tm *tm)
{
	return tm->tm_mon >= 0 && tm->tm_mon < 12 && tm->tm_mday >= 1 && tm->tm_mday <= 31 &&
	       tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_year >= 70 && tm->tm_year < 361;
}

/* The 31st of February is no day, and not the 3rd of March. */
static bool is_day(const struct tm *tm)
{
	struct tm day = { .tm_year = tm->tm_year, .tm_mon = tm->tm_mon, .tm_mday = tm->tm_mday };

	timegm(&day);
	return day.tm_mday == tm->tm_mday;
}

static bool iso_scan(struct bytes t, int64_t *utc_ns)
{
	struct tm tm = { .tm_isdst = -1 };
	uint64_t frac = 0;
	int offset_s = 0;
	bool utc = false;
	size_t at = 0;
	int64_t s;

	if (!digits_scan(t, &at, 4, '-', &tm.tm_year) || !digits_scan(t, &at, 2, '-', &tm.tm_mon) ||
	    !digits_scan(t, &at, 2, 0, &tm.tm_mday))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	if (at < t.n) {
		if (t.p[at] != 'T' && t.p[at] != 't' && t.p[at] != ' ')
			return false;
		at++;
		if (!digits_scan(t, &at, 2, ':', &tm.tm_hour) ||
		    !digits_scan(t, &at, 2, 0, &tm.tm_min) || !seconds_scan(t, &at, &tm, &frac) ||
		    !zone_scan(t, &at, &utc, &offset_s))
			return false;
	}
	if (at != t.n || !in_range(&tm) || !is_day(&tm))
		return false;
	s = utc ? (int64_t)timegm(&tm) - offset_s : (int64_t)mktime(&tm);
	return !__builtin_mul_overflow(s, NS_PER_S, utc_ns) &&
	       !__builtin_add_overflow(*utc_ns, (int64_t)frac, utc_ns);
}

static bool clock_scan(struct bytes t, int64_t anchor_ns, int64_t *utc_ns)
{
	unsigned rest;
	time_t anchor = seconds_of(anchor_ns, &rest);
	uint64_t frac;
	size_t at = 0;
	struct tm tm;

	localtime_r(&anchor, &tm);
	if (!digits_scan(t, &at, 2, ':', &tm.tm_hour) || !digits_scan(t, &at, 2, 0, &tm.tm_min) ||
	    !seconds_scan(t, &at, &tm, &frac) || at != t.n || !in_range(&tm))
		return false;
	tm.tm_isdst = -1;
	*utc_ns = (int64_t)mktime(&tm) * NS_PER_S + (int64_t)frac;
	if (*utc_ns > anchor_ns) {
		tm.tm_mday--;
		tm.tm_isdst = -1;
		*utc_ns = (int64_t)mktime(&tm) * NS_PER_S + (int64_t)frac;
	}
	return true;
}

int time_parse(struct bytes text, int64_t anchor_ns, int64_t *utc_ns, struct err *e)
{
	if (iso_scan(text, utc_ns) || clock_scan(text, anchor_ns, utc_ns))
		return 0;
	return err_set(e, ERR_USAGE, "'%.*s' is not a time (as 15:40, 2026-07-30T15:40:05Z)",
		       (int)(text.n < 60 ? text.n : 60), text.n ? text.p : "");
}
