/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The books of calls that somebody took time from, beyond what there is room for: a call is in them as it was and as it
 * would have been, or not at all.
 */
#include "tests/tap.h"

#include "lib/cause/tally.h"
#include "tests/unit/events.h"

#define CLASSES 400
#define CALLS	600 /* of each, no two of one length */

static void calls(struct tally *t, struct actor v, uint32_t who, uint32_t class_id, double taken)
{
	const struct tally_when idle = { .idle = true };

	for (uint64_t i = CALLS; i > 0; i--) {
		struct event ev = { .op = OP_CUDA_LAUNCH, .dur_ns = i * i * 100 };
		struct parts parts = { 0 };
		struct line_piece p = { .ev = &ev,
					.op = op_builtin(OP_CUDA_LAUNCH),
					.thread = v.thread,
					.process = v.process,
					.end_ns = (int64_t)ev.dur_ns,
					.parts = &parts };

		parts_add(&parts, PART_PREEMPTED, who, (uint64_t)(taken * (double)ev.dur_ns));
		if (!tally_hit(t, &p, class_id, 0, &idle))
			abort();
	}
}

int main(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     hog = stage_actor(&s, 200, 200, 1, "hog");
	struct culprits culprits = { .w = s.w };
	struct tally t = { .culprits = &culprits };
	uint32_t who = culprit_task(&culprits, hog.thread, v.thread, v.process, 0);
	uint64_t n[3] = { 0 };

	if (!who || !tally_thread(&t, v.process, v.thread))
		abort();
	for (uint32_t i = 0; i < CLASSES; i++)
		calls(&t, v, who, i, 0.3);
	for (uint32_t i = 0; i < CLASSES; i++)
		calls(&t, v, who, i, 0.99);
	for (size_t i = 0; i < t.cells.n; i++) {
		for (unsigned k = 0; k < 3; k++)
			n[k] += t.cells.v[i].n[k];
	}
	is_u64(t.cells.n, TALLY_CELLS_MAX, "more calls than there is room for");
	ok(n[0] > 0 && n[0] < 2 * CLASSES * CALLS, "some are counted: %" PRIu64, n[0]);
	is_u64(n[1], n[0], "as many without all that was taken");
	is_u64(n[2], n[0], "as many without what is sure");
	tally_free(&t);
	culprits_free(&culprits);
	stage_free(&s);
	return tap_done();
}
