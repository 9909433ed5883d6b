/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times have a role of their own in the table of records, so that no kind has to be known here. A
 * chain names its events by (thread, end, op) inside its JSON text, and they must be found there
 * afterwards.
 */
#include "lib/clock/shift_times.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Within a JSON text these bytes are nothing but a member: inside of a string its quotes would be
 * escaped. */
#define END_MEMBER "\"end\":\""

static bool shift_body(struct bytes *text, int64_t by_ns, struct buf *out)
{
	const char *p = text->p, *end = text->p + text->n;

	buf_reset(out);
	while (p < end) {
		const char *found = memmem(p, (size_t)(end - p), END_MEMBER, strlen(END_MEMBER));
		char number[24];
		size_t n = 0;

		if (!found)
			break;
		found += strlen(END_MEMBER);
		buf_add(out, p, (size_t)(found - p));
		while (found + n < end && n < sizeof(number) - 1 &&
		       ((found[n] >= '0' && found[n] <= '9') || found[n] == '-')) {
			number[n] = found[n];
			n++;
		}
		number[n] = '\0';
		if (n)
			buf_printf(
				out, "%" PRId64,
				(int64_t)((uint64_t)strtoll(number, NULL, 10) + (uint64_t)by_ns));
		p = found + n;
	}
	buf_add(out, p, (size_t)(end - p));
	*text = buf_bytes(out);
	return !out->failed;
}

bool shift_record(struct record *r, int64_t by_ns, struct buf *body)
{
	const struct record_def *def = record_builtin(r->kind);

	for (unsigned i = 0; def && by_ns && i < def->nfields; i++) {
		const struct record_field *f = &def->fields[i];
		uint64_t time;

		if (f->role != RROLE_TIME || f->type != REC_I64 || !record_has(r, f->number))
			continue;
		memcpy(&time, (const char *)&r->u + f->offset, sizeof(time));
		time += (uint64_t)by_ns;
		memcpy((char *)&r->u + f->offset, &time, sizeof(time));
	}
	if (by_ns && r->kind == RECORD_CHAIN && REC_HAS(r, CHAIN, body) && r->u.CHAIN.body.p)
		return shift_body(&r->u.CHAIN.body, by_ns, body);
	return true;
}
