/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target http over mutations of requests. */
#include "tests/fuzz/http.c"

#include "tests/fuzz/corpus.h"

#define ROUNDS 400 /* connections */

int main(int argc, char **argv)
{
	struct err e;

	if (fuzz_start(&e)) {
		skip("optional: built without libmicrohttpd or libcurl");
		return tap_done();
	}
	return replay_corpus(argc, argv, "tests/fuzz/corpus/http", ROUNDS);
}
