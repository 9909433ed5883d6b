/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target ige_reader over mutated recordings. */
#include "tests/fuzz/ige_reader.c"
#include "tests/fuzz/mutate.h"

int main(int argc, char **argv)
{
	return replay_recordings(argc, argv);
}
