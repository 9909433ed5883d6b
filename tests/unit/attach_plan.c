/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attach plan: which names are which op, which bytes move the probe and which do not, one site
 * per address; and on the double's libraries where they are built.
 */
#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "lib/event/op.h"
#include "lib/attach/nvtx_rows.h"
#include "lib/attach/plan.h"
#include "lib/symbols/forward.h"
#include "tests/tap.h"

static const struct probe_spec *spec(const char *name)
{
	size_t n;
	const struct probe_spec *s = probe_specs(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(s[i].name, name) == 0)
			return &s[i];
	return NULL;
}

static void names(void)
{
	static const struct {
		const char *base, *name;
		bool matches;
	} cases[] = {
		{ "cudaMemcpyAsync", "cudaMemcpyAsync", true },
		{ "cudaMemcpyAsync", "cudaMemcpyAsync_ptsz", true },
		{ "cudaMemcpyAsync", "cudaMemcpyAsync_ptds", false },
		{ "cudaMemcpy", "cudaMemcpy_ptds", true },
		{ "cudaMemcpy", "cudaMemcpyAsync", false },
		{ "cuMemAlloc", "cuMemAlloc_v2", true },
		{ "cuMemAlloc", "cuMemAlloc_v9", true },
		{ "cuMemAlloc", "cuMemAlloc_v1", false },
		{ "cuMemAlloc", "cuMemAlloc_v10", false },
		{ "cuMemAlloc", "cuMemAlloc_v", false },
		{ "cuMemAlloc", "cuMemAllocManaged", false },
		{ "cuMemAlloc", "cuMemAll", false },
		{ "cuMemcpyHtoD", "cuMemcpyHtoD_v2_ptds", true },
		{ "cuMemcpyHtoD", "cuMemcpyHtoD_v2_ptsz", false },
		{ "cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2_ptsz", true },
		{ "cuLaunchKernel", "cuLaunchKernelEx", false },
		{ "cuLaunchKernel", "cuLaunchKernel_v2", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ok(probe_spec_matches(spec(cases[i].base), cases[i].name) == cases[i].matches,
		   "%s is%s %s", cases[i].name, cases[i].matches ? "" : " not", cases[i].base);
}

static void nvtx(void)
{
	static const struct {
		const char *name;
		bool row, returns;
		uint64_t cookie;
	} cases[] = {
		{ "nvtxRangePushA", true, false, NVTX_COOKIE(NVTX_PUSH, NVTX_NARROW, 0) },
		{ "nvtxDomainRangePop", true, false, NVTX_COOKIE(NVTX_POP, NVTX_NO_TEXT, 1) },
		{ "nvtxRangeStartW", true, true, NVTX_COOKIE(NVTX_START, NVTX_WIDE, 0) },
		{ "nvtxDomainRegisterStringA", true, true,
		  NVTX_COOKIE(NVTX_REGISTER, NVTX_NARROW, 1) },
		{ "nvtxRangePush", false, false, 0 },
		{ "nvtxRangePushAx", false, false, 0 },
		{ "nvtxDomainCreateA", false, false, 0 },
	};
	static const struct {
		const char *path;
		bool is;
	} paths[] = {
		{ "/usr/local/cuda/lib64/libnvToolsExt.so.1", true },
		{ "/w/torch/lib/libnvToolsExt-24de1d56.so.1", true },
		{ "libnvToolsExt.so", true },
		{ "/x/libnvToolsExt.a", false },
		{ "/x/libnvToolsExt", false },
		{ "/libnvToolsExt.so.1/data", false },
	};
	uint64_t cookie;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ok(probe_nvtx_row(cases[i].name, &cookie) == cases[i].row, "%s is%s probed",
		   cases[i].name, cases[i].row ? "" : " not");
		if (!cases[i].row)
			continue;
		is_u64(cookie, cases[i].cookie, "as what it is");
		ok(probe_nvtx_returns(cookie) == cases[i].returns, "its return%s, too",
		   cases[i].returns ? "" : " not");
	}
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		ok(probe_nvtx_library(paths[i].path) == paths[i].is, "%s", paths[i].path);
}

static void files(void)
{
	is_u64(probe_library_of("/usr/lib/libcuda.so.1"), PROBE_LIBCUDA, "the driver");
	is_u64(probe_library_of("/usr/lib/libcuda.so.555.58.02"), PROBE_LIBCUDA,
	       "the driver by version");
	is_u64(probe_library_of("/x/libcudart.so.13"), PROBE_CUDART, "the runtime");
	is_u64(probe_library_of("/w/torch/lib/libcudart-d0da41ae.so.11.0"), PROBE_CUDART,
	       "a wheel's runtime");
	is_u64(probe_library_of("/x/libcudadebugger.so.1"), PROBE_LIBRARIES, "not the debugger's");
	is_u64(probe_library_of("/x/libcudart_static.a"), PROBE_LIBRARIES, "not an archive");
	is_u64(probe_library_of("/libcuda.so.1/data"), PROBE_LIBRARIES, "not by folder");
}

static void bytes(void)
{
	static const uint8_t
		driver[] = { 0x81, 0x3d, 1, 2, 3, 4, 0, 0xba, 0x1c, 0x32, 0x74, 6 },
		far_jump[] = { 0x81, 0x3d, 1, 2, 3, 4, 0, 0xba, 0x1c, 0x32, 0x0f, 0x84 },
		other[] = { 0x81, 0x3d, 1, 2, 3, 4, 0, 0xba, 0x1c, 0x32, 0x90, 0x90 },
		elsewhere[] = { 0x81, 0x3c, 1, 2, 3, 4, 0, 0xba, 0x1c, 0x32, 0x74, 6 },
		push[] = { 0x55, 0x48, 0x89, 0xe5, 0, 0, 0, 0, 0, 0, 0, 0 },
		mark[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0, 0, 0, 0, 0, 0 },
		mark_sub[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0, 0, 0, 0, 0, 0 };

#if defined(__x86_64__)
	is_u64(probe_plan_ahead(driver, 12), 10, "compare and short jump: behind the compare");
	is_u64(probe_plan_ahead(far_jump, 12), 10, "compare and long jump: behind the compare");
	is_u64(probe_plan_ahead(mark, 12), 4, "endbr64 and push: behind the mark");
#endif
	is_u64(probe_plan_ahead(driver, 11), 0, "bytes that end too early: at the symbol");
	is_u64(probe_plan_ahead(other, 12), 0, "compare without a jump: at the symbol");
	is_u64(probe_plan_ahead(elsewhere, 12), 0, "another operand: at the symbol");
	is_u64(probe_plan_ahead(push, 12), 0, "push: at the symbol");
	is_u64(probe_plan_ahead(mark_sub, 12), 0, "endbr64 and something dear: at the symbol");
	is_u64(probe_plan_ahead(push, 0), 0, "no bytes: at the symbol");
}

/* Functions that do nothing but enter another one; the bytes of the first two are NVIDIA's. */
static void forwarding(void)
{
	static const struct {
		const char *what;
		uint16_t machine;
		const char *code;
		size_t n;
		bool forwards;
		uint64_t at, distance;
	} cases[] = {
		{ "__cudaLaunchKernel of CUDA 13", EM_X86_64,
		  "\x55\x48\x89\xe5\x5d\xe9\xc6\x19\x05\x00", 10, true, 5, 0x519cb },
		{ "ncclBcast of NCCL 2.32", EM_X86_64,
		  "\x48\x83\xec\x10\x41\x51\x4d\x89\xc1\x41\x89\xc8\x89\xd1\x48\x89\xf2\x48\x89\xfe"
		  "\xe8\xd7\x47\xfe\xff\x48\x83\xc4\x18\xc3",
		  30, true, 20, (uint64_t)-0x1b829 + 5 },
		{ "a short jump", EM_X86_64, "\xeb\xbe", 2, true, 0, (uint64_t)-64 },
		{ "a conditional jump before", EM_X86_64, "\x85\xff\x74\x05\xe9\0\1\0\0", 9, false,
		  0, 0 },
		{ "a far conditional jump before", EM_X86_64, "\x0f\x84\0\0\0\0\xe9\0\1\0\0", 11,
		  false, 0, 0 },
		{ "a return before", EM_X86_64, "\xc3\xe9\0\1\0\0", 6, false, 0, 0 },
		{ "a jump by a pointer", EM_X86_64, "\xff\x25\0\1\0\0", 6, false, 0, 0 },
		{ "two calls", EM_X86_64, "\xe8\0\1\0\0\xe8\0\1\0\0", 10, false, 0, 0 },
		{ "a call that is cut", EM_X86_64, "\xe8\0\1", 3, false, 0, 0 },
		{ "no branch", EM_X86_64, "\x31\xc0\x90\x90\x90\x90", 6, false, 0, 0 },
		{ "b on arm64", EM_AARCH64, "\xfd\x7b\xbf\xa9\x10\0\0\x14", 8, true, 4, 64 },
		{ "bl on arm64, backwards", EM_AARCH64, "\xff\xff\xff\x97\xc0\x03\x5f\xd6", 8, true,
		  0, (uint64_t)-4 },
		{ "two bl on arm64", EM_AARCH64, "\x10\0\0\x94\x10\0\0\x94", 8, false, 0, 0 },
		{ "cbz before, on arm64", EM_AARCH64, "\x40\0\0\xb4\x10\0\0\x14", 8, false, 0, 0 },
		{ "ret before, on arm64", EM_AARCH64, "\xc0\x03\x5f\xd6\x10\0\0\x14", 8, false, 0,
		  0 },
		{ "another machine", EM_PPC64, "\xe9\0\1\0\0", 5, false, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t at = 0;
		int64_t distance = 0;
		bool forwards = sym_forward_step((const uint8_t *)cases[i].code, cases[i].n,
						 cases[i].machine, &at, &distance);

		ok(forwards == cases[i].forwards &&
			   (!forwards ||
			    (at == cases[i].at && distance == (int64_t)cases[i].distance)),
		   "%s: %s", cases[i].what, cases[i].forwards ? "enters another" : "does more");
	}
}

static void sites(void)
{
	struct probe_plan plan = { .library = PROBE_LIBCUDA };
	static const uint8_t push[12] = { 0x55 };
	char text[24];
	size_t n;

	probe_plan_symbol(&plan, "cuMemAlloc_v2", 4096, 0, push, 12);
	probe_plan_symbol(&plan, "cuMemAlloc", 4096, 0, push, 12);
	probe_plan_symbol(&plan, "cuMemFree_v2", 4160, 0, push, 12);
	probe_plan_symbol(&plan, "cudaMalloc", 4224, 0, push, 12);
	probe_plan_symbol(&plan, "cuNothingOfOurs", 4288, 0, push, 12);
	is_u64(plan.n, 2, "aliases are one site, strangers none");
	is_u64(plan.v[0].site.offset, 4096, "its place");
	is_u64(probe_specs(&n)[plan.v[0].site.cookie].op.op, OP_CU_MEM_ALLOC, "its op");
	is_str(probe_plan_sites(&plan, text, sizeof(text)), "+0", "where probes sit");
	probe_plan_free(&plan);
}

static void table(void)
{
	size_t n;
	const struct probe_spec *s = probe_specs(&n);
	bool sound = n > 200 && n <= 512;

	/* As many fields as the op has columns, and no more than cross the ring. */
	for (size_t i = 0; i < n; i++) {
		const struct op_def *def = op_builtin(s[i].op.op);
		unsigned used = 0;

		for (unsigned k = 0; k < SPEC_FIELDS; k++)
			used = s[i].op.field[k].kind != FIELD_NONE ? k + 1 : used;
		if (!def || def->ncols > SPEC_FIELDS || used > def->ncols) {
			printf("# %s: %u fields, %u columns\n", s[i].name, used,
			       def ? def->ncols : 0);
			sound = false;
		}
	}
	ok(sound, "every symbol of the table fits its op");
}

static void library(const char *path, enum probe_library which, const char *want)
{
	struct probe_plan plan;
	struct err e = { 0 };
	char text[24];
	int rc;

	if (access(path, R_OK)) {
		skip("optional: the double is not built");
		return;
	}
	rc = probe_plan_file(&plan, path, which, false, &e);
	ok(rc == 0 && plan.n > 15, "%s: %zu sites", path, plan.n);
	is_str(probe_plan_sites(&plan, text, sizeof(text)), want, "where its probes sit");
	ok(strlen(plan.build_id) >= 16, "its build-id");
	probe_plan_free(&plan);
}

int main(void)
{
	const char *build = getenv("BUILD");
	char path[512];
	struct probe_plan plan;
	struct err e = { 0 };

	names();
	nvtx();
	files();
	bytes();
	forwarding();
	sites();
	table();
#if defined(__x86_64__)
	snprintf(path, sizeof(path), "%s/double/libcuda.so.1", build ? build : "build");
	library(path, PROBE_LIBCUDA, "+10");
	snprintf(path, sizeof(path), "%s/double/libcudart.so.13", build ? build : "build");
	library(path, PROBE_CUDART, "+0");
#endif
	ok(probe_plan_file(&plan, "/etc/passwd", PROBE_CUDART, false, &e) == ERR_DAMAGED,
	   "no ELF file: %s", e.text);
	ok(probe_plan_file(&plan, "/nowhere", PROBE_CUDART, false, &e) == ERR_CANNOT, "no file: %s",
	   e.text);
	return tap_done();
}
