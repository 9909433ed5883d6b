/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches counted by kernel: handles mean something in their process only, names put them
 * together, and may come late.
 */
#include "lib/query/ops_internal.h"

#include <string.h>

#include "tests/tap.h"

static struct world *w;
static struct query_kernels *k;
static struct ops_kernels rows;

static void launch(uint16_t op, uint32_t process, uint64_t func, uint64_t ns, int32_t ret)
{
	struct event ev = { .op = op, .dur_ns = ns, .ret = ret };
	const struct op_def *def = op_builtin(op);

	event_set(&ev, def, COL_FUNC, func);
	if (!query_kernels_event(k, &ev, def, process))
		ok(false, "a launch is counted");
}

static void name(uint32_t process, uint64_t func, const char *text)
{
	struct record r = { .kind = RECORD_KERNEL };

	REC_SET(&r, KERNEL, process, process);
	REC_SET(&r, KERNEL, func, func);
	REC_SET(&r, KERNEL, name, bytes_of(text));
	if (!query_kernels_record(k, &r))
		ok(false, "a name is taken");
}

static void is_row(size_t i, uint16_t op, const char *text, uint64_t count, uint64_t total,
		   const char *what)
{
	const struct ops_kernel *r = i < rows.n ? &rows.v[i] : NULL;
	struct bytes got = r ? world_text(w, r->name) : (struct bytes){ 0 };

	ok(r && r->op->id == op && r->count == count && r->total_ns == total &&
		   bytes_equal(got, bytes_of(text)),
	   "%s: %s, %u launches of %u ns", what, *text ? text : "no name", (unsigned)count,
	   (unsigned)total);
}

int main(void)
{
	w = world_new();
	k = query_kernels_new(w);
	ok(query_kernels_rows(k, &rows) && rows.n == 0, "no launches, no kernels");
	name(1, 0x10, "_Z5saxpyifPKfPf");
	for (unsigned i = 0; i < 3; i++)
		launch(OP_CUDA_LAUNCH, 1, 0x10, 1000, 0);
	launch(OP_CUDA_LAUNCH, 2, 0x10, 90000, 0); /* another process's: another kernel */
	launch(OP_CUDA_LAUNCH, 2, 0x20, 500, 700); /* named below */
	launch(OP_CU_LAUNCH, 1, 0x10, 700, 0);	   /* the same one, by another call */
	launch(OP_CU_LAUNCH, 1, 0x30, 5, 0);
	launch(OP_CUDA_MEMCPY, 1, 0x10, 5, 0); /* launches nothing */
	ok(query_kernels_rows(k, &rows), "asked in between");
	is_u64(rows.n, 5, "by call, process and handle");
	is_row(0, OP_CUDA_LAUNCH, "", 1, 90000, "most time first");
	is_row(1, OP_CUDA_LAUNCH, "saxpy(int, float, float const*, float*)", 3, 3000, "demangled");
	name(2, 0x20, "_Z5saxpyifPKfPf");
	name(0, 0x30, "nobody's");
	ok(query_kernels_rows(k, &rows), "asked again");
	is_u64(rows.n, 4, "one name is one kernel");
	is_row(1, OP_CUDA_LAUNCH, "saxpy(int, float, float const*, float*)", 4, 3500,
	       "of two processes");
	ok(rows.n == 4 && rows.v[1].errors == 1 && rows.v[1].process == 0 && rows.v[1].func == 0 &&
		   rows.v[1].max_ns == 1000,
	   "of several processes, with its errors");
	ok(rows.n == 4 && rows.v[0].process == 2 && rows.v[0].func == 0x10,
	   "without a name, handle and process say which");
	is_row(2, OP_CU_LAUNCH, "saxpy(int, float, float const*, float*)", 1, 700,
	       "of another call");
	is_row(3, OP_CU_LAUNCH, "", 1, 5, "a name of another process is none");
	vec_free(&rows);
	query_kernels_free(k);
	world_free(w);
	return done_testing();
}
