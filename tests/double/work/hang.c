/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang: makes some good calls and then enters a sync that never returns. The truth is printed
 * before it does; end the process by a signal.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/double/work/work.h"

static struct work_cuda cuda;

__attribute__((noinline)) static int wait_for_ever(const char *how, void *event)
{
	if (!strcmp(how, "device"))
		return cuda.cudaDeviceSynchronize();
	if (!strcmp(how, "event"))
		return cuda.cudaEventSynchronize(event);
	return cuda.cudaStreamSynchronize(NULL);
}

int main(int argc, char **argv)
{
	const char *how = "stream", *name;
	uint64_t count = 100;
	const struct work_option options[] = {
		{ "count", WORK_U64, &count, "good launches and stream syncs first [100]" },
		{ "in", WORK_TEXT, &how, "stream, device or event: the sync that hangs [stream]" },
		{ 0 },
	};
	struct dim3 one = { 1, 1, 1 };
	void *event = NULL;
	char text[32];
	FILE *f;

	work_options(argc, argv, "Enters a sync that never returns.", options);
	snprintf(text, sizeof text, "%llu", (unsigned long long)count);
	setenv("DOUBLE_NEVER_AFTER", text, 1);
	work_cuda_open(&cuda, NULL);
	for (uint64_t i = 0; i < count; i++) {
		cuda.cudaLaunchKernel("step", one, one, NULL, 0, NULL);
		cuda.cudaStreamSynchronize(NULL);
	}
	cuda.cudaLaunchKernel("never_ends", one, one, NULL, 0, NULL);
	if (!strcmp(how, "event")) {
		cuda.cudaEventCreate(&event);
		cuda.cudaEventRecord(event, NULL);
	}
	name = !strcmp(how, "device")  ? "cudaDeviceSynchronize"
	       : !strcmp(how, "event") ? "cudaEventSynchronize"
				       : "cudaStreamSynchronize";
	f = work_truth_open("hang");
	fprintf(f,
		",\"hangs_in\":\"%s\",\"entered_ns\":%llu,\"ops\":{\"cudaLaunchKernel\":%llu,"
		"\"cudaStreamSynchronize\":%llu}",
		name, (unsigned long long)work_now(), (unsigned long long)(count + 1),
		(unsigned long long)count);
	work_truth_close(f);
	return wait_for_ever(how, event);
}
