/* SPDX-License-Identifier: Apache-2.0 */
/* 32 digits of the identity, 16 of the boot: as recordings have them, without anything that is not
 * in them. */
#include "lib/store/machine.h"

#include <inttypes.h>
#include <stdio.h>

void store_machine_text(char out[STORE_MACHINE_TEXT], const uint8_t uuid[16], uint64_t boot)
{
	unsigned any = 0;

	for (unsigned i = 0; i < 16; i++) {
		any |= uuid[i];
		snprintf(out + 2 * (size_t)i, 3, "%02x", uuid[i]);
	}
	if (any && boot)
		snprintf(out + 32, STORE_MACHINE_TEXT - 32, "-%016" PRIx64, boot);
	else
		out[0] = '\0';
}
