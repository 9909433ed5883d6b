/* SPDX-License-Identifier: Apache-2.0 */
/* What Python does for a line besides, and that a place of own code names it. */
#include "tests/tap.h"

#include "lib/world/fault_stack.h"
#include "lib/world/own_site.h"
#include "lib/world/known_work.h"

/* Frames innermost first: a function of CPython, or of Python in a file. */
struct row {
	const char *name;
	struct {
		const char *function, *file;
	} frames[5];
	enum known_work want;
	const char *inner; /* of the place that a person would change; NULL: the innermost */
};

#define MAIN                            \
	{                               \
		"main", "/srv/train.py" \
	}

static const struct row rows[] = {
	{ "collecting garbage",
	  { { "visit_decref", NULL },
	    { "gc_collect_main", NULL },
	    { "_PyObject_GC_Link", NULL },
	    { "PyDict_New", NULL },
	    MAIN },
	  KNOWN_WORK_COLLECTS,
	  "gc_collect_main" },
	{ "the same, built with link-time optimization",
	  { { "gc_collect_main.constprop.0", NULL }, MAIN },
	  KNOWN_WORK_COLLECTS,
	  "gc_collect_main.constprop.0" },
	{ "a new object", { { "_PyObject_GC_Link", NULL }, MAIN }, KNOWN_WORK_OTHER, "" },
	{ "importing",
	  { { "exec_module", "<frozen importlib._bootstrap_external>" },
	    { "_find_and_load", "<frozen importlib._bootstrap>" },
	    MAIN },
	  KNOWN_WORK_IMPORTS,
	  "_find_and_load" },
	{ "compiling",
	  { { "simplify", "/usr/lib/python3/dist-packages/sympy/core/expr.py" },
	    { "_compile", "/usr/lib/python3/dist-packages/torch/_dynamo/convert_frame.py" },
	    { "__call__", "/usr/lib/python3/dist-packages/torch/_dynamo/convert_frame.py" },
	    MAIN },
	  KNOWN_WORK_COMPILES,
	  "__call__" },
	{ "running what was compiled",
	  { { "forward", "/tmp/torchinductor_root/abc/cabc.py" },
	    { "_fn", "/usr/lib/python3/dist-packages/torch/_dynamo/eval_frame.py" },
	    MAIN },
	  KNOWN_WORK_OTHER,
	  "forward" },
	{ "loading a batch",
	  { { "fetch", "/usr/lib/python3/dist-packages/torch/utils/data/_utils/fetch.py" },
	    { "__next__", "/usr/lib/python3/dist-packages/torch/utils/data/dataloader.py" },
	    MAIN },
	  KNOWN_WORK_LOADS,
	  "fetch" },
	{ "unpacking",
	  { { "inflate_fast", NULL }, { "inflate", NULL }, { "zlib_decompress", NULL }, MAIN },
	  KNOWN_WORK_PACKS,
	  "inflate" },
	{ "decoding an image of a batch that is loaded",
	  { { "decode_mcu", NULL },
	    { "jpeg_read_scanlines", NULL },
	    { "__getitem__", "/usr/lib/python3/dist-packages/torch/utils/data/dataset.py" },
	    MAIN },
	  KNOWN_WORK_LOADS,
	  "jpeg_read_scanlines" },
	{ "copying objects",
	  { { "_reconstruct", "/usr/lib/python3.11/copy.py" },
	    { "deepcopy", "/usr/lib/python3.11/copy.py" },
	    { "deepcopy", "/usr/lib/python3.11/copy.py" },
	    MAIN },
	  KNOWN_WORK_COPIES,
	  "deepcopy" },
	{ "copying one object",
	  { { "copy", "/usr/lib/python3.11/copy.py" }, MAIN },
	  KNOWN_WORK_OTHER,
	  "copy" },
	{ "JSON",
	  { { "iterencode", "/usr/lib/python3.11/json/encoder.py" },
	    { "encode", "/usr/lib/python3.11/json/encoder.py" },
	    { "dumps", "/usr/lib/python3.11/json/__init__.py" },
	    MAIN },
	  KNOWN_WORK_JSON,
	  "encode" },
	{ "logging",
	  { { "emit", "/usr/lib/python3.11/logging/__init__.py" },
	    { "info", "/usr/lib/python3.11/logging/__init__.py" },
	    MAIN },
	  KNOWN_WORK_LOGS,
	  "info" },
	{ "saving",
	  { { "_save", "/usr/lib/python3/dist-packages/torch/serialization.py" },
	    { "save", "/usr/lib/python3/dist-packages/torch/serialization.py" },
	    MAIN },
	  KNOWN_WORK_SAVES,
	  "save" },
	{ "reading a value",
	  { { "at::_ops::_local_scalar_dense::call(at::Tensor const&)", NULL },
	    { "at::_ops::item::call(at::Tensor const&)", NULL },
	    MAIN },
	  KNOWN_WORK_READS,
	  "at::_ops::item::call(at::Tensor const&)" },
	{ "an operator in anomaly mode",
	  { { "format_list", "/usr/lib/python3.11/traceback.py" },
	    { "format_stack", "/usr/lib/python3/dist-packages/torch/fx/traceback.py" },
	    { "torch::autograd::PyAnomalyMetadata::store_stack()", NULL },
	    MAIN },
	  KNOWN_WORK_TRACES,
	  "format_stack" },
	{ "moving a tensor",
	  { { "at::_ops::_to_copy::redispatch(c10::DispatchKeySet, at::Tensor const&)", NULL },
	    { "at::_ops::_to_copy::call(at::Tensor const&)", NULL },
	    MAIN },
	  KNOWN_WORK_MOVES,
	  "" },
	{ "a ring that is empty",
	  { { "Ring<float>::pop_wait(long)", NULL } },
	  KNOWN_WORK_SPINS,
	  "" },
	{ "a lock that is held", { { "SpinLock::lock()", NULL } }, KNOWN_WORK_SPINS, "" },
	{ "a flag", { { "spinUntilReady", NULL } }, KNOWN_WORK_SPINS, "" },
	{ "a barrier", { { "gomp_team_barrier_wait_end", NULL } }, KNOWN_WORK_SPINS, "" },
	{ "a queue without locks", { { "lock_free_push", NULL } }, KNOWN_WORK_OTHER, "" },
	{ "a block", { { "Block::forward(WaitList&)", NULL } }, KNOWN_WORK_OTHER, "" },
	{ "called by one that waits",
	  { { "compute", NULL }, { "wait_for_work", NULL } },
	  KNOWN_WORK_OTHER,
	  "" },
};

static uint32_t stack_of(struct world *w, const struct row *x, uint32_t frames[5])
{
	struct world_module m = { .path = world_string(w,
						       bytes_of("/usr/lib/libpython3.11.so.1.0")) };
	uint32_t module = world_module(w, &m);
	unsigned n = 0;

	for (; n < 5 && x->frames[n].function; n++) {
		uint32_t name = world_string(w, bytes_of(x->frames[n].function));

		if (x->frames[n].file) {
			frames[n] = world_frame(
				w, &(struct world_frame){
					   .kind = FRAME_PYTHON,
					   .offset = 7,
					   .file = world_string(w, bytes_of(x->frames[n].file)),
					   .name = name });
			continue;
		}
		frames[n] = world_frame(w, &(struct world_frame){ .kind = FRAME_NATIVE,
								  .module = module,
								  .offset = 0x1000 + n });
		world_symbol(w, frames[n], &(struct world_symbol){ .name = name });
	}
	return world_stack(w, frames, n);
}

static struct bytes name_of(const struct world *w, uint32_t frame)
{
	const struct world_frame *f = frame ? world_get_frame(w, frame) : NULL;
	const struct world_symbol *s = frame ? world_get_symbol(w, frame) : NULL;

	return f && f->kind == FRAME_PYTHON ? world_text(w, f->name)
	       : s			    ? world_text(w, s->name)
					    : bytes_of("");
}

/* The kernel clears memory that is touched for the first time. */
static void test_fault(void)
{
	const struct row x = { "", { { "memset", NULL }, MAIN } };
	const struct row collects = { "",
				      { { "memset", NULL }, { "gc_collect_main", NULL }, MAIN } };
	struct world *w = world_new();
	uint32_t frames[5], met = stack_of(w, &x, frames), stack = world_fault_stack(w, met), n;
	struct own_site site = own_site_of(w, stack);

	is_u64(known_work_of(w, stack), KNOWN_WORK_FAULTS, "a page fault");
	ok(world_is_fault(w, site.inner) && site.frame == own_site_of(w, met).frame,
	   "the place is the program's, the fault what it was in there");
	is_u64(known_work_of(w, world_fault_stack(w, stack_of(w, &collects, frames))),
	       KNOWN_WORK_COLLECTS, "what collects garbage may have faults, too");
	is_u64(world_fault_stack(w, met), stack, "one frame for all of them");
	ok(world_get_stack(w, stack, &n) && n == 3 && world_fault_stack(w, 0) == 0,
	   "on top of the others; without a stack there is none");
	world_free(w);
}

int main(void)
{
	test_fault();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = world_new();
		uint32_t frames[5], stack = stack_of(w, &rows[i], frames);
		struct own_site site = own_site_of(w, stack);
		struct bytes inner = name_of(w, site.inner);

		is_u64(known_work_of(w, stack), rows[i].want, "%s", rows[i].name);
		ok(bytes_equal(inner, bytes_of(rows[i].inner)), "%s: %.*s", rows[i].name,
		   (int)inner.n, inner.p);
		world_free(w);
	}
	return tap_done();
}
