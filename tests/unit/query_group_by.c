/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys that generated recordings do not have: kernels with names, places, more keys than are told
 * apart, sizes at the edges; and that no event and no time is dropped, whatever the keys.
 */
#include "lib/query/group_by.h"

#include <string.h>

#include "tests/tap.h"

static struct world *w;

static uint32_t process(uint32_t pid)
{
	struct world_node n = { .boot = 1, .name = world_string(w, bytes_of("host")) };
	struct world_process p = { .node = world_node(w, &n), .tgid = pid, .start_ns = pid };

	return world_process(w, &p);
}

static struct event launch(uint64_t func, uint64_t ns)
{
	struct event ev = { .op = OP_CUDA_LAUNCH, .dur_ns = ns, .end_ns = 1000 };

	event_set(&ev, op_builtin(ev.op), COL_FUNC, func);
	return ev;
}

static void tell(struct query_by *by, const struct event *ev, uint32_t proc)
{
	if (!query_by_event(by, ev, op_builtin(ev->op), proc, 0) ||
	    !query_by_add_time(by, ev, op_builtin(ev->op), proc, 1, 2))
		ok(false, "an event is counted");
}

static void row(const struct by_table *t, size_t i, enum by_kind kind, const char *key,
		const char *name, uint64_t count, uint64_t total_ns)
{
	const struct by_row *r = t && i < t->rows.n ? &t->rows.v[i] : NULL;

	ok(r && r->kind == kind && bytes_equal(world_text(w, r->key), bytes_of(key)) &&
		   bytes_equal(world_text(w, r->name), bytes_of(name)) && r->count == count &&
		   r->total_ns == total_ns && r->self_ns == count && r->lost_ns == 2 * count,
	   "row %zu: '%s' '%s', %u of %u ns", i, key, name, (unsigned)count, (unsigned)total_ns);
}

static void name_kernel(struct query_by *by, uint32_t proc, uint64_t func, const char *text,
			int64_t since_ns)
{
	struct record r = { .kind = RECORD_KERNEL };

	REC_SET(&r, KERNEL, process, proc);
	REC_SET(&r, KERNEL, func, func);
	REC_SET(&r, KERNEL, name, bytes_of(text));
	REC_SET(&r, KERNEL, time_ns, since_ns);
	if (!query_by_record(by, &r))
		ok(false, "a name is taken");
}

static void of_kernels(void)
{
	uint32_t one = process(1), two = process(2);
	struct query_by *by = query_by_new(w, BY_KERNEL, 0);
	struct event ev = launch(0x10, 100), other = { .op = OP_CUDA_FREE, .dur_ns = 7 };
	const struct by_table *t;

	tell(by, &ev, one);
	tell(by, &ev, two); /* the same handle of another process: another kernel */
	ev = launch(0x20, 1000);
	tell(by, &ev, two);
	tell(by, &other, one);
	t = query_by_rows(by);
	is_u64(t ? t->rows.n : 0, 4, "by process and handle, and what is no launch");
	row(t, 0, BY_KNOWN, "kernel unknown (0x20)", "(process 2)", 1, 1000);
	row(t, 3, BY_NONE, "", "", 1, 7);
	name_kernel(by, one, 0x10, "_Z5saxpyifPKfPf", 2000);
	name_kernel(by, two, 0x20, "_Z5saxpyifPKfPf", 2000); /* told late */
	t = query_by_rows(by);
	is_u64(t ? t->rows.n : 0, 3, "one name is one kernel");
	row(t, 0, BY_KNOWN, "saxpy(int, float, float const*, float*)", "", 2, 1100);
	row(t, 1, BY_KNOWN, "kernel unknown (0x10)", "(process 2)", 1, 100);
	/* Another library lies where the first one lay. */
	name_kernel(by, one, 0x10, "_Z25__device_stub__Z6secondPfPf", 5000);
	ev = launch(0x10, 3);
	ev.end_ns = 5000;
	tell(by, &ev, one);
	ev.end_ns = 4999;
	tell(by, &ev, one);
	name_kernel(by, one, 0x10, "_Z5saxpyifPKfPf",
		    2000); /* found late: the newest is second still */
	ev.end_ns = 6000;
	tell(by, &ev, one);
	ev.present = 0; /* a launch of which nothing is known */
	tell(by, &ev, one);
	t = query_by_rows(by);
	is_u64(t ? t->rows.n : 0, 5, "a handle that is used again is another kernel");
	row(t, 0, BY_KNOWN, "saxpy(int, float, float const*, float*)", "", 3, 1103);
	row(t, 1, BY_KNOWN, "kernel unknown (0x10)", "(process 2)", 1, 100);
	row(t, 2, BY_KNOWN, "second(float*)", "", 2, 6);
	row(t, 3, BY_NONE, "", "", 1, 7);
	row(t, 4, BY_UNKNOWN, "", "", 1, 3);
	query_by_free(by);
}

/* A frame of that module with that symbol, "" none. */
static uint32_t frame(const char *module, uint64_t offset, const char *symbol)
{
	struct world_module m = { .path = world_string(w, bytes_of(module)) };
	struct world_frame f = { .kind = FRAME_NATIVE,
				 .module = world_module(w, &m),
				 .offset = offset };
	uint32_t id = world_frame(w, &f);

	if (*symbol)
		world_symbol(w, id,
			     &(struct world_symbol){ .name = world_string(w, bytes_of(symbol)) });
	return id;
}

/* What kernels without a name are called by: what launched them. */
static void of_launchers(void)
{
	const uint32_t driver = frame("/lib/libcuda.so.1", 1, "cuLaunchKernel"),
		       inside = frame("/lib/libcublasLt.so.13", 2, ""),
		       lt = frame("/lib/libcublasLt.so.13", 3, "cublasLtMatmul"),
		       gemm = frame("/lib/libcublas.so.13", 4, "cublasSgemm_v2"),
		       dgemm = frame("/lib/libcublas.so.13", 5, "cublasDgemm_v2"),
		       addmm = frame("/lib/libtorch_cuda.so", 6, "at::addmm"),
		       stripped = frame("/lib/libfoo.so", 0x123, ""),
		       gap = world_frame(w, &(struct world_frame){ .kind = FRAME_GAP });
	const struct {
		const char *key, *name;
		unsigned n;
		uint32_t frames[6];
	} rows[] = {
		{ "cublasSgemm_v2 < at::addmm", "", 5, { driver, inside, lt, gemm, addmm } },
		{ "cublasDgemm_v2 < at::addmm", "", 5, { driver, inside, lt, dgemm, addmm } },
		{ "cublasLtMatmul", "", 2, { inside, lt } },
		{ "libcublasLt.so.13+0x2 < at::addmm", "", 3, { inside, gap, addmm } },
		{ "launched by at::addmm", "", 2, { driver, addmm } },
		{ "kernel unknown (0x1234, called from libfoo.so+0x123)",
		  "(process 1)",
		  3,
		  { driver, stripped, addmm } },
		{ "kernel unknown (0x1234)", "(process 1)", 2, { gap, addmm } },
	};
	const unsigned n = sizeof(rows) / sizeof(rows[0]);

	for (unsigned i = 0; i < n; i++) {
		struct query_by *by = query_by_new(w, BY_KERNEL, 0);
		struct event ev = launch(0x1234, 10);

		ev.stack = world_stack(w, rows[i].frames, rows[i].n);
		tell(by, &ev, process(1));
		row(query_by_rows(by), 0, BY_KNOWN, rows[i].key, rows[i].name, 1, 10);
		query_by_free(by);
	}
}

static void place(struct query_by *by, uint32_t proc, const char *pod, const char *container,
		  uint32_t rank)
{
	struct record r = { .kind = RECORD_PLACE };

	REC_SET(&r, PLACE, process, proc);
	if (pod) {
		REC_SET(&r, PLACE, pod, bytes_of(pod));
		REC_SET(&r, PLACE, namespace, bytes_of("jobs"));
	}
	if (container) {
		REC_SET(&r, PLACE, container, bytes_of(container));
		REC_SET(&r, PLACE, container_name, bytes_of("main"));
	}
	if (rank != UINT32_MAX) {
		REC_SET(&r, PLACE, rank, rank);
		REC_SET(&r, PLACE, run, bytes_of("run-7"));
	}
	if (!query_by_record(by, &r))
		ok(false, "a place is taken");
}

/* Processes 1 and 2 are of one pod and are ranks 10 and 9; 3 is a container of no pod; of 4 nothing
 * is told. */
static struct query_by *placed(enum by_key key)
{
	struct query_by *by = query_by_new(w, key, 0);

	for (uint32_t pid = 1; pid <= 4; pid++) {
		struct event ev = { .op = OP_CUDA_FREE, .dur_ns = 10 * pid };

		tell(by, &ev, process(pid));
	}
	place(by, process(1), "train-0", "abc", UINT32_MAX);
	place(by, process(1), NULL, NULL, 10); /* adds to what was told */
	place(by, process(2), "train-0", "abc", 9);
	place(by, process(3), NULL, "def", UINT32_MAX);
	return by;
}

static void of_places(void)
{
	struct query_by *by = placed(BY_POD);
	const struct by_table *t = query_by_rows(by);

	is_u64(t->rows.n, 2, "one pod");
	row(t, 0, BY_KNOWN, "jobs/train-0", "", 2, 30);
	row(t, 1, BY_UNKNOWN, "", "", 2, 70);
	query_by_free(by);
	by = placed(BY_CONTAINER);
	t = query_by_rows(by);
	is_u64(t->rows.n, 3, "two containers");
	row(t, 0, BY_KNOWN, "abc", "main", 2, 30);
	row(t, 1, BY_KNOWN, "def", "main", 1, 30);
	row(t, 2, BY_UNKNOWN, "", "", 1, 40);
	query_by_free(by);
	by = placed(BY_RANK);
	t = query_by_rows(by);
	is_u64(t->rows.n, 3, "two ranks");
	row(t, 0, BY_KNOWN, "9", "run-7", 1, 20); /* as a number it comes before 10 */
	row(t, 1, BY_KNOWN, "10", "run-7", 1, 10);
	row(t, 2, BY_UNKNOWN, "", "", 2, 70);
	query_by_free(by);
}

static void of_sizes(void)
{
	static const uint64_t bytes[] = { 0, 1, 2, 3, 4, 4095, 4096, UINT64_MAX };
	static const struct {
		const char *key, *name;
		uint64_t count;
	} rows[] = { { "0", "0 B", 1 },
		     { "1", "1 B", 1 },
		     { "2", "2 B to 4 B", 2 },
		     { "4", "4 B to 8 B", 1 },
		     { "2048", "2.0 KiB to 4.0 KiB", 1 },
		     { "4096", "4.0 KiB to 8.0 KiB", 1 },
		     { "9223372036854775808", "8192 PiB", 1 } };
	struct query_by *by = query_by_new(w, BY_SIZE, 0);
	const struct by_table *t;

	for (unsigned i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		struct event ev = { .op = OP_CUDA_MALLOC, .dur_ns = 1 };

		event_set(&ev, op_builtin(ev.op), COL_BYTES, bytes[i]);
		tell(by, &ev, 0);
	}
	t = query_by_rows(by);
	is_u64(t->rows.n, 7, "sizes by powers of two");
	for (unsigned i = 0; i < 7; i++) {
		struct bytes name =
			i < t->rows.n ? world_text(w, t->rows.v[i].name) : (struct bytes){ 0 };

		ok(i < t->rows.n &&
			   bytes_equal(world_text(w, t->rows.v[i].key), bytes_of(rows[i].key)) &&
			   t->rows.v[i].count == rows[i].count,
		   "size %s: %u (%.*s)", rows[i].key, (unsigned)rows[i].count, (int)name.n,
		   name.n ? name.p : "");
		if (i < 6)
			ok(bytes_equal(name, bytes_of(rows[i].name)), "is called %s", rows[i].name);
	}
	query_by_free(by);
}

/* Twice as many keys as are told apart, in an order that comes back to the first ones. */
static void of_many(void)
{
	struct query_by *by = query_by_new(w, BY_KERNEL, 0);
	uint64_t told = 0, other = 0, all = 0, self = 0;
	const struct by_table *t;

	for (unsigned round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 2 * BY_KEYS_MAX; i++) {
			struct event ev = launch(i, 1);

			tell(by, &ev, 1);
			told++;
		}
	}
	t = query_by_rows(by);
	is_u64(t->rows.n, BY_KEYS_MAX + 1, "no more rows than the limit, and one of the others");
	for (size_t i = 0; i < t->rows.n; i++) {
		all += t->rows.v[i].count;
		self += t->rows.v[i].self_ns;
		other += t->rows.v[i].kind == BY_OTHER ? t->rows.v[i].count : 0;
	}
	is_u64(all, told, "every event is in a row");
	is_u64(self, told, "and its own time");
	is_u64(other, 2 * BY_KEYS_MAX, "those beyond the limit are together, whenever they come");
	ok(t->rows.v[t->rows.n - 1].kind == BY_OTHER, "at the end");
	query_by_free(by);
}

/* Two processes of one number and command are two rows, and one of that command for who compares. */
static void of_text(void)
{
	for (unsigned together = 0; together < 2; together++) {
		struct query_by *by = query_by_new(w, BY_PID, together ? BY_TEXT : 0);
		struct world_process p = { .node = 1, .tgid = 77 };
		struct world_image im = { .comm = world_string(w, bytes_of("train")) };
		struct world_ctx c = { .node = 1 };
		struct event ev = { .op = OP_CUDA_FREE, .dur_ns = 5 };
		const struct by_table *t;

		for (p.start_ns = 1; p.start_ns < 3; p.start_ns++) {
			im.process = world_process(w, &p);
			c.image = world_image(w, &im);
			ev.ctx = world_ctx(w, &c);
			tell(by, &ev, im.process);
		}
		t = query_by_rows(by);
		is_u64(t->rows.n, together ? 1 : 2, together ? "by text: one" : "by id: two");
		if (together)
			row(t, 0, BY_KNOWN, "train", "", 2, 10);
		else
			row(t, 1, BY_KNOWN, "77", "train", 1, 5);
		query_by_free(by);
	}
}

int main(void)
{
	enum by_key key;

	w = world_new();
	ok(by_key_find("line", &key) && key == BY_LINE && !by_key_find("lines", &key) &&
		   !strcmp(by_key_name(BY_RANK), "rank"),
	   "keys have names");
	of_kernels();
	of_launchers();
	of_places();
	of_sizes();
	of_text();
	of_many();
	world_free(w);
	return done_testing();
}
