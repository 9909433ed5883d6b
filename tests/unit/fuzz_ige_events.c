/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target ige_events over mutations of what a writer writes. */
#include "tests/fuzz/ige_events.c"
#include "tests/fuzz/replay.h"

int main(int argc, char **argv)
{
	return replay(argc, argv, IGE_EVENTS);
}
