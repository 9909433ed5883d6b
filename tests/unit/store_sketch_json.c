/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sketches travel as JSON without losing a count, merge into the sketch of the whole, and texts
 * that are none are refused.
 */
#include <stdio.h>
#include <string.h>

#include "lib/store/sketch_json.h"
#include "tests/tap.h"

static bool travel(const struct sketch *from, struct sketch *to)
{
	struct buf text = { 0 };
	struct json v = JSON_NONE;
	struct jsonw j;
	struct err e;
	bool good;

	jsonw_init(&j, &text, false);
	sketch_json_write(&j, from);
	good = !json_parse(buf_bytes(&text), &v, &e) && !sketch_json_read(to, v, &e);
	json_free(v);
	buf_free(&text);
	return good;
}

static bool refused(const char *text)
{
	struct json v = JSON_NONE;
	struct sketch s = { 0 };
	struct err e;
	bool is = !json_parse(bytes_of(text), &v, &e) && sketch_json_read(&s, v, &e) == ERR_DAMAGED;

	json_free(v);
	sketch_free(&s);
	return is;
}

int main(void)
{
	struct sketch half[2] = { { 0 } }, whole = { 0 }, there[2] = { { 0 } }, none = { 0 },
		      nothing = { 0 };
	static const double quantiles[] = { 0, 0.01, 0.5, 0.95, 0.99, 1 };
	uint64_t x = 88172645463325252ull;
	bool same = true, added = true;

	for (unsigned i = 0; i < 20000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		added &= sketch_add(&half[i & 1], x >> (20 + x % 40)) &&
			 sketch_add(&whole, x >> (20 + x % 40));
	}
	ok(added, "twenty thousand values");
	ok(travel(&half[0], &there[0]) && travel(&half[1], &there[1]), "both halves travel");
	ok(there[0].count == half[0].count && there[0].sum == half[0].sum &&
		   there[0].min == half[0].min && there[0].max == half[0].max,
	   "count, sum, smallest and largest arrive");
	ok(sketch_merge(&there[0], &there[1]), "they merge");
	for (unsigned i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++)
		same &= sketch_quantile(&there[0], quantiles[i]) ==
			sketch_quantile(&whole, quantiles[i]);
	ok(same, "into the sketch of the whole");
	ok(travel(&none, &nothing) && nothing.count == 0, "an empty one is empty");
	ok(refused("{}"), "an object of nothing");
	ok(refused("[1,2]"), "an array");
	ok(refused("{\"sub\":64,\"min\":0,\"max\":1,\"sum\":\"1\",\"buckets\":[1,1]}"),
	   "other buckets");
	ok(refused("{\"sub\":128,\"min\":2,\"max\":1,\"sum\":\"1\",\"buckets\":[1,1]}"),
	   "more than the most");
	ok(refused("{\"sub\":128,\"min\":0,\"max\":1,\"sum\":\"1\",\"buckets\":[1]}"),
	   "a bucket without its count");
	ok(refused("{\"sub\":128,\"min\":0,\"max\":1,\"sum\":\"1\",\"buckets\":[2,1,1,1]}"),
	   "buckets out of order");
	ok(refused("{\"sub\":128,\"min\":0,\"max\":1,\"sum\":\"1\",\"buckets\":[7424,1]}"),
	   "a bucket that is none");
	ok(refused("{\"sub\":128,\"min\":0,\"max\":1,\"sum\":\"1\",\"buckets\":[1,5e9]}"),
	   "a count that does not fit");
	ok(refused("{\"sub\":128,\"min\":0,\"max\":1,\"sum\":\"-1\",\"buckets\":[1,1]}"),
	   "a negative sum");
	ok(refused("{\"sub\":128,\"min\":0,\"max\":1,\"sum\":1,\"buckets\":[1,1]}"),
	   "a sum that is a number");
	ok(refused("{\"sub\":128,\"min\":0.5,\"max\":1,\"sum\":\"1\",\"buckets\":[1,1]}"),
	   "half a nanosecond");
	for (unsigned i = 0; i < 2; i++) {
		sketch_free(&half[i]);
		sketch_free(&there[i]);
	}
	sketch_free(&whole);
	sketch_free(&nothing);
	return tap_done();
}
