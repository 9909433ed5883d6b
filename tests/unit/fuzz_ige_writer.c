/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target ige_writer over sequences drawn at random, and files named as arguments. */
#include "lib/base/io.h"
#include "tests/fuzz/ige_writer.c"
#include "tests/fuzz/files.h"
#include "tests/tap.h"

#define ROUNDS 400

int main(int argc, char **argv)
{
	uint64_t state = 5;
	unsigned rounds;

	replay_files(argc, argv);
	for (rounds = 0; rounds < ROUNDS; rounds++) {
		static uint8_t bytes[3 + 12 * 300];
		size_t n = 3 + rounds % 25 * 12 * 12;

		for (size_t i = 0; i < n; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			bytes[i] = (uint8_t)(state >> 56);
		}
		LLVMFuzzerTestOneInput(bytes, n);
	}
	is_u64(rounds, ROUNDS, "sequences of events came back as they were");
	return tap_done();
}
