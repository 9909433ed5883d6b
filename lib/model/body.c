/* SPDX-License-Identifier: Apache-2.0 */
/* The only place where text of recordings becomes values. */
#include "lib/model/body.h"

#include "lib/base/jsoncheck.h"

#define DEPTH_MAX 64 /* ours lie six deep */

bool body_read(struct bytes text, struct json *out, size_t size_max, size_t *size)
{
	size_t most = size_max < BODY_SIZE_MAX ? size_max : BODY_SIZE_MAX, counted = 0;
	bool good = text.n && !json_check_size(text, DEPTH_MAX, most, &counted, NULL);

	*out = JSON_NONE;
	if (good && json_parse(text, out, NULL) < 0) {
		*out = JSON_NONE;
		good = false;
	}
	if (size)
		*size = good ? counted : 0;
	return good;
}
