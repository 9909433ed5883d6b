/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the ops to record by name, and the rows of the table of entry points that belong to them.
 */
#include "lib/attach/chosen_ops.h"

#include <string.h>

#include "lib/event/op.h"
#include "lib/attach/nvtx_rows.h"
#include "lib/attach/spec.h"
#include "lib/filter/filter.h"

/* Is that the exported name of a function whose calls are recorded as this op (ncclBcast as
 * ncclBroadcast)? */
static bool exported_as(const char *name, const struct op_def *op)
{
	size_t n;
	const struct probe_spec *specs = probe_specs(&n);

	for (size_t i = 0; i < n; i++)
		if (specs[i].op.op == op->id && strcmp(specs[i].name, name) == 0)
			return true;
	return false;
}

static bool is_named(struct probe_names names, const struct op_def *op)
{
	for (size_t i = 0; i < names.n; i++)
		if (filter_name_matches(names.v[i], op) || exported_as(names.v[i], op))
			return true;
	return false;
}

/* What stalls happen in, and what names kernels: patterns of op names. */
static const char *const core[] = {
	"cudaMalloc",	    "cudaMallocAsync",	 "cudaMallocManaged",
	"cudaMallocHost",   "cudaFree",		 "cudaFreeAsync",
	"cudaFreeHost",	    "cudaLaunchKernel*", "cudaMemcpy",
	"cudaMemcpyAsync",  "cudaMemset",	 "cudaMemsetAsync",
	"cuda*Synchronize", "cudaGraphLaunch",	 "__cudaRegisterFunction",
	"cuLaunchKernel*",  "cuMemcpy",		 "cuMemcpyAsync",
	"cuMemcpyHtoD*",    "cuMemcpyDtoH*",	 "cuMemcpyDtoD*",
	"cuMemsetD8*",	    "cu*Synchronize",	 "cuMemAlloc",
	"cuMemAllocAsync",  "cuMemAllocManaged", "cuMemAllocHost",
	"cuMemFree*",	    "cuGraphLaunch",	 "cuModuleGetFunction",
	"ncclAllReduce",    "ncclAllGather",	 "ncclReduceScatter",
	"ncclBroadcast",    "ncclSend",		 "ncclRecv",
	"ncclGroupEnd",	    "ncclCommInitRank*",
};

size_t chosen_ops_core(void)
{
	struct probe_names names = { core, sizeof(core) / sizeof(core[0]) };
	unsigned n;
	const struct op_def *ops = op_builtin_all(&n);
	size_t kept = 0;

	for (unsigned i = 0; i < n; i++)
		if (!is_named(names, &ops[i]))
			probe_spec_leave_out(ops[i].id);
		else
			kept++;
	return kept;
}

static int check_names(struct probe_names names, struct err *e)
{
	struct filter s = { 0 };
	int rc = 0;

	for (size_t i = 0; i < names.n && rc == 0; i++)
		rc = filter_name(&s, names.v[i], e);
	filter_free(&s);
	return rc;
}

int chosen_ops(struct probe_names only, struct probe_names except, struct chosen_ops_host *host,
	       struct err *e)
{
	unsigned n;
	const struct op_def *ops = op_builtin_all(&n);
	int rc = check_names(only, e);

	if (rc == 0)
		rc = check_names(except, e);
	*host = (struct chosen_ops_host){ 0 };
	for (unsigned i = 0; i < n && rc == 0; i++) {
		bool wanted =
			(only.n == 0 || is_named(only, &ops[i])) && !is_named(except, &ops[i]);

		if (!wanted) {
			probe_spec_leave_out(ops[i].id);
			probe_nvtx_leave_out(ops[i].id);
		}
		host->sched |= wanted && ops[i].source == SOURCE_SCHED;
		host->samples |= wanted && ops[i].id == OP_CPU_SAMPLE;
	}
	return rc;
}
