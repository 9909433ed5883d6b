/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a flight recorder is woken by, as people write it.
 */
#include "tests/tap.h"

#include "lib/filter/trigger.h"

int main(void)
{
	static const struct {
		const char *text;
		int rc;
		uint16_t op;	  /* that has a limit then, 0 none; */
		uint64_t slow_ns; /* it */
		uint64_t idle_ns;
		bool errors;
	} table[] = {
		{ "cudaMalloc>50ms", 0, OP_CUDA_MALLOC, 50000000, 0, false },
		{ "cuda*>1s", 0, OP_CUDA_MALLOC, 1000000000, 0, false },
		{ "idle>20s", 0, 0, 0, 20000000000, false },
		{ "error", 0, 0, 0, 0, true },
		{ "idle>0s", ERR_USAGE, 0, 0, 0, false },
		{ "idle", ERR_USAGE, 0, 0, 0, false },
		{ "idle>", ERR_USAGE, 0, 0, 0, false },
		{ ">1s", ERR_USAGE, 0, 0, 0, false },
		{ "cudaNoSuch>1s", ERR_USAGE, 0, 0, 0, false },
	};
	struct filter_trigger both = { 0 };

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct filter_trigger t = { 0 };
		struct err e = { 0 };

		is_int(filter_trigger_add(&t, table[i].text, &e), table[i].rc, "%s: %s",
		       table[i].text, table[i].rc ? "refused" : "taken");
		is_u64(t.idle_ns, table[i].idle_ns, "%s: idle", table[i].text);
		ok(t.errors == table[i].errors, "%s: errors", table[i].text);
		ok(!table[i].op || (t.slow_ns && t.slow_ns[table[i].op] == table[i].slow_ns),
		   "%s: the op's limit", table[i].text);
		filter_trigger_free(&t);
	}
	ok(!filter_trigger_add(&both, "idle>5s", NULL) &&
		   !filter_trigger_add(&both, "idle>2s", NULL) &&
		   !filter_trigger_add(&both, "idle>9s", NULL) && both.idle_ns == 2000000000,
	   "of several the shortest");
	filter_trigger_free(&both);
	return done_testing();
}
