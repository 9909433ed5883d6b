/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules: loads libraries with kernels (module.c) one after the other, launches their kernels, and
 * closes each before the next, which then lies where it lay. With --asked each launch and each
 * close waits for a line on standard input, and a line on standard output says that the library is
 * loaded, or launched from. With --nvtx it names a range and a mark by texts that nothing has read.
 * Exits 77 when there is no such runtime.
 */
#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "tests/double/nvtx.h"
#include "tests/double/work/work.h"

static const char *runtime = "libcudart.so.13";
static struct work_list modules;
static uint64_t count = 10;
static bool real, asked, nvtx;

static void find_real(char **argv)
{
	static glob_t found;

	/* Below NVIDIA's runtime belongs NVIDIA's driver or none, never the double's. */
	if (getenv("DOUBLE") || getenv("LD_LIBRARY_PATH")) {
		unsetenv("DOUBLE");
		unsetenv("LD_LIBRARY_PATH");
		work_exec_self(argv);
	}
	if (glob("/usr/local/cuda*/lib*/libcudart.so.1[0-9]", 0, NULL, &found) || !found.gl_pathc) {
		fprintf(stderr, "modules: no NVIDIA runtime library here\n");
		exit(77);
	}
	runtime = found.gl_pathv[found.gl_pathc - 1];
}

static void await_line(const char *done)
{
	printf("%s\n", done);
	fflush(stdout);
	for (int c = getchar(); c != '\n'; c = getchar())
		if (c == EOF)
			work_die("nobody asks any more");
}

static void name_ranges(void *module)
{
	const char *(*text)(unsigned) = (const char *(*)(unsigned))dlsym(module, "module_text");
	void *lib = dlopen("libnvToolsExt.so.1", RTLD_NOW);
	int (*push)(const char *) =
		lib ? (int (*)(const char *))dlsym(lib, "nvtxRangePushA") : NULL;
	int (*push_wide)(const wchar_t *) =
		lib ? (int (*)(const wchar_t *))dlsym(lib, "nvtxRangePushW") : NULL;
	int (*pop)(void) = lib ? (int (*)(void))dlsym(lib, "nvtxRangePop") : NULL;
	void (*mark)(const struct nvtx_attributes *) =
		lib ? (void (*)(const struct nvtx_attributes *))dlsym(lib, "nvtxMarkEx") : NULL;
	struct nvtx_attributes a = { .version = 3,
				     .size = sizeof(a),
				     .message_type = NVTX_MESSAGE_ASCII };

	if (!push || !push_wide || !pop || !mark)
		work_die("no NVTX library");
	push(text(0));
	pop();
	push_wide((const wchar_t *)text(2));
	pop();
	a.message = text(1);
	mark(&a);
}

int main(int argc, char **argv)
{
	const struct work_option options[] = {
		{ "module", WORK_LIST, &modules,
		  "path of a library; several: one after the other" },
		{ "count", WORK_U64, &count, "launches of a library's first kernel [10]" },
		{ "real", WORK_FLAG, &real, "with NVIDIA's runtime, of /usr/local/cuda*" },
		{ "asked", WORK_FLAG, &asked,
		  "lines on standard input for the launches of each, and its end" },
		{ "nvtx", WORK_FLAG, &nvtx, "name ranges, too" },
		{ 0 },
	};
	uint64_t where[WORK_LIST_MAX];
	FILE *f;

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--real") == 0)
			find_real(argv);
	work_options(argc, argv, "Loads libraries with kernels, and launches these.", options);
	if (!dlopen(runtime, RTLD_NOW | RTLD_GLOBAL))
		work_die(dlerror());
	for (size_t i = 0; i < modules.n; i++) {
		void *m = dlopen(modules.v[i], RTLD_NOW | RTLD_LOCAL);
		const void *(*launch)(unsigned) =
			m ? (const void *(*)(unsigned))dlsym(m, "module_launch") : NULL;

		if (!launch)
			work_die(dlerror());
		if (asked)
			await_line("loaded");
		where[i] = (uint64_t)(uintptr_t)launch((unsigned)count);
		if (nvtx)
			name_ranges(m);
		if (asked)
			await_line("launched");
		dlclose(m);
	}
	f = work_truth_open("modules");
	fprintf(f, ",\"first\":[");
	for (size_t i = 0; i < modules.n; i++)
		fprintf(f, "%s%llu", i ? "," : "", (unsigned long long)where[i]);
	fprintf(f, "]");
	work_truth_close(f);
	return 0;
}
