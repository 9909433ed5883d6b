/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small recording with some of everything, made the same way every time: strings, threads,
 * stacks with names, calls with and without stacks, off-CPU intervals with absent columns, records.
 */
#ifndef INGERO_TESTS_FIXTURE_H
#define INGERO_TESTS_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/ige/reader.h"
#include "lib/ige/writer.h"

struct fixture {
	struct world *w;
	uint32_t node, process, thread[2], ctx[2], cpu_ctx, stack[3];
};

static inline void fixture_init(struct fixture *f)
{
	struct world_node node = { .uuid = { 1, 2, 3 }, .boot = 77 };
	struct world_process process = { .tgid = 4242, .start_ns = 1000, .parent = 1, .uid = 1000 };
	struct world_image image = { .exec = 1 };
	struct world_module module = { 0 };
	uint32_t frames[3];

	f->w = world_new();
	node.name = world_string(f->w, bytes_of("gpu-node"));
	f->node = world_node(f->w, &node);
	process.node = f->node;
	f->process = world_process(f->w, &process);
	image.process = f->process;
	image.comm = world_string(f->w, bytes_of("python3"));
	image.cmdline = world_string(f->w, bytes_of("python3 train.py --epochs 3"));
	module.path = world_string(f->w, bytes_of("/usr/lib/libcudart.so.13"));
	module.build_id = world_string(f->w, bytes_of("00ff"));
	for (uint32_t i = 0; i < 3; i++) {
		struct world_frame frame = { .kind = FRAME_NATIVE,
					     .module = world_module(f->w, &module),
					     .offset = 0x1000 + i * 64 };
		struct world_symbol symbol = { .delta = i };
		char name[16];

		snprintf(name, sizeof(name), "function_%u", i);
		symbol.name = world_string(f->w, bytes_of(name));
		frames[i] = world_frame(f->w, &frame);
		world_symbol(f->w, frames[i], &symbol);
		f->stack[i] = world_stack_with_end(f->w, frames, i + 1, i * STACK_FRAME_POINTERS);
	}
	for (uint32_t i = 0; i < 2; i++) {
		struct world_thread thread = { .process = f->process,
					       .tid = 4242 + i,
					       .start_ns = 1000 + i,
					       .comm = image.comm };
		struct world_ctx ctx = { .node = f->node, .image = world_image(f->w, &image) };

		f->thread[i] = ctx.thread = world_thread(f->w, &thread);
		f->ctx[i] = world_ctx(f->w, &ctx);
	}
	f->cpu_ctx = world_ctx(f->w, &(struct world_ctx){ .node = f->node });
}

/* Event number i of the fixture: mostly launches, now and then something with absent columns. */
static inline struct event fixture_event(const struct fixture *f, uint32_t i)
{
	struct event ev = { .end_ns = 1000000000 + (int64_t)i * 1000,
			    .dur_ns = 500 + i % 7,
			    .depth = i % 2,
			    .ctx = f->ctx[i % 2],
			    .stack = f->stack[i % 3] };
	const struct op_def *def;

	switch (i % 8) {
	case 3:
		ev.op = OP_SCHED_OFFCPU;
		ev.stack = 0;
		def = op_builtin(ev.op);
		event_set(&ev, def, COL_WAIT_NS, 100 + i);
		if (i % 16 == 3)
			event_set(&ev, def, COL_WAKER, f->thread[1]);
		event_set(&ev, def, COL_CPU_IN, 1);
		break;
	case 5:
		ev.op = OP_CUDA_MALLOC;
		ev.ret = i % 16 == 5 ? 2 : 0;
		def = op_builtin(ev.op);
		event_set(&ev, def, COL_BYTES, 1u << (i % 30));
		if (!ev.ret)
			event_set(&ev, def, COL_PTR, 0x7f0000000000 + i * 256);
		break;
	case 6:
		ev.op = OP_SCHED_OCCUPIED;
		ev.ctx = f->cpu_ctx;
		ev.stack = 0;
		ev.depth = 0;
		def = op_builtin(ev.op);
		event_set(&ev, def, COL_CPU, 1);
		event_set(&ev, def, COL_OCCUPANT, f->thread[i % 2]);
		break;
	default:
		ev.op = i % 8 == 7 ? OP_CU_LAUNCH : OP_CUDA_LAUNCH;
		def = op_builtin(ev.op);
		event_set(&ev, def, COL_FUNC, 0x400000 + i % 5 * 16);
		event_set(&ev, def, COL_STREAM, 0);
	}
	return ev;
}

/* A sink that keeps the bytes. */
struct fixture_sink {
	struct ige_sink sink;
	struct buf bytes;
};

static inline int fixture_put(struct ige_sink *s, enum ige_put_kind kind, const void *p, size_t n,
			      uint32_t events, struct err *e)
{
	(void)kind;
	(void)events;
	(void)e;
	buf_add(&((struct fixture_sink *)s)->bytes, p, n);
	return 0;
}

static inline struct ige_writer *fixture_writer(struct fixture *f, struct fixture_sink *s,
						uint32_t block_events)
{
	struct ige_writer_options opt = { .block_events = block_events, .boot = 77, .clock_id = 1 };
	struct ige_writer *wr;

	s->sink.put = fixture_put;
	if (ige_writer_new(&wr, f->w, &s->sink, &opt, NULL))
		abort();
	return wr;
}

/* A whole recording of n events in blocks of block_events, with records in front and in the middle.
 */
static inline void fixture_recording(struct fixture *f, struct buf *out, uint32_t n,
				     uint32_t block_events)
{
	struct fixture_sink s = { 0 };
	struct ige_writer *wr = fixture_writer(f, &s, block_events);
	struct record r = { .kind = RECORD_SESSION };
	struct err e = { 0 };
	int rc = 0;

	REC_SET(&r, SESSION, start_ns, -5);
	REC_SET(&r, SESSION, tool, bytes_of("ingero-test"));
	rc |= ige_writer_record(wr, &r, &e);
	for (uint32_t i = 0; i < n; i++) {
		struct event ev = fixture_event(f, i);

		rc |= ige_writer_event(wr, &ev, &e);
		if (i % 50 == 49) {
			struct record sample = { .kind = RECORD_SAMPLE };

			REC_SET(&sample, SAMPLE, time_ns, ev.end_ns);
			REC_SET(&sample, SAMPLE, metric, METRIC_CPU_BUSY);
			REC_SET(&sample, SAMPLE, value, 12.5 + i);
			if (i % 100 == 99)
				REC_SET(&sample, SAMPLE, process, f->process);
			rc |= ige_writer_record(wr, &sample, &e);
		}
	}
	rc |= ige_writer_finish(wr, &e);
	if (rc) {
		fprintf(stderr, "fixture: %s\n", e.text);
		abort();
	}
	ige_writer_free(wr);
	*out = s.bytes;
}

/* A reader over bytes in memory, through a temporary file. */
static inline struct ige_reader *fixture_reader(struct world *w, const void *p, size_t n)
{
	FILE *file = tmpfile();
	struct ige_reader *r;
	int fd;

	if (!file || (n && fwrite(p, 1, n, file) != n) || fflush(file))
		abort();
	fd = dup(fileno(file));
	fclose(file);
	lseek(fd, 0, SEEK_SET);
	if (ige_reader_open(&r, w, fd, true, "test.ige", NULL))
		abort();
	return r;
}

#endif
