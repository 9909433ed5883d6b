/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A borrowed run of bytes: text from a file or a kernel is not NUL-terminated and may hold
 * anything. {NULL, 0} is the absent value, which is not the same as the empty one.
 */
#ifndef INGERO_BASE_BYTES_H
#define INGERO_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct bytes {
	const char *p;
	size_t n;
};

static inline struct bytes bytes_of(const char *text)
{
	return (struct bytes){ text, text ? strlen(text) : 0 };
}

/* Behind the last one: of none, which may have no address, where they begin. */
static inline const char *bytes_end(struct bytes b)
{
	return b.n ? b.p + b.n : b.p;
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): without a text n is 0 */
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool bytes_begin_with(struct bytes text, const char *start)
{
	size_t n = strlen(start);

	return text.n >= n && (n == 0 || memcmp(text.p, start, n) == 0);
}

static inline bool bytes_end_with(struct bytes text, const char *end)
{
	size_t n = strlen(end);

	return text.n >= n && (n == 0 || memcmp(text.p + text.n - n, end, n) == 0);
}

/* Whether part is somewhere in it. */
static inline bool bytes_have(struct bytes text, const char *part)
{
	return text.n && memmem(text.p, text.n, part, strlen(part)) != NULL;
}

/* The last part of a path: what follows the last slash. */
static inline struct bytes bytes_file_name(struct bytes path)
{
	const char *slash = path.n ? (const char *)memrchr(path.p, '/', path.n) : NULL;

	return slash ? (struct bytes){ slash + 1, (size_t)(bytes_end(path) - slash - 1) } : path;
}

/* "loader-12" and "loader-3" are "loader-": members of a pool bear numbers. */
static inline struct bytes bytes_without_number(struct bytes name)
{
	while (name.n && name.p[name.n - 1] >= '0' && name.p[name.n - 1] <= '9')
		name.n--;
	return name;
}

#endif
