/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target ige_segment over mutations of what a writer writes. */
#include "tests/fuzz/ige_segment.c"
#include "tests/fuzz/replay.h"

int main(int argc, char **argv)
{
	return replay(argc, argv, 0);
}
