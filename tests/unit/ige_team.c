/* SPDX-License-Identifier: Apache-2.0 */
/* Columns encoded by several threads are those that one makes, byte for byte, block after block, and in their order. */
#include "lib/ige/team.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "tests/tap.h"

#define ROWS 20000

static uint64_t values[IGE_TEAM_COLUMNS][ROWS];

/* One of each kind: all alike, rising, few values, noise. */
static void fill(uint64_t seed)
{
	for (unsigned k = 0; k < IGE_TEAM_COLUMNS; k++)
		for (size_t i = 0; i < ROWS; i++) {
			uint64_t noise = hash_u64(seed ^ (uint64_t)k << 32 ^ i);

			values[k][i] = k % 4 == 0   ? seed
				       : k % 4 == 1 ? i * 1000 + noise % 1000
				       : k % 4 == 2 ? noise % 5
						    : noise >> k;
		}
}

static bool same(struct ige_team *t, struct ige_builder *together, struct ige_builder *alone,
		 unsigned ncolumns, size_t n)
{
	struct ige_integers columns[IGE_TEAM_COLUMNS + 1];

	for (unsigned k = 0; k < ncolumns; k++)
		columns[k] =
			(struct ige_integers){ (uint16_t)(k + 1), values[k % IGE_TEAM_COLUMNS], n };
	ige_builder_reset(together);
	ige_builder_reset(alone);
	ige_team_integers(t, together, columns, ncolumns);
	ige_team_integers(NULL, alone, columns, ncolumns);
	return !together->data.failed && together->ncol == ncolumns && alone->ncol == ncolumns &&
	       together->data.n == alone->data.n && together->directory.n == alone->directory.n &&
	       !memcmp(together->data.p, alone->data.p, alone->data.n) &&
	       !memcmp(together->directory.p, alone->directory.p, alone->directory.n);
}

static void blocks(struct ige_team *t, bool small, const char *who)
{
	struct ige_builder together = { .small = small }, alone = { .small = small };
	unsigned bad = 0;

	for (unsigned i = 0; i < 12; i++) {
		fill(i);
		bad += !same(t, &together, &alone, 1 + i % IGE_TEAM_COLUMNS,
			     i % 3 ? ROWS - i : ROWS / 4);
	}
	is_u64(bad, 0, "%s: blocks that differ, %s", who, small ? "in the smallest form" : "plain");
	ok(same(t, &together, &alone, IGE_TEAM_COLUMNS + 1, ROWS),
	   "%s: more columns than it takes at a time", who);
	ige_builder_free(&together);
	ige_builder_free(&alone);
}

int main(void)
{
	struct ige_team *t = ige_team_new();
	cpu_set_t one, before;

	ok(t != NULL, "there is a team");
	blocks(t, true, "a team");
	blocks(t, false, "a team");
	ige_team_free(t);

	/* With one processor nobody else is called. */
	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(before), &before))
		abort();
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &before))
			CPU_SET(i, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		abort();
	t = ige_team_new();
	blocks(t, true, "one processor");
	ige_team_free(t);
	if (sched_setaffinity(0, sizeof(before), &before))
		abort();

	ige_team_free(ige_team_new());
	ige_team_free(NULL);
	ok(true, "who was never asked, or is not there, goes away");
	return tap_done();
}
