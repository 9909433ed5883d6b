/* SPDX-License-Identifier: Apache-2.0 */
/* Counts that a sketch cannot hold are refused, not cut. */
#include "lib/store/sketch_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/number.h"

void sketch_json_write(struct jsonw *j, const struct sketch *s)
{
	char sum[24];

	snprintf(sum, sizeof(sum), "%" PRIu64, s->sum);
	jsonw_object_begin(j);
	jsonw_key_u64(j, "sub", SKETCH_SUB);
	jsonw_key_u64(j, "min", s->count ? s->min : 0);
	jsonw_key_u64(j, "max", s->count ? s->max : 0);
	jsonw_key_str(j, "sum", sum);
	jsonw_key_array(j, "buckets");
	for (unsigned o = 0; o < SKETCH_OCTAVES; o++) {
		for (unsigned i = 0; s->octave[o] && i < SKETCH_SUB; i++) {
			if (!s->octave[o][i])
				continue;
			jsonw_u64(j, o * SKETCH_SUB + i);
			jsonw_u64(j, s->octave[o][i]);
		}
	}
	jsonw_array_end(j);
	jsonw_object_end(j);
}

static bool parse_whole(struct json v, double most, double *out)
{
	*out = json_double(v, -1);
	json_free(v);
	return *out >= 0 && *out <= most && *out == (double)(uint64_t)*out;
}

static bool sum_of(struct json v, uint64_t *out)
{
	bool is = number_parse(json_bytes(v), 10, UINT64_MAX, out);

	json_free(v);
	return is;
}

int sketch_json_read(struct sketch *s, struct json v, struct err *e)
{
	struct json list = json_get(v, "buckets");
	size_t n = json_length(list);
	uint32_t *counts = NULL;
	double sub, min = 0, max = 0, last = -1;
	bool good = json_type(list) == JSON_TYPE_ARRAY && n % 2 == 0 && n / 2 <= SKETCH_BUCKETS &&
		    parse_whole(json_get(v, "sub"), SKETCH_SUB, &sub) && sub == SKETCH_SUB &&
		    parse_whole(json_get(v, "min"), 0x1p63, &min) &&
		    parse_whole(json_get(v, "max"), 0x1p63, &max) && min <= max &&
		    sum_of(json_get(v, "sum"), &s->sum);
	int rc = 0;

	if (good && !(counts = calloc(SKETCH_BUCKETS, sizeof(*counts))))
		rc = err_nomem(e);
	for (size_t i = 0; good && !rc && i < n; i += 2) {
		double bucket, count;

		good = parse_whole(json_at(list, i), SKETCH_BUCKETS - 1, &bucket) &&
		       bucket > last && parse_whole(json_at(list, i + 1), UINT32_MAX, &count);
		if (good) {
			counts[(unsigned)bucket] = (uint32_t)count;
			last = bucket;
		}
	}
	if (!rc && !good)
		rc = err_set(e, ERR_DAMAGED, "no sketch of durations as this version has them");
	if (!rc) {
		s->min = (uint64_t)min;
		s->max = (uint64_t)max;
		if (!sketch_add_counts(s, counts))
			rc = err_nomem(e);
	}
	free(counts);
	json_free(list);
	return rc;
}
