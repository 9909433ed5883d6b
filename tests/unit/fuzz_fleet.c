/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target fleet over mutations of what dashboards answer. */
#include "tests/fuzz/fleet.c"

#include "tests/fuzz/corpus.h"

#define ROUNDS 300 /* rounds of requests */

int main(int argc, char **argv)
{
	struct err e;

	if (fuzz_start(&e)) {
		skip("optional: built without libmicrohttpd or libcurl");
		return tap_done();
	}
	return replay_corpus(argc, argv, "tests/fuzz/corpus/fleet", ROUNDS);
}
