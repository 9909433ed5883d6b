/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target ige_columns over mutations of what a writer writes. */
#include "tests/fuzz/ige_columns.c"
#include "tests/fuzz/replay.h"

int main(int argc, char **argv)
{
	return replay(argc, argv, 0);
}
