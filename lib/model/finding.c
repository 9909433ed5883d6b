/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory and names of findings (lib/model/finding.h): what they are made of is copied into one
 * arena each.
 */
#include "lib/model/finding.h"

struct bytes finding_copy(struct finding *f, struct bytes text)
{
	char *copy = text.p ? arena_copy(&f->memory, text.p, text.n) : NULL;

	f->failed |= text.p && !copy;
	return (struct bytes){ copy, copy ? text.n : 0 };
}

void *finding_added_(struct finding *f, void *element)
{
	f->failed |= !element;
	return element;
}

void finding_sort_moments(struct finding *f)
{
	for (size_t i = 1; i < f->moments.n; i++) {
		struct finding_moment moved = f->moments.v[i];
		size_t at = i;

		for (; at && f->moments.v[at - 1].start_ns > moved.start_ns; at--)
			f->moments.v[at] = f->moments.v[at - 1];
		f->moments.v[at] = moved;
	}
}

void finding_free(struct finding *f)
{
	arena_free(&f->memory);
	*f = (struct finding){ 0 };
}

const char *finding_severity_name(uint32_t severity)
{
	return severity >= FINDING_HIGH ? "HIGH" : severity == FINDING_MEDIUM ? "MEDIUM" : "LOW";
}

bool finding_is_loss(const struct finding *f)
{
	static const char *const kinds[] = {
		"cpu-preempted", "cpu-contended",   "cpu-oversubscribed",
		"cpu-throttled", "noisy-neighbour", "lock-wait",
		"disk-stall",	 "memory-pressure", "stopped"
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (bytes_equal(f->kind, bytes_of(kinds[i])))
			return true;
	return false;
}

struct bytes finding_counted(const struct finding *f)
{
	return f->counted.n ? f->counted : bytes_of("waits");
}

bool finding_fix_is_code(const struct finding_fix *fix)
{
	return bytes_equal(fix->kind, bytes_of("code"));
}
