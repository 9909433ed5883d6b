/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The failed calls and CPU samples of a report as members of a JSON object, for another process of
 * the same program, and back from it.
 */
#ifndef INGERO_STORE_REPORT_ANSWER_JSON_H
#define INGERO_STORE_REPORT_ANSWER_JSON_H

#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/event/failure.h"
#include "lib/event/oncpu.h"

/* Zero-initialised is empty. */
struct report_answer_json {
	struct failures failures; /* of no process of a world, and without stacks */
	struct oncpu oncpu;	  /* of no thread of a world */
	struct op_def *ops;	  /* those of failures */
	struct json text;	  /* what they point into */
};

/* Members of the object that is open. */
void report_answer_json_write(struct jsonw *j, const struct failures *f, const struct oncpu *o);

/* Takes o over. False: it has not all of them. out is the caller's in any case:
 * report_answer_json_free. */
bool report_answer_json_read(struct json o, struct report_answer_json *out);
void report_answer_json_free(struct report_answer_json *s);

#endif
