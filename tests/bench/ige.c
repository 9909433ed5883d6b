/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the event file costs, on a launch-heavy stream that is the same every time: 8 processes with two
 * threads each replay runs of calls in order, nested runtime and driver launches for nine events of
 * ten, with jitter to the nanosecond and 7,200 stacks. One line per figure: bench: NAME VALUE UNIT.
 * CPU time, best of several runs. A slow machine shows in calibration_ns.
 */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib/ige/block.h"
#include "lib/ige/reader.h"
#include "lib/ige/writer.h"
#include "lib/world/order.h"

#define EVENTS	  1000000u
#define RANKS	  8
#define THREADS	  16
#define RUN	  127 /* calls a thread repeats */
#define SITES	  450 /* call sites of a thread */
#define REPEATS	  5
#define STACK_MAX 12

static struct event *events;
static struct world *w;

static uint64_t state = 88172645463325252u;

static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double normal(void)
{
	double u = (double)(any() >> 11) / 9007199254740992.0 + 1e-18,
	       v = (double)(any() >> 11) / 9007199254740992.0;

	return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static uint64_t jitter(double about, double sigma)
{
	return (uint64_t)(about * exp(sigma * normal())) + 1;
}

/* ---- the stream ---- */

struct call {
	uint16_t op;
	uint32_t stack;
	uint64_t x[3];
	double dur_ns, gap_ns;
};

struct track {
	uint32_t ctx, waker;
	struct call calls[SITES];
	int64_t now;
	unsigned at, left;
};

static uint32_t make_stack(unsigned rank, uint64_t which)
{
	struct world_module m = { .path = world_string(w, bytes_of("/opt/train/lib.so")) };
	uint32_t module, frames[STACK_MAX];
	char build_id[4] = { (char)('a' + rank), '\0' };

	m.build_id = world_string(w, bytes_of(build_id));
	module = world_module(w, &m);
	for (unsigned i = 0; i < STACK_MAX; i++) {
		struct world_frame f = { .kind = FRAME_NATIVE,
					 .module = module,
					 .offset =
						 0x1000 + (which >> (STACK_MAX - i) / 3) * 64 + i };

		frames[i] = world_frame(w, &f);
	}
	return world_stack(w, frames, STACK_MAX);
}

static void make_call(struct call *c, unsigned rank, uint64_t which)
{
	unsigned kind = (unsigned)(any() % 1000);

	*c = (struct call){ .stack = make_stack(rank, which), .gap_ns = 40000 };
	if (kind < 880) {
		c->op = OP_CUDA_LAUNCH;
		c->x[0] = 0x55d000000000 + rank * 0x10000000 + any() % 300 * 4096;
		c->x[1] = 0x7f2000000000 + any() % 3 * 0x100;
		c->dur_ns = 4500;
	} else if (kind < 950) {
		c->op = OP_CUDA_MEMCPY_ASYNC;
		c->x[0] = 1u << (8 + any() % 18);
		c->x[1] = 1 + any() % 2;
		c->x[2] = 0x7f2000000100;
		c->dur_ns = 6000;
	} else if (kind < 982) {
		c->op = OP_CUDA_STREAM_SYNC;
		c->x[0] = 0x7f2000000100;
		c->dur_ns = 300000;
	} else if (kind < 992) {
		c->op = OP_CUDA_MALLOC;
		c->dur_ns = 20000;
	} else {
		c->op = OP_SCHED_OFFCPU;
		c->stack = 0;
		c->dur_ns = 60000;
	}
}

static uint32_t make_ctx(unsigned t)
{
	struct world_node node = { .uuid = { 9 }, .boot = 1 };
	struct world_process p = { .node = world_node(w, &node),
				   .tgid = 4000 + t / 2,
				   .start_ns = 1000 };
	struct world_image i = { .process = world_process(w, &p) };
	struct world_thread thread = { .process = i.process, .tid = 4000 + t, .start_ns = 1000 };
	struct world_ctx c = { .node = p.node,
			       .image = world_image(w, &i),
			       .thread = world_thread(w, &thread) };

	return world_ctx(w, &c);
}

/* The next call of a track as one event, or two where the runtime calls the driver. */
static unsigned step(struct track *t, struct event *out)
{
	const struct call *c;
	struct event ev = { .ctx = t->ctx };
	const struct op_def *def;

	if (!t->left) {
		t->at = (unsigned)(any() % SITES);
		t->left = 16 + (unsigned)(any() % (RUN - 16));
	}
	c = &t->calls[t->at];
	t->at = (t->at + 1) % SITES;
	t->left--;
	t->now += (int64_t)jitter(c->gap_ns, 0.3);
	ev.op = c->op;
	ev.stack = c->stack;
	ev.dur_ns = jitter(c->dur_ns, 0.15);
	ev.end_ns = t->now += (int64_t)ev.dur_ns;
	def = op_builtin(ev.op);
	if (ev.op == OP_CUDA_MALLOC) {
		event_set(&ev, def, COL_BYTES, 1u << any() % 28);
		event_set(&ev, def, COL_PTR, 0x7f3000000000 + any() % 100000 * 512);
	} else if (ev.op == OP_SCHED_OFFCPU) {
		event_set(&ev, def, COL_WAIT_NS, ev.dur_ns / 3);
		event_set(&ev, def, COL_SYSCALL, 202);
		event_set(&ev, def, COL_WAKER, t->waker);
		event_set(&ev, def, COL_CPU_IN, any() % 32);
	} else {
		ev.present = (1u << def->ncols) - 1;
		memcpy(ev.x, c->x, sizeof(c->x));
	}
	if (ev.op == OP_CUDA_LAUNCH && any() % 10 < 9) {
		out[0] = ev;
		out[0].op = OP_CU_LAUNCH;
		out[0].depth = 1;
		out[0].dur_ns = ev.dur_ns * 7 / 10;
		out[0].end_ns -= (int64_t)(ev.dur_ns / 10);
		out[1] = ev;
		return 2;
	}
	out[0] = ev;
	return 1;
}

static int by_end(const void *a, const void *b)
{
	return world_event_order(w, a, b);
}

static void make_events(void)
{
	struct track *tracks = calloc(THREADS, sizeof(*tracks));
	size_t n = 0;

	w = world_new();
	events = calloc(EVENTS + 1, sizeof(*events));
	if (!tracks || !events || !w)
		abort();
	for (unsigned t = 0; t < THREADS; t++) {
		struct track *track = &tracks[t];

		track->ctx = make_ctx(t);
		track->waker = world_get_ctx(w, track->ctx)->thread;
		track->now = 1000000000 + (int64_t)(any() % 100000);
		for (unsigned i = 0; i < SITES; i++)
			make_call(&track->calls[i], t / 2, t * SITES + i);
	}
	/* The track that is furthest behind goes on. */
	while (n < EVENTS) {
		struct track *least = tracks;

		for (unsigned t = 1; t < THREADS; t++)
			if (tracks[t].now < least->now)
				least = &tracks[t];
		n += step(least, events + n);
	}
	qsort(events, EVENTS, sizeof(*events), by_end);
	free(tracks);
}

/* ---- measuring ---- */

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void figure(const char *name, double value, const char *unit)
{
	printf("bench: %s %.3g %s\n", name, value, unit);
	fflush(stdout);
}

static bool wanted(const char *name)
{
	char *names = getenv("NAMES"), copy[400], *save, *one;

	if (!names || !*names)
		return true;
	snprintf(copy, sizeof(copy), "%s", names);
	for (one = strtok_r(copy, " ", &save); one; one = strtok_r(NULL, " ", &save))
		if (!fnmatch(one, name, 0))
			return true;
	return false;
}

/* A fixed piece of work: the time one step of it takes says how fast the machine is just now. */
static double calibration_ns(void)
{
	double best = 1e9;

	for (int i = 0; i < REPEATS; i++) {
		double t = cpu_s();
		uint64_t h = 1;

		for (unsigned k = 0; k < 20000000; k++)
			h = (h ^ k) * 0x9e3779b97f4a7c15u;
		t = cpu_s() - t;
		if (h && t / 20000000 * 1e9 < best)
			best = t / 20000000 * 1e9;
	}
	return best;
}

struct memory_sink {
	struct ige_sink sink;
	struct buf out;
};

static int put(struct ige_sink *s, enum ige_put_kind kind, const void *p, size_t n, uint32_t count,
	       struct err *e)
{
	(void)kind;
	(void)count;
	(void)e;
	buf_add(&((struct memory_sink *)s)->out, p, n);
	return 0;
}

/* CPU seconds; the recording is in sink->out. */
static double write_all_events(struct memory_sink *sink, uint32_t block_events, unsigned n)
{
	struct ige_writer_options opt = { .block_events = block_events, .clock_id = 1 };
	struct ige_writer *wr;
	struct err e = { 0 };
	double t;
	int rc;

	buf_reset(&sink->out);
	t = cpu_s();
	rc = ige_writer_new(&wr, w, &sink->sink, &opt, &e);
	for (unsigned i = 0; i < n && !rc; i++) {
		rc = ige_writer_event(wr, &events[i], &e);
		if (!rc && i % 4096 == 0)
			rc = ige_writer_flush(wr, events[i].end_ns, events[i].end_ns - 1000000,
					      false, &e);
	}
	if (!rc)
		rc = ige_writer_finish(wr, &e);
	t = cpu_s() - t;
	if (rc || sink->out.failed) {
		fprintf(stderr, "bench: %s\n", e.text);
		exit(1);
	}
	ige_writer_free(wr);
	return t;
}

static int memory_fd(const struct buf *b)
{
	int fd = memfd_create("bench", MFD_CLOEXEC);

	for (size_t at = 0; at < b->n;) {
		ssize_t n = write(fd, b->p + at, b->n - at);

		if (n <= 0)
			abort();
		at += (size_t)n;
	}
	return fd;
}

static double read_structs(int fd, const struct buf *b)
{
	struct world *own = world_new();
	struct ige_reader *r;
	struct event_stream *s;
	struct stream_item item;
	struct err e = { 0 };
	uint64_t n = 0;
	double t;

	(void)b;
	lseek(fd, 0, SEEK_SET);
	t = cpu_s();
	if (ige_reader_open(&r, own, fd, false, "bench", &e))
		abort();
	s = ige_reader_stream(r);
	while (s->next(s, &item, &e) == 1)
		n += item.n;
	t = cpu_s() - t;
	if (n != EVENTS)
		abort();
	ige_reader_free(r);
	world_free(own);
	return t;
}

/* Every integer column of every EVENTS block to arrays, checksums included. */
static double read_columns(int fd, const struct buf *b)
{
	static uint64_t v[IGE_EVENTS_MAX + IGE_ROOM];
	double t = cpu_s();
	uint64_t n = 0;

	(void)fd;
	for (size_t at = 0; at < b->n;) {
		struct ige_view view = { .bytes = (const unsigned char *)b->p + at };
		struct ige_columns columns;
		struct ige_directory d;
		const unsigned char *data;

		if (ige_header_unpack(&view.header, view.bytes, NULL)) {
			at += IGE_SEGMENT_BYTES;
			continue;
		}
		at += view.header.length;
		if (view.header.type != IGE_EVENTS || ige_view_check(&view, NULL))
			continue;
		n += view.header.n;
		ige_columns_begin(&columns, &view);
		while (ige_columns_next(&columns, &d, &data))
			if (!(d.id & IGE_PRESENCE) && ige_column_integers(&d, data, v, NULL))
				abort();
	}
	if (n != EVENTS)
		abort();
	return cpu_s() - t;
}

static double best_of(double (*f)(int, const struct buf *), int fd, const struct buf *b)
{
	double best = 1e9;

	for (int i = 0; i < REPEATS; i++) {
		double t = f(fd, b);

		best = t < best ? t : best;
	}
	return best;
}

int main(void)
{
	struct memory_sink sink = { { put }, { 0 } };
	double best = 1e9, columns, structs;
	size_t size;
	int fd;

	if (!wanted("ige.") && !wanted("ige.bytes_per_event"))
		return 0;
	make_events();
	figure("calibration_ns", calibration_ns(), "ns");
	for (int i = 0; i < REPEATS; i++) {
		double t = write_all_events(&sink, 0, EVENTS);

		best = t < best ? t : best;
	}
	size = sink.out.n;
	fd = memory_fd(&sink.out);
	structs = best_of(read_structs, fd, &sink.out);
	columns = best_of(read_columns, fd, &sink.out);
	figure("ige.bytes_per_event", (double)size / EVENTS, "B");
	figure("ige.write_ns", best / EVENTS * 1e9, "ns");
	figure("ige.read_ns", structs / EVENTS * 1e9, "ns");
	figure("ige.structs_mevps", EVENTS / structs / 1e6, "Mev/s");
	figure("ige.columns_mevps", EVENTS / columns / 1e6, "Mev/s");
	write_all_events(&sink, 100, EVENTS / 4);
	size = sink.out.n;
	write_all_events(&sink, 0, EVENTS / 4);
	figure("ige.flush100_bytes_per_event", (double)size / (EVENTS / 4), "B");
	figure("ige.flush100_ratio", (double)size / (double)sink.out.n, "x");
	close(fd);
	buf_free(&sink.out);
	free(events);
	world_free(w);
	return 0;
}
