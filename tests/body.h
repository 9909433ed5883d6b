/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evidence of a finding as tests look into it: member by member of the JSON that its record carried.
 */
#ifndef INGERO_TESTS_BODY_H
#define INGERO_TESTS_BODY_H

#include "lib/model/body.h"
#include "lib/model/finding.h"

/* The caller's. */
static inline struct json evidence_get(const struct finding *f, const char *key)
{
	struct json body, member;

	body_read(f->json, &body, BODY_SIZE_MAX, NULL);
	member = json_get(body, key);
	json_free(body);
	return member;
}

#endif
