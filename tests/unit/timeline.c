/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events laid out as lines: whatever comes, each is told once, slices of a line lie side by side or
 * one inside the other, and none is told before the one around it unless that comes later still.
 * Made streams, and random ones: nested as calls are, with pieces left out, late, or without any
 * sense.
 */
#include "lib/export/timeline.h"
#include "tests/tap.h"

#define SPANS_MAX 200000
#define OPEN_MAX_ 512

struct span {
	uint32_t line;
	int64_t start, end;
};

struct seen {
	struct span v[SPANS_MAX];
	size_t n, instants, lines, open;
	struct {
		int64_t v[OPEN_MAX_];
		size_t n;
	} stack[256]; /* by line */
	const char *wrong;
};

static struct seen seen;

static bool on_track(void *ctx, const struct track *t, struct bytes name)
{
	(void)ctx;
	if (!name.n || t->parent >= t->id)
		seen.wrong = "a line without a name, or before its parent";
	seen.lines = t->id > seen.lines ? t->id : seen.lines;
	return true;
}

static bool on_begin(void *ctx, const struct track *t, const struct timeline_slice *s)
{
	(void)ctx;
	if (t->id > seen.lines || s->start_ns < 0 || s->end_ns < s->start_ns)
		seen.wrong = "a slice of no line, or of no time";
	if (t->id < 256) {
		if (seen.stack[t->id].n && seen.stack[t->id].v[seen.stack[t->id].n - 1] < s->end_ns)
			seen.wrong = "an inner slice ends after the one around it";
		seen.stack[t->id].v[seen.stack[t->id].n++] = s->end_ns;
	}
	seen.v[seen.n++] = (struct span){ t->id, s->start_ns, s->end_ns };
	return true;
}

static bool on_end(void *ctx, const struct track *t, int64_t ns)
{
	(void)ctx;
	if (t->id < 256 &&
	    (!seen.stack[t->id].n || seen.stack[t->id].v[--seen.stack[t->id].n] != ns))
		seen.wrong = "an end that is not that of what was open";
	return true;
}

static bool on_instant(void *ctx, const struct track *t, const struct timeline_slice *s)
{
	(void)ctx;
	(void)t;
	seen.instants += s->start_ns == s->end_ns;
	return true;
}

static bool on_open(void *ctx, const struct track *t, const struct timeline_slice *s)
{
	(void)ctx;
	(void)t;
	seen.open += s->start_ns >= 0;
	return true;
}

static bool on_value(void *ctx, const struct track *t, int64_t ns, double value)
{
	(void)ctx;
	if (t->kind != LINE_VALUES || ns < 0 || value != value)
		seen.wrong = "a value of no line";
	return true;
}

static bool on_clock(void *ctx, const struct rec_CLOCK *r, const struct record *rec)
{
	(void)ctx;
	(void)r;
	(void)rec;
	return true;
}

static bool on_order(void *ctx, const struct track *t, uint32_t position, struct bytes name)
{
	(void)ctx;
	if ((t->kind != LINE_NODE && t->kind != LINE_PROCESS) || !position || !name.n)
		seen.wrong = "a place of no process";
	return true;
}

static const struct timeline_sink sink = { on_track, on_begin, on_end,	 on_instant,
					   on_open,  on_value, on_clock, on_order };

static int by_place(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end;
}

/* Slices across others of their line, of all that were told. */
static size_t across(void)
{
	int64_t open[OPEN_MAX_];
	size_t n = 0, wrong = 0;

	qsort(seen.v, seen.n, sizeof(seen.v[0]), by_place);
	for (size_t i = 0; i < seen.n; i++) {
		const struct span *s = &seen.v[i];

		if (i && s->line != seen.v[i - 1].line)
			n = 0;
		while (n && open[n - 1] <= s->start)
			n--;
		wrong += n && s->end > open[n - 1];
		if (n < OPEN_MAX_)
			open[n++] = s->end;
	}
	return wrong;
}

static struct world *w;
static uint32_t threads[4], node;

static void make_world(void)
{
	struct world_node wn = { .boot = 1 };

	w = world_new();
	wn.name = world_string(w, bytes_of("testhost"));
	node = world_node(w, &wn);
	for (uint32_t i = 0; i < 4; i++) {
		/* Two processes of one pid, and threads of one tid. */
		struct world_process p = { .node = node, .tgid = 100, .start_ns = 1 + i / 2 };
		struct world_thread t = { .tid = 100 + i % 2, .start_ns = 5 + i };
		struct world_ctx c = { .node = node };

		t.process = world_process(w, &p);
		t.comm = world_string(w, bytes_of("train"));
		c.thread = world_thread(w, &t);
		threads[i] = world_ctx(w, &c);
	}
}

static struct event call(uint16_t op, unsigned thread, int64_t start, int64_t end, unsigned depth)
{
	return (struct event){ .op = op,
			       .end_ns = end,
			       .dur_ns = (uint64_t)(end - start),
			       .depth = (uint16_t)depth,
			       .ctx = threads[thread] };
}

/* How the events come out; false: something is wrong with it. */
static bool lay(const struct event *v, size_t n, const struct record *records, size_t nrecords)
{
	struct late_names told = { 0 };
	struct timeline tl;
	struct stream_item item = { .kind = STREAM_EVENTS, .events = v, .n = n };
	struct err e = { 0 };
	bool fine;

	memset(&seen, 0, sizeof(seen));
	timeline_init(&tl, &sink, NULL, w, &told);
	fine = timeline_item(&tl, &item, &e) == 0;
	for (size_t i = 0; fine && i < nrecords; i++) {
		struct stream_item r = { .kind = STREAM_RECORD, .record = &records[i] };

		fine = timeline_item(&tl, &r, &e) == 0;
	}
	fine = fine && timeline_finish(&tl, &e) == 0;
	timeline_free(&tl);
	return fine;
}

static void check(const char *what, const struct event *v, size_t n, size_t slices, size_t lines)
{
	ok(lay(v, n, NULL, 0) && !seen.wrong, "%s: %s", what, seen.wrong ? seen.wrong : "laid out");
	is_u64(seen.n, slices, "%s: slices", what);
	is_u64(seen.n + seen.instants, n, "%s: each event once", what);
	is_u64(across(), 0, "%s: none across another", what);
	if (lines)
		is_u64(seen.lines, lines, "%s: lines", what);
}

static void made(void)
{
	const struct event nested[] = {
		call(OP_CU_LAUNCH, 0, 20, 30, 1),
		call(OP_CU_LAUNCH, 0, 40, 50, 1),
		call(OP_CUDA_LAUNCH, 0, 10, 50, 0),
		call(OP_SCHED_OFFCPU, 0, 60, 70, 0),
	};
	/* node, process, thread */
	check("calls inside a call", nested, 4, 4, 3);

	const struct event crossing[] = { call(OP_CUDA_MALLOC, 0, 10, 30, 0),
					  call(OP_CUDA_MALLOC, 0, 20, 40, 0),
					  call(OP_CUDA_MALLOC, 0, 25, 50, 0) };
	/* and two lanes */
	check("calls across", crossing, 3, 3, 5);

	const struct event points[] = { call(OP_SCHED_MIGRATE, 0, 15, 15, 0),
					call(OP_CUDA_MALLOC, 0, 10, 20, 0),
					call(OP_CUDA_FREE, 0, 20, 20, 0),
					call(OP_PROC_EXIT, 1, 20, 20, 0) };
	check("instants and calls of no time", points, 4, 2, 0);

	const struct event io[] = { call(OP_IO_BLOCK, 0, 0, 10, 0), call(OP_IO_BLOCK, 0, 5, 12, 0),
				    call(OP_IO_BLOCK, 0, 11, 20, 0) };
	check("requests at the same time have two lanes", io, 3, 3, 5);

	const struct event twins[] = { call(OP_CUDA_MALLOC, 0, 0, 5, 0),
				       call(OP_CUDA_MALLOC, 1, 0, 5, 0),
				       call(OP_CUDA_MALLOC, 2, 0, 5, 0),
				       call(OP_CUDA_MALLOC, 3, 0, 5, 0) };
	check("the same pid twice", twins, 4, 4, 7);
}

/* A long call with more inside than is held, in two levels. */
static void deep(void)
{
	static struct event v[3002];
	size_t n = 0;
	int64_t t = 10;

	for (unsigned half = 0; half < 2; half++) {
		int64_t from = t;

		for (unsigned i = 0; i < 1500; i++, t += 10)
			v[n++] = call(OP_SCHED_OFFCPU, 0, t + 2, t + 9, 2);
		v[n - 1] = call(OP_CU_CTX_SYNC, 0, from, t, 1);
		t += 5;
	}
	v[n++] = call(OP_CUDA_DEVICE_SYNC, 0, 5, t + 5, 0);
	check("more inside a call than is held", v, n, n, 3);
}

static uint64_t state;

static uint64_t below(uint64_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 20) % n;
}

/* A call with calls inside, of which some are lost; ends in stream order. */
static int64_t tree(struct event *v, size_t *n, size_t max, unsigned thread, int64_t from,
		    unsigned depth)
{
	static const uint16_t ops[] = { OP_CUDA_LAUNCH, OP_CU_LAUNCH, OP_SCHED_OFFCPU,
					OP_CUDA_STREAM_SYNC, OP_MEM_FAULT };
	int64_t t = from + (int64_t)below(3);

	for (unsigned i = (unsigned)below(depth ? 5 : 30); i > 0 && depth < 6; i--)
		t = tree(v, n, max, thread, t, depth + 1) + (int64_t)below(3);
	t += (int64_t)below(20);
	if (*n < max && below(10))
		v[(*n)++] = call(ops[below(5)], thread, from, t, depth);
	return t;
}

static void any(void)
{
	static struct event v[20000];
	static struct record r[64];

	for (unsigned round = 0; round < 120; round++) {
		bool sense = round < 40;
		unsigned nops;
		const struct op_def *ops = op_builtin_all(&nops);
		int64_t t = 1000;
		size_t n = 0, nr = 0, lost;

		state = round + 1;
		while (sense && n < 10000)
			t = tree(v, &n, 10000, 0, t, 0) + (int64_t)below(50);
		while (!sense && n < 5000) {
			struct event *ev = &v[n++];

			*ev = (struct event){
				.op = below(50) ? ops[below(nops)].id : (uint16_t)below(65536),
				.end_ns = (int64_t)below(round % 2 ? 100000 : UINT64_MAX / 2),
				.dur_ns = below(3) ? below(200) : below(UINT64_MAX / 4),
				.depth = (uint16_t)below(below(9) ? 4 : 65536),
				.ret = (int32_t)below(UINT32_MAX),
				.ctx = (uint32_t)below(6),
				.stack = (uint32_t)below(3),
				.present = (uint32_t)below(4096)
			};
			for (unsigned i = 0; i < OP_COLUMNS_MAX; i++)
				ev->x[i] = below(2) ? below(4) : below(UINT64_MAX);
		}
		for (; !sense && nr < 64; nr++) {
			r[nr] = (struct record){ .kind = below(2) ? RECORD_SAMPLE : RECORD_OPEN,
						 .present = (uint32_t)below(UINT32_MAX) };
			for (size_t i = 0; i < sizeof(r[nr].u) / 4; i++)
				((uint32_t *)&r[nr].u)[i] =
					(uint32_t)below(below(2) ? 4 : UINT32_MAX);
		}
		ok(lay(v, n, r, nr) && !seen.wrong, "round %u: %s", round,
		   seen.wrong ? seen.wrong : "laid out");
		is_u64(seen.n + seen.instants, n, "round %u: each event once", round);
		lost = across();
		is_u64(lost, 0, "round %u: none across another", round);
	}
}

int main(void)
{
	make_world();
	made();
	deep();
	any();
	world_free(w);
	return tap_done();
}
