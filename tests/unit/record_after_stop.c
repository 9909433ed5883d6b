/* SPDX-License-Identifier: Apache-2.0 */
/* What of a program is recorded while probes are being detached, and it goes on. */
#include "tests/tap.h"

#include "lib/record/after_stop.h"

int main(void)
{
	static const struct {
		const char *name;
		uint16_t op;
		unsigned depth;
		int64_t start_ns, end_ns;
		bool dropped;
	} rows[] = {
		{ "a wait that began before", OP_SCHED_OFFCPU, 0, 90, 130, false },
		{ "a wait that began later", OP_SCHED_OFFCPU, 0, 110, 130, true },
		{ "a wait in a call that is open", OP_SCHED_OFFCPU, 1, 110, 130, false },
		{ "a sample", OP_CPU_SAMPLE, 0, 110, 110, true },
		{ "a call that was open", OP_CUDA_STREAM_SYNC, 0, 90, 130, false },
		{ "a call that came meanwhile", OP_CUDA_STREAM_SYNC, 0, 101, 130, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct event ev = { .op = rows[i].op,
				    .depth = (uint8_t)rows[i].depth,
				    .end_ns = rows[i].end_ns,
				    .dur_ns = (uint64_t)(rows[i].end_ns - rows[i].start_ns) };

		ok(after_stop_drops(100, &ev) == rows[i].dropped, "%s: %s", rows[i].name,
		   rows[i].dropped ? "dropped" : "recorded");
		ok(!after_stop_drops(0, &ev), "%s: recorded as long as probes are there",
		   rows[i].name);
	}
	return done_testing();
}
