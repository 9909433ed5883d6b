/* SPDX-License-Identifier: Apache-2.0 */
/* Running out of memory is asked for once, at the end. */
#include "lib/base/verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"

void verdict_say(struct verdicts *to, const char *id, enum verdict verdict, const char *advice,
		 const char *fmt, ...)
{
	struct verdict_line l = { .id = id, .verdict = verdict };
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&l.text, fmt, ap) < 0)
		l.text = NULL;
	va_end(ap);
	l.advice = advice ? strdup(advice) : NULL;
	if (!l.text || (advice && !l.advice) || !vec_push(to, l)) {
		to->nomem = true;
		free(l.text);
		free(l.advice);
	}
}

bool verdicts_passed(const struct verdicts *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->v[i].verdict == VERDICT_FAIL)
			return false;
	return true;
}

void verdicts_free(struct verdicts *v)
{
	for (size_t i = 0; i < v->n; i++) {
		free(v->v[i].text);
		free(v->v[i].advice);
	}
	vec_free(v);
}
