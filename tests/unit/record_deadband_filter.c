/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples are left out: series of readings against what is said of them, kind by kind. */
#include "lib/record/deadband_filter.h"
#include "tests/tap.h"

static struct record sample(uint32_t metric, uint32_t process, int64_t second, double value)
{
	struct record r = { .kind = RECORD_SAMPLE };

	REC_SET(&r, SAMPLE, time_ns, second * 1000000000);
	REC_SET(&r, SAMPLE, metric, metric);
	REC_SET(&r, SAMPLE, value, value);
	if (process)
		REC_SET(&r, SAMPLE, process, process);
	return r;
}

static void series(const char *name, double deadband, uint64_t heartbeat_s, uint32_t metric,
		   const double *values, const char *said)
{
	struct deadband t = { .on = true,
			      .deadband = deadband,
			      .heartbeat_ns = heartbeat_s * 1000000000 };
	char got[32] = "";
	size_t n = strlen(said), kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct record r = sample(metric, 0, (int64_t)i, values[i]);

		got[i] = deadband_wants(&t, &r) ? 'x' : '.';
		kept += got[i] == 'x';
	}
	is_str(got, said, "%s", name);
	ok(t.said == kept && t.left_out == n - kept, "%s: counted", name);
	deadband_free(&t);
}

int main(void)
{
	struct deadband t = { .on = true, .deadband = 10 }, off = { 0 };
	struct record r = { .kind = RECORD_NAME };

	series("within a tenth of what was said last, slowly away", 10, 0, METRIC_MEM_USED,
	       (double[]){ 100, 105, 109, 110, 111, 115, 122, 123, 100 }, "x...x..xx");
	series("percent are points", 10, 0, METRIC_CPU_BUSY, (double[]){ 1, 5, 11, 12, 2, 1 },
	       "x..x.x");
	series("zero and anything else", 10, 0, METRIC_SWAP_USED, (double[]){ 0, 0, 1, 0 }, "x.xx");
	series("no deadband: any change", 0, 60, METRIC_LOAD_1, (double[]){ 1, 1, 1.01, 1.01 },
	       "x.x.");
	series("a heartbeat", 50, 3, METRIC_LOAD_1, (double[]){ 1, 1, 1, 1, 1, 1, 1, 1 },
	       "x..x..x.");
	series("a counter: how fast it grows", 10, 0, METRIC_PROC_CPU_NS,
	       (double[]){ 0, 1e9, 2e9, 3.05e9, 4e9, 4e9, 4e9, 4e9 }, "xx...xx.");
	series("a counter that stands still", 10, 0, METRIC_STEAL_NS, (double[]){ 7, 7, 7, 7, 8 },
	       "xx..x");
	series("a counter that begins anew", 10, 0, METRIC_PROC_CPU_NS,
	       (double[]){ 10, 20, 30, 1, 11, 21 }, "xx.xx.");
	series("errors are never left out", 1000, 0, METRIC_GPU_XID, (double[]){ 79, 79, 79 },
	       "xxx");

	for (uint32_t process = 1; process < 200; process++) {
		r = sample(METRIC_PROC_RSS, process, 1, 100);
		deadband_wants(&t, &r);
	}
	ok(t.said == 199 && t.left_out == 0, "each process is a subject of its own");
	r = sample(METRIC_PROC_RSS, 77, 2, 101);
	ok(!deadband_wants(&t, &r), "and remembered");
	deadband_forget(&t);
	ok(deadband_wants(&t, &r), "until all is forgotten");
	ok(deadband_wants(&off, &r) && deadband_wants(&off, &r), "off: everything is said");
	r.kind = RECORD_NAME;
	ok(deadband_wants(&t, &r) && deadband_wants(&t, &r), "other records are none of it");
	/* Those of weeks. */
	for (uint32_t process = 1; process <= 100000; process++) {
		r = sample(METRIC_PROC_RSS, process, 3, 100);
		deadband_wants(&t, &r);
	}
	r = sample(METRIC_PROC_RSS, 100000, 4, 101);
	ok(!deadband_wants(&t, &r), "however many processes there were, that of now is remembered");
	deadband_free(&t);
	return done_testing();
}
