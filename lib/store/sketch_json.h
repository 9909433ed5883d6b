/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sketch as a JSON value, so that sketches of many machines become that of all of them:
 * {"sub":128,"min":ns,"max":ns,"sum":"ns","buckets":[bucket,count,bucket,count,...]}, buckets
 * ascending (stat/sketch.h).
 */
#ifndef INGERO_STORE_SKETCH_JSON_H
#define INGERO_STORE_SKETCH_JSON_H

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/stat/sketch.h"

void sketch_json_write(struct jsonw *j, const struct sketch *s);

/* v is of another machine and hostile until proven otherwise; s is empty before. ERR_DAMAGED: it is
 * no sketch of ours. */
int sketch_json_read(struct sketch *s, struct json v, struct err *e);

#endif
