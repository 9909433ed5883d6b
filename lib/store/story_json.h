/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a report tells beside causes, as members of a JSON object of ours, for another process of
 * the same program, and back from it.
 */
#ifndef INGERO_STORE_STORY_JSON_H
#define INGERO_STORE_STORY_JSON_H

#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/event/failure.h"
#include "lib/event/oncpu.h"

/* Zero-initialised is empty. */
struct story_said {
	struct failures failures; /* of no process of a world, and without stacks */
	struct oncpu oncpu;	  /* of no thread of a world */
	struct op_def *ops;	  /* those of failures */
	struct json text;	  /* what they point into */
};

/* Members of the object that is open. */
void story_json_put(struct jsonw *j, const struct failures *f, const struct oncpu *o);

/* Takes o over. False: it has not all of them. out is the caller's in any case: story_said_free. */
bool story_json_take(struct json o, struct story_said *out);
void story_said_free(struct story_said *s);

#endif
