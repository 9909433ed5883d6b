/* SPDX-License-Identifier: Apache-2.0 */
/* What is packed comes back, for every width, length and kind of outlier; what is not a packing is
 * refused. */
#include "lib/ige/forpack.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/cpu.h"
#include "tests/tap.h"

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static bool back(const uint64_t *v, size_t n, size_t *bytes)
{
	struct buf out = { 0 };
	uint64_t *got = calloc(n + FORPACK_GROUP, sizeof(*got));
	unsigned char *exact;
	bool same;

	forpack_put(&out, v, n);
	*bytes = out.n;
	/* In memory of exactly that size, so that reading past it is seen by a sanitizer. */
	exact = malloc(out.n ? out.n : 1);
	memcpy(exact, out.p ? out.p : "", out.n);
	same = out.n <= FORPACK_BOUND(n);
	/* With what this processor has, and without. */
	for (int plain = 0; plain < 2; plain++) {
		cpu_plain_only = plain;
		memset(got, 0x55, n * sizeof(*got));
		same &= forpack_get(exact, out.n, got, n) && memcmp(got, v, n * sizeof(*v)) == 0;
	}
	free(exact);
	free(got);
	buf_free(&out);
	return same;
}

static void test_widths(void)
{
	static uint64_t v[1000];
	size_t bytes, wrong = 0;

	for (unsigned width = 0; width <= 64; width++)
		for (size_t n = 1; n < 300; n += n < 140 ? 1 : 37) {
			uint64_t mask = width ? ~0ull >> (64 - width) : 0;

			for (size_t i = 0; i < n; i++)
				v[i] = (next() & mask) + (width < 60 ? 12345678901u : 0);
			wrong += !back(v, n, &bytes);
			/* With outliers: one in 50 needs all bits. */
			for (size_t i = 0; i < n; i += 50)
				v[i] = next();
			wrong += !back(v, n, &bytes);
		}
	is_u64(wrong, 0, "65 widths, 1 to 299 values, with and without outliers");
	v[0] = UINT64_MAX;
	v[1] = 0;
	ok(back(v, 2, &bytes), "the extremes beside each other");
	ok(back(v, 0, &bytes) && bytes == 0, "nothing packs to nothing");
}

static void test_size(void)
{
	static uint64_t v[1280];
	size_t bytes;

	for (size_t i = 0; i < 1280; i++)
		v[i] = 1000 + (next() & 1023);
	ok(back(v, 1280, &bytes), "10 bits above a base");
	ok(bytes <= 10 * (160 + 4), "take 10 bits each and 4 bytes a group: %zu", bytes);
	v[77] = 5000000000u;
	ok(back(v, 1280, &bytes), "one sync of seconds among them");
	ok(bytes <= 10 * (160 + 4) + 8, "widens nothing: %zu", bytes);
	ok(back(v, 16, &bytes) && bytes <= 4 + 20, "a short group takes only its own bits: %zu",
	   bytes);
}

static void test_hostile(void)
{
	static uint64_t v[300], got[512];
	struct buf out = { 0 };
	size_t accepted_wrong_n = 0;

	for (size_t i = 0; i < 300; i++)
		v[i] = next() >> (next() & 63);
	forpack_put(&out, v, 300);
	for (size_t cut = 0; cut < out.n; cut++)
		accepted_wrong_n += forpack_get((unsigned char *)out.p, cut, got, 300);
	accepted_wrong_n += forpack_get((unsigned char *)out.p, out.n, got, 299 - 128);
	is_u64(accepted_wrong_n, 0, "cut short or asked for fewer groups it is refused");
	for (size_t i = 0; i < out.n; i++)
		for (int bit = 0; bit < 8; bit++) {
			out.p[i] ^= (char)(1 << bit);
			forpack_get((unsigned char *)out.p, out.n, got, 300);
			out.p[i] ^= (char)(1 << bit);
		}
	ok(forpack_get((unsigned char *)out.p, out.n, got, 300) && !memcmp(got, v, sizeof(v)),
	   "any bit may flip and flip back");
	out.p[0] = 57;
	ok(!forpack_get((unsigned char *)out.p, out.n, got, 300), "a width over 56 is refused");
	buf_free(&out);
}

int main(void)
{
	test_widths();
	test_size();
	test_hostile();
	return tap_done();
}
