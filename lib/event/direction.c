/* SPDX-License-Identifier: Apache-2.0 */
/* cudaMemcpyKind; "default" is what the pointers say. */
#include "lib/event/direction.h"

#include <stddef.h>

static const struct {
	const char *code, *text;
} directions[] = {
	{ "H2H", "within the host" },	  { "H2D", "host to device" },
	{ "D2H", "device to host" },	  { "D2D", "within the device" },
	{ "default", "by the pointers" },
};

#define KNOWN (sizeof(directions) / sizeof(directions[0]))

const char *direction_code(uint64_t direction)
{
	return direction < KNOWN ? directions[direction].code : NULL;
}

const char *direction_text(uint64_t direction)
{
	return direction < KNOWN ? directions[direction].text : NULL;
}
