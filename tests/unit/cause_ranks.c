/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ranks of one command that take the CPU from each other: the culprit of each is the other one.
 */
#include "tests/tap.h"

#include "tests/unit/kinds.h"

#define EVERY  (10 * MS)
#define LENGTH (4000 * MS)

int main(void)
{
	struct stage s = stage_new();
	struct actor rank[2];
	struct kinds_run p;
	unsigned n = 0;

	for (unsigned i = 0; i < 2; i++)
		rank[i] = stage_actor(&s, 100 + i, 100 + i, 1, "train");
	for (int64_t t = 0; t < LENGTH; t += EVERY) {
		for (unsigned i = 0; i < 2; i++) {
			int64_t at = t + i * 5 * MS;

			stage_call(&s, rank[i], OP_CUDA_LAUNCH, 0, at, at + 10 * US);
			stage_offcpu(&s, rank[i], 0, at + MS, at + 3 * MS, 2 * MS, 0);
			stage_occupied(&s, rank[!i], 0, at + MS, at + 3 * MS);
		}
	}
	analyze(&s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *f = &p.list.v.v[i];

		if (!bytes_equal(f->kind, bytes_of("cpu-preempted")))
			continue;
		n++;
		is_u64(f->culprit.pid, 201 - f->victim.pid, "%u: the culprit is the other rank",
		       f->victim.pid);
		is_u64(f->culprit.pids.n, 1, "and no more");
	}
	is_u64(n, 2, "each of them is told");
	chain_list_free(&p.list);
	stage_free(&s);
	return tap_done();
}
