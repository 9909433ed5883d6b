/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target timeline over mutated recordings. */
#include "tests/fuzz/timeline.c"
#include "tests/fuzz/mutate.h"

int main(int argc, char **argv)
{
	return replay_recordings(argc, argv);
}
