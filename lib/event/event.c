/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of one event by their number, and names of return codes. */
#include "lib/event/event.h"

#include <stddef.h>

bool event_get(const struct event *ev, const struct op_def *def, uint16_t col, uint64_t *value)
{
	int i = def ? op_column(def, col) : -1;

	if (i < 0 || !(ev->present >> i & 1))
		return false;
	*value = ev->x[i];
	return true;
}

void event_set(struct event *ev, const struct op_def *def, uint16_t col, uint64_t value)
{
	int i = op_column(def, col);

	if (i < 0)
		return;
	ev->x[i] = value;
	ev->present |= 1u << i;
}

struct code_name {
	int32_t code;
	const char *name;
};

/* cudaError_t, as in the runtime API's documentation; since CUDA 10.1 most share the driver's
 * numbers. */
static const struct code_name runtime_codes[] = {
#define RUNTIME(code, name) { code, name },
#include "formats/codes.def"
};

static const struct code_name driver_codes[] = {
#define DRIVER(code, name) { code, name },
#include "formats/codes.def"
};

static const struct code_name nccl_codes[] = {
#define NCCL(code, name) { code, name },
#include "formats/codes.def"
};

static const char *find_code(const struct code_name *v, size_t n, int32_t code)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].code == code)
			return v[i].name;
	return NULL;
}

#define FIND(table, code) find_code(table, sizeof(table) / sizeof(table[0]), code)

const char *event_error_name(uint8_t source, int32_t ret)
{
	if (ret == 0)
		return NULL;
	switch (source) {
	case SOURCE_CUDA:
	case SOURCE_GRAPH:
		return FIND(runtime_codes, ret);
	case SOURCE_DRIVER:
		return FIND(driver_codes, ret);
	case SOURCE_NCCL:
		return FIND(nccl_codes, ret);
	default:
		return NULL;
	}
}
