/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test Anything Protocol for unit tests: include once, from the file with main. Every check prints
 * its place, so that a failure names the line; end main with `return tap_done();`. A test without
 * a single check fails.
 */
#ifndef INGERO_TESTS_TAP_H
#define INGERO_TESTS_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned tap_count, tap_failed;

/* Whether this is make check-all: everything, however long it takes. */
__attribute__((unused)) static bool tap_all(void)
{
	const char *check = getenv("CHECK");

	return check && !strcmp(check, "all");
}

/* name is printf-like, so that table-driven tests can say which row it was. */
#define ok(condition, ...) tap_ok((condition), #condition, __FILE__, __LINE__, __VA_ARGS__)
#define is_u64(got, want, ...) \
	tap_u64((uint64_t)(got), (uint64_t)(want), __FILE__, __LINE__, __VA_ARGS__)
#define is_i64(got, want, ...) \
	tap_i64((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, want, ...) \
	tap_i64((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, __VA_ARGS__)
#define is_str(got, want, ...) tap_str((got), (want), __FILE__, __LINE__, __VA_ARGS__)
#define is_near(got, want, within, ...) \
	tap_near((got), (want), (within), __FILE__, __LINE__, __VA_ARGS__)
/* got is "contains": fails printing the whole text */
#define like(got, part, ...) tap_like((got), (part), __FILE__, __LINE__, __VA_ARGS__)

#define TAP_FN_ static __attribute__((unused))

__attribute__((format(printf, 2, 3))) TAP_FN_ bool tap_line(bool pass, const char *fmt, ...)
{
	va_list ap;

	tap_count++;
	if (!pass)
		tap_failed++;
	printf("%s %u - ", pass ? "ok" : "not ok", tap_count);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout); /* a child that a test makes must not say it again: some checkers write out
			   what is held in _exit */
	return pass;
}

#define TAP_NAME_                                \
	char name[200];                          \
	va_list ap_;                             \
	va_start(ap_, fmt);                      \
	vsnprintf(name, sizeof(name), fmt, ap_); \
	va_end(ap_)

__attribute__((format(printf, 5, 6))) TAP_FN_ bool tap_ok(bool pass, const char *text,
							  const char *file, int line,
							  const char *fmt, ...)
{
	TAP_NAME_;
	if (!tap_line(pass, "%s", name))
		printf("# %s:%d: false: %s\n", file, line, text);
	return pass;
}

__attribute__((format(printf, 5, 6))) TAP_FN_ bool tap_u64(uint64_t got, uint64_t want,
							   const char *file, int line,
							   const char *fmt, ...)
{
	TAP_NAME_;
	if (!tap_line(got == want, "%s", name))
		printf("# %s:%d: got %" PRIu64 " (0x%" PRIx64 "), want %" PRIu64 " (0x%" PRIx64
		       ")\n",
		       file, line, got, got, want, want);
	return got == want;
}

__attribute__((format(printf, 5, 6))) TAP_FN_ bool tap_i64(int64_t got, int64_t want,
							   const char *file, int line,
							   const char *fmt, ...)
{
	TAP_NAME_;
	if (!tap_line(got == want, "%s", name))
		printf("# %s:%d: got %" PRId64 ", want %" PRId64 "\n", file, line, got, want);
	return got == want;
}

__attribute__((format(printf, 5, 6))) TAP_FN_ bool tap_str(const char *got, const char *want,
							   const char *file, int line,
							   const char *fmt, ...)
{
	TAP_NAME_;
	bool pass = got == want || (got && want && !strcmp(got, want));

	if (!tap_line(pass, "%s", name))
		printf("# %s:%d: got \"%s\"\n# want \"%s\"\n", file, line, got ? got : "(null)",
		       want ? want : "(null)");
	return pass;
}

__attribute__((format(printf, 6, 7))) TAP_FN_ bool tap_near(double got, double want, double within,
							    const char *file, int line,
							    const char *fmt, ...)
{
	TAP_NAME_;
	bool pass = got >= want - within && got <= want + within;

	if (!tap_line(pass, "%s", name))
		printf("# %s:%d: got %.17g, want %.17g +- %g\n", file, line, got, want, within);
	return pass;
}

__attribute__((format(printf, 5, 6))) TAP_FN_ bool tap_like(const char *got, const char *part,
							    const char *file, int line,
							    const char *fmt, ...)
{
	TAP_NAME_;
	bool pass = got && strstr(got, part);

	if (!tap_line(pass, "%s", name))
		printf("# %s:%d: \"%s\"\n# does not contain \"%s\"\n", file, line,
		       got ? got : "(null)", part);
	return pass;
}

/* One check that cannot run here; the reason is part of the report. */
TAP_FN_ void skip(const char *reason)
{
	printf("ok %u # SKIP %s\n", ++tap_count, reason);
}

/* The whole test cannot run here: `return tap_skip_all("…");` as the first thing. */
TAP_FN_ int tap_skip_all(const char *reason)
{
	printf("1..0 # SKIP %s\n", reason);
	return 0;
}

TAP_FN_ int tap_done(void)
{
	printf("1..%u\n", tap_count);
	if (!tap_count)
		printf("# no checks were made\n");
	return tap_failed || !tap_count ? 1 : 0;
}

/* The same under the name other TAP libraries have. */
TAP_FN_ int done_testing(void)
{
	return tap_done();
}

#endif
