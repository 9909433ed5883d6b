/* SPDX-License-Identifier: Apache-2.0 */
/* What is lost to several is of their states, also where some of them have only one. */
#include "tests/tap.h"

#include "lib/account/lost_time.h"

int main(void)
{
	static const struct loss_state of[][2] = {
		{ { 100, PART_RUNQ }, { 0 } },
		{ { 150, PART_PREEMPTED }, { 0 } },
		{ { 20, PART_PREEMPTED }, { 10, PART_RUNQ } },
	};
	struct loss all = { 0 };

	for (unsigned i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		for (unsigned k = 0; k < 2; k++)
			loss_state_add(&all, of[i][k].part, of[i][k].ns);
	is_u64(loss_part_ns(&all, PART_PREEMPTED), 170, "while it was on the CPU");
	is_u64(loss_part_ns(&all, PART_RUNQ), 110, "when it had been woken");
	is_u64(loss_part_ns(&all, PART_SELF), 0, "nothing else");
	return tap_done();
}
