/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record as a JSON object: {"record": "sample", "timestamp": ..., each field that is present},
 * with ids of the world as what they stand for. Bodies of chains and analyses are given as the
 * objects they are.
 */
#ifndef INGERO_WORLD_RECORD_JSON_H
#define INGERO_WORLD_RECORD_JSON_H

#include "lib/base/jsonw.h"
#include "lib/event/record.h"
#include "lib/world/late_names.h"
#include "lib/world/world.h"

void record_json(struct jsonw *j, const struct world *w, const struct late_names *t,
		 const struct record *r);

#endif
