/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target ige_arrays over mutated recordings. */
#include "tests/fuzz/ige_arrays.c"
#include "tests/fuzz/mutate.h"

int main(int argc, char **argv)
{
	return replay_recordings(argc, argv);
}
