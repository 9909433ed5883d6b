/* SPDX-License-Identifier: Apache-2.0 */
/* A fixed piece of integer work, said before everything else whatever figures are asked for: a slow
 * phase of the machine shows in it. */
#include "tests/bench/bench.h"

int main(void)
{
	printf("bench: calibration_ns %.4g ns\n", bench_calibrate_ns());
	return 0;
}
