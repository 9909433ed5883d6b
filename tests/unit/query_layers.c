/* SPDX-License-Identifier: Apache-2.0 */
/* Calls counted once over the layers: which of a thread's nested calls count, in the order of their
 * ends. */
#include "lib/query/layers.h"

#include <stdio.h>
#include <string.h>

#include "tests/tap.h"

static char counted[512], folded[512];

static bool count(void *ctx, const struct layer_call *c)
{
	size_t n = strlen(counted);

	snprintf(counted + n, sizeof(counted) - n, "%u ", c->slot);
	return true;
}

static void fold(void *ctx, const struct layer_call *inner, const struct layer_call *outer)
{
	size_t n = strlen(folded);

	snprintf(folded + n, sizeof(folded) - n, "%u<%u ", inner->slot, outer->slot);
}

/* A call's slot, class, depth and start; a depth of 99 ends the row. */
struct step {
	unsigned slot, class, depth;
	int64_t start_ns;
};

static void rows(void)
{
	static const struct {
		const char *what;
		struct step step[6];
		const char *counted, *folded;
	} cases[] = {
		{ "a call alone", { { 1, 1, 0, 10 }, { .depth = 99 } }, "1 ", "" },
		{ "a launch in a launch",
		  { { 2, 1, 1, 11 }, { 1, 1, 0, 10 }, { .depth = 99 } },
		  "1 ",
		  "2<1 " },
		{ "two of one class in one call",
		  { { 2, 1, 1, 11 }, { 3, 1, 1, 15 }, { 1, 1, 0, 10 }, { .depth = 99 } },
		  "1 ",
		  "2<1 3<1 " },
		{ "in a call of another class",
		  { { 2, 1, 1, 11 }, { 1, 7, 0, 10 }, { .depth = 99 } },
		  "2 1 ",
		  "" },
		{ "in one of its class, around one of another",
		  { { 3, 1, 2, 12 }, { 2, 7, 1, 11 }, { 1, 1, 0, 10 }, { .depth = 99 } },
		  "2 1 ",
		  "3<1 " },
		{ "three layers",
		  { { 3, 1, 2, 12 }, { 2, 1, 1, 11 }, { 1, 1, 0, 10 }, { .depth = 99 } },
		  "1 ",
		  "3<2 2<1 " },
		{ "what was around it is lost",
		  { { 2, 1, 1, 11 }, { 1, 1, 0, 30 }, { .depth = 99 } },
		  "2 1 ",
		  "" },
		{ "what is around it never ends", { { 2, 1, 1, 11 }, { .depth = 99 } }, "2 ", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct layers l = { .count = count, .fold = fold };
		bool good = true;

		counted[0] = folded[0] = 0;
		for (const struct step *s = cases[i].step; s->depth != 99; s++)
			good &= layers_add(&l, 3,
					   &(struct layer_call){ .slot = s->slot,
								 .class = s->class,
								 .depth = s->depth,
								 .start_ns = s->start_ns });
		good &= layers_flush(&l);
		layers_free(&l);
		ok(good, "%s: room for all", cases[i].what);
		is_str(counted, cases[i].counted, "%s: what counts", cases[i].what);
		is_str(folded, cases[i].folded, "%s: what is the same", cases[i].what);
	}
}

/* None is dropped, and none kept for ever, however many lie in one call. */
static void many(void)
{
	struct layers l = { .count = count };
	unsigned n = 0;
	bool good = true;

	counted[0] = 0;
	for (unsigned i = 0; i < 80; i++)
		good &= layers_add(&l, 0,
				   &(struct layer_call){
					   .slot = 1, .class = 1, .depth = 1, .start_ns = 10 + i });
	good &= layers_add(&l, 0, &(struct layer_call){ .slot = 2, .class = 1 });
	for (const char *p = counted; *p; p++)
		n += *p == ' ';
	ok(good, "80 calls in one");
	is_u64(n, 80 - 64 + 1, "those beyond the room count themselves, and the outer one");
	layers_free(&l);
}

int main(void)
{
	rows();
	many();
	return tap_done();
}
