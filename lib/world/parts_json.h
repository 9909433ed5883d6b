/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lines of JSON about events and records have in common: keys and values of things of the
 * world. Each writes its keys into the object that is open, or nothing where the thing is not
 * known.
 */
#ifndef INGERO_WORLD_PARTS_JSON_H
#define INGERO_WORLD_PARTS_JSON_H

#include <stdint.h>

#include "lib/base/jsonw.h"
#include "lib/world/late_names.h"
#include "lib/world/world.h"

void json_string_of(struct jsonw *j, const struct world *w, const char *key, uint32_t string);
void json_hex(struct jsonw *j, const char *key, uint64_t v);

/* A time: as UTC under the first key if the offset of the recording's clock is known, as ns since
 * the recording began under the second. */
void json_when(struct jsonw *j, const struct late_names *t, const char *utc, const char *since,
	       int64_t ns);

/* {"name": "python3", "pid": 4711, "tid": 4712} */
void json_thread(struct jsonw *j, const struct world *w, const struct late_names *t,
		 const char *key, uint32_t id, int64_t at_ns);
void json_process(struct jsonw *j, const struct world *w, const char *key, uint32_t id); /* pid */
void json_gpu(struct jsonw *j, const struct world *w, uint32_t id);    /* gpu_id, gpu */
void json_cgroup(struct jsonw *j, const struct world *w, uint32_t id); /* cgroup_id, cgroup */
void json_stack(struct jsonw *j, const struct world *w,
		uint32_t id); /* stack: its frames, innermost first */
void json_frames(struct jsonw *j, const struct world *w,
		 uint32_t id); /* its frames, a bare array */
void json_op(struct jsonw *j, const struct op_def *op, uint16_t number); /* source, op */

#endif
