/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target pods over mutations of lists. */
#include "tests/fuzz/pods.c"

#include "tests/fuzz/bytes.h"
#include "tests/tap.h"
#include "tests/unit/kubelet_message.h"

static void seed(struct buf *b)
{
	static const char *const resources[] = { "nvidia.com/gpu", "nvidia.com/mig-1g.10gb",
						 "nic" };
	static const char *const ids[] = { "GPU-1", "GPU-2", "GPU-2::3", "MIG-1", "nvidia0" };

	for (unsigned pods = replay_below(4); pods > 0; pods--) {
		struct buf containers = { 0 };

		for (unsigned n = replay_below(3); n > 0; n--)
			message_container(&containers, n % 2 ? "train" : "log",
					  resources[replay_below(3)], ids[replay_below(5)],
					  replay_below(2) ? ids[replay_below(5)] : NULL);
		message_pod(b, "ml", replay_below(2) ? "a" : "b", &containers);
		buf_free(&containers);
	}
}

int main(void)
{
	unsigned round;

	for (round = 0; round < REPLAY_ROUNDS; round++) {
		struct buf b = { 0 };

		seed(&b);
		for (unsigned m = replay_below(8); m > 0 && b.n; m--)
			replay_mutate(&b);
		LLVMFuzzerTestOneInput((const uint8_t *)b.p, b.n);
		buf_free(&b);
	}
	is_u64(round, REPLAY_ROUNDS, "mutated lists of pods");
	return tap_done();
}
