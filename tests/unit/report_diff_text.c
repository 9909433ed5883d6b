/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two recordings side by side: a cause that only one of them could show is not new.
 */
#include "lib/report/diff_text.h"

#include "tests/tap.h"

static void is_said(struct diff *d, bool before, const char *says, const char *never)
{
	struct buf text = { 0 };

	d->host_recorded[DIFF_BEFORE] = before;
	diff_text(&text, d, 0, 100, false);
	like(buf_text(&text), says, "the host %s before",
	     before ? "was recorded" : "was not recorded");
	ok(!strstr(buf_text(&text), never), "and not \"%s\"", never);
	buf_free(&text);
}

int main(void)
{
	struct diff d = { .name = { "a.ige", "b.ige" },
			  .wall_ns = { 1000000000, 1000000000 },
			  .events = { 100, 100 },
			  .host_recorded = { true, true } };
	struct diff_cause c = { .kind = bytes_of("cpu-preempted"), .worse = true };

	c.side[DIFF_AFTER] = (struct diff_cause_side){ .known = true,
						       .severity = 3,
						       .lost_ns = 100000000,
						       .count = 10,
						       .lost_per_s = 1e8,
						       .summary = bytes_of("hog took the CPU") };
	ok(vec_push(&d.causes, c), "a cause of the second");
	is_said(&d, true, "New: hog took the CPU.\n", "What the host took");
	is_said(&d, false, "What the host took was not recorded in both: causes cannot", "New: ");
	vec_free(&d.causes);
	return tap_done();
}
