/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes go on in children that share their memory: those that are called as they are. */
#include "tests/tap.h"

#include "lib/world/forks.h"
#include "tests/unit/events.h"

int main(void)
{
	static const struct {
		const char *name, *child;
		unsigned children;
		bool forks;
	} rows[] = {
		{ "three children that execute nothing else", "python", 3, true },
		{ "two of them", "python", 2, false },
		{ "three that execute something else", "nvidia-smi", 3, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stage s = stage_new();
		struct actor own = stage_actor(&s, 100, 100, 1, "python");

		for (unsigned k = 0; k < rows[i].children; k++)
			stage_actor(&s, 200 + k, 200 + k, 100, rows[i].child);
		for (unsigned k = 0; k < 3; k++) /* another one's */
			stage_actor(&s, 300 + k, 300 + k, 7, "python");
		is_int(world_forks(s.w, own.process), rows[i].forks, "%s", rows[i].name);
		is_int(world_forks(s.w, 0), 0, "nobody forks");
		stage_free(&s);
	}
	return tap_done();
}
