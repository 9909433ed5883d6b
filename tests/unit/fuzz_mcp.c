/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target mcp over mutations of messages of every method, in every revision. */
#include "tests/fuzz/mcp.c"

#include "tests/fuzz/corpus.h"

int main(int argc, char **argv)
{
	return replay_corpus(argc, argv, "tests/fuzz/corpus/mcp", REPLAY_ROUNDS);
}
