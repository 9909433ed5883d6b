/* SPDX-License-Identifier: Apache-2.0 */
/*
 * realcudart: calls NVIDIA's own runtime library, given by --real or found under /usr/local/cuda, N
 * times per function. Without a GPU driver the calls return an error (35) after their real entry
 * code, which is all that attach and count tests need. Exits 77 when there is no such library.
 */
#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>

#include "tests/double/work/work.h"

static const char *find_library(void)
{
	static glob_t found;

	if (glob("/usr/local/cuda*/lib*/libcudart.so.*", 0, NULL, &found) || !found.gl_pathc)
		return NULL;
	return found.gl_pathv[0];
}

/* Below NVIDIA's runtime belongs NVIDIA's driver or none, never the double's. */
static void leave_the_double(char **argv)
{
	if (!getenv("DOUBLE"))
		return;
	unsetenv("DOUBLE");
	unsetenv("LD_LIBRARY_PATH");
	work_exec_self(argv);
}

int main(int argc, char **argv)
{
	static struct work_cuda cuda;
	const char *lib = NULL;
	uint64_t count = 1000, wall;
	const struct work_option options[] = {
		{ "real", WORK_TEXT, &lib,
		  "path of the library [/usr/local/cuda*/lib*/libcudart.so.*]" },
		{ "count", WORK_U64, &count, "calls per function [1000]" },
		{ 0 },
	};
	struct dim3 one = { 1, 1, 1 };
	char bytes[64] = "";
	void *p = NULL;
	int rc = 0;
	FILE *f;

	leave_the_double(argv);
	work_options(argc, argv, "Calls NVIDIA's runtime.", options);
	if (!lib)
		lib = find_library();
	if (!lib || !dlopen(lib, RTLD_NOW)) {
		fprintf(stderr, "realcudart: no NVIDIA runtime library here\n");
		return 77;
	}
	work_cuda_open(&cuda, lib);
	wall = work_now();
	for (uint64_t i = 0; i < count; i++) {
		rc = cuda.cudaMalloc(&p, 64);
		cuda.cudaMemcpy(bytes, bytes, sizeof bytes, 0);
		cuda.cudaMemcpyAsync(bytes, bytes, sizeof bytes, 0, NULL);
		cuda.cudaMemset(p, 0, 64);
		cuda.cudaLaunchKernel("no_such_kernel", one, one, NULL, 0, NULL);
		cuda.cudaStreamSynchronize(NULL);
		cuda.cudaDeviceSynchronize();
		cuda.cudaFree(p);
	}
	wall = work_now() - wall;
	f = work_truth_open("realcudart");
	fprintf(f, ",\"library\":\"%s\",\"malloc_returns\":%d,\"wall_ns\":%llu,\"ops\":{", lib, rc,
		(unsigned long long)wall);
	for (int i = 0; i < 8; i++)
		fprintf(f, "%s\"%s\":%llu", i ? "," : "",
			(const char *[]){ "cudaMalloc", "cudaMemcpy", "cudaMemcpyAsync",
					  "cudaMemset", "cudaLaunchKernel", "cudaStreamSynchronize",
					  "cudaDeviceSynchronize", "cudaFree" }[i],
			(unsigned long long)count);
	fprintf(f, "}");
	work_truth_close(f);
	return 0;
}
