/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was found out, line by line: a word for what was looked at, whether it is well, what there
 * is to say and what to do about it. Rooms that look into things add lines, others print them.
 */
#ifndef INGERO_BASE_VERDICT_H
#define INGERO_BASE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

enum verdict { VERDICT_GOOD, VERDICT_WARN, VERDICT_FAIL };

struct verdict_line {
	const char *id; /* "kernel"; borrowed, a literal */
	enum verdict verdict;
	char *text, *advice; /* owned; advice may be NULL */
};

/* A vec. Zero-initialised is empty. */
struct verdicts {
	struct verdict_line *v;
	size_t n, cap;
	bool nomem; /* a line is missing for want of memory */
};

/* advice: copied; NULL for none. */
__attribute__((format(printf, 5, 6))) void verdict_say(struct verdicts *to, const char *id,
						       enum verdict verdict, const char *advice,
						       const char *fmt, ...);
/* No line is VERDICT_FAIL. */
bool verdicts_passed(const struct verdicts *v);
void verdicts_free(struct verdicts *v);

#endif
