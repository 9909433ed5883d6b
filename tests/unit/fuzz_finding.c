/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target finding over mutations of evidence of several kinds. */
#include "tests/fuzz/finding.c"

#include "tests/fuzz/corpus.h"

int main(int argc, char **argv)
{
	return replay_corpus(argc, argv, "tests/fuzz/corpus/finding", REPLAY_ROUNDS);
}
