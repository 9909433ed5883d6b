/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings for tests, the same for the same arguments, to standard output. */
#include "tests/reader/make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ige/dict.h"
#include "tests/unit/fixture.h"

static uint64_t seed;

static uint64_t any(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed >> 11;
}

/* Values of every size, small ones often; one draw after the other, whichever a compiler would have
 * evaluated first. */
static uint64_t value(void)
{
	uint64_t high = any() << 32, low = any();

	return (high ^ low) >> any() % 64;
}

static uint32_t subject(struct world *own, enum world_kind kind)
{
	uint32_t n = world_count(own, kind);

	return any() % 8 && n ? (uint32_t)(any() % n) + 1 : 0;
}

static uint32_t name(struct world *own)
{
	char bytes[12];
	size_t n = any() % sizeof(bytes);

	for (size_t i = 0; i < n; i++)
		bytes[i] = (char)any();
	return any() % 10 ? world_string(own, (struct bytes){ bytes, n }) : 0;
}

/* Some more of every kind of thing, the kinds that others refer to first. */
static void things(struct world *own)
{
	struct world_node node_ = { .boot = value(), .name = name(own) };
	struct world_process p;
	struct world_image i;
	struct world_thread t;
	struct world_cgroup g;
	struct world_gpu u;
	struct world_module m;
	struct world_frame f;
	struct world_symbol s;
	struct world_ctx c;
	uint32_t frames[20];
	unsigned n = 1 + (unsigned)(any() % 20);

	node_.uuid[any() % 16] = (uint8_t)any();
	world_node(own, &node_);
	p = (struct world_process){ .node = subject(own, WORLD_NODE),
				    .tgid = (uint32_t)value(),
				    .start_ns = value(),
				    .parent = (uint32_t)any(),
				    .ns_tgid = (uint32_t)any(),
				    .uid = (uint32_t)any() };
	world_process(own, &p);
	i = (struct world_image){ .process = subject(own, WORLD_PROCESS),
				  .exec = (uint32_t)any() % 3,
				  .exe = name(own),
				  .cmdline = name(own),
				  .comm = name(own) };
	world_image(own, &i);
	t = (struct world_thread){ .process = subject(own, WORLD_PROCESS),
				   .tid = (uint32_t)value(),
				   .start_ns = value(),
				   .comm = name(own) };
	world_thread(own, &t);
	g = (struct world_cgroup){ .node = subject(own, WORLD_NODE),
				   .id = value(),
				   .path = name(own) };
	world_cgroup(own, &g);
	u = (struct world_gpu){ .node = subject(own, WORLD_NODE),
				.uuid = name(own),
				.name = name(own),
				.index = (uint32_t)any() % 8 };
	world_gpu(own, &u);
	m = (struct world_module){ .path = name(own), .build_id = name(own) };
	world_module(own, &m);
	f = (struct world_frame){ .kind = (uint8_t)(1 + any() % 4),
				  .module = subject(own, WORLD_MODULE),
				  .offset = value(),
				  .name = any() % 2 ? name(own) : 0,
				  .file = any() % 2 ? name(own) : 0 };
	world_frame(own, &f);
	if (any() % 2) {
		s = (struct world_symbol){ .name = name(own),
					   .file = name(own),
					   .line = (uint32_t)any(),
					   .delta = value() };
		world_symbol(own, subject(own, WORLD_FRAME), &s);
	}
	for (unsigned k = 0; k < n; k++)
		frames[k] = subject(own, WORLD_FRAME);
	world_stack(own, frames, n);
	c = (struct world_ctx){ .node = subject(own, WORLD_NODE),
				.image = subject(own, WORLD_IMAGE),
				.thread = subject(own, WORLD_THREAD),
				.cgroup = subject(own, WORLD_CGROUP),
				.gpu = subject(own, WORLD_GPU) };
	world_ctx(own, &c);
}

static struct event mixed_event(struct world *own, int64_t end)
{
	unsigned n;
	const struct op_def *ops = op_builtin_all(&n), *op = &ops[any() % n];
	struct event ev = { .end_ns = end,
			    .dur_ns = value() >> 12,
			    .op = op->id,
			    .depth = (uint16_t)(any() % 4),
			    .ret = any() % 4 ? 0 : (int32_t)any(),
			    .ctx = subject(own, WORLD_CTX),
			    .stack = any() % 2 ? subject(own, WORLD_STACK) : 0 };

	for (unsigned i = 0; i < op->ncols; i++) {
		int kind = world_kind_of_role(world_column(own, op->cols[i])->role);

		if (any() % 3)
			event_set(&ev, op, op->cols[i],
				  kind >= 0 ? subject(own, (enum world_kind)kind) : value());
	}
	return ev;
}

static void mixed_record(struct world *own, struct record *r, char texts[][40],
			 const struct record_def *def)
{
	static const enum world_kind kinds[] = {
		[RROLE_NODE] = WORLD_NODE,     [RROLE_PROCESS] = WORLD_PROCESS,
		[RROLE_THREAD] = WORLD_THREAD, [RROLE_CGROUP] = WORLD_CGROUP,
		[RROLE_GPU] = WORLD_GPU,       [RROLE_STACK] = WORLD_STACK,
	};

	*r = (struct record){ .kind = def->kind };
	for (unsigned i = 0; i < def->nfields; i++) {
		const struct record_field *f = &def->fields[i];
		char *at = (char *)&r->u + f->offset;
		uint64_t v = value();
		struct bytes t = { texts[i], any() % 40 };
		double d = (double)(int64_t)value() / 7;
		uint32_t u32 = (uint32_t)v;

		if (i && any() % 3 == 0)
			continue;
		for (size_t k = 0; k < t.n; k++)
			texts[i][k] = (char)any();
		if (f->role >= RROLE_NODE)
			u32 = subject(own, kinds[f->role]);
		if (f->type == REC_TEXT)
			memcpy(at, &t, sizeof(t));
		else if (f->type == REC_F64)
			memcpy(at, &d, sizeof(d));
		else if (f->type == REC_U32)
			memcpy(at, &u32, sizeof(u32));
		else
			memcpy(at, &v, sizeof(v));
		r->present |= 1u << (f->number - 1);
	}
}

int make_mixed(uint32_t which, uint32_t n)
{
	struct world *own = world_new();
	struct ige_fd_sink sink;
	struct ige_writer_options opt = { 0 };
	struct ige_writer *wr;
	struct err e = { 0 };
	int64_t now = 1000000000;
	int rc;

	seed = which * 977u + 1;
	opt = (struct ige_writer_options){ .block_events = 1 + (uint32_t)(any() % 200),
					   .segment_bytes = 4000 + any() % 30000,
					   .window_ns = 1000,
					   .boot = value(),
					   .clock_id = 1 };
	ige_fd_sink_init(&sink, STDOUT_FILENO);
	rc = ige_writer_new(&wr, own, &sink.sink, &opt, &e);
	for (uint32_t i = 0; i < n && !rc; i++) {
		struct event ev;

		if (i % 5 == 0)
			things(own);
		now += (int64_t)(value() >> 34);
		ev = mixed_event(own, any() % 50 ? now : now - (int64_t)(any() >> 20));
		rc = ige_writer_event(wr, &ev, &e);
		if (!rc && any() % 20 == 0) {
			char texts[32][40];
			struct record r;
			unsigned kinds;
			const struct record_def *defs = record_builtin_all(&kinds);

			mixed_record(own, &r, texts, &defs[any() % kinds]);
			rc = ige_writer_record(wr, &r, &e);
		}
		if (!rc && any() % 40 == 0) {
			ige_writer_lost(wr, any() % 3);
			rc = ige_writer_flush(wr, now, now - (int64_t)(any() % 1000000),
					      any() % 4 == 0, &e);
		}
	}
	if (!rc)
		rc = ige_writer_finish(wr, &e);
	if (rc)
		fprintf(stderr, "ige_reader: %s\n", e.text);
	ige_writer_free(wr);
	world_free(own);
	return rc != 0;
}

int make_records(uint32_t which)
{
	struct world *own = world_new();
	struct ige_writer_options opt = { .boot = which, .clock_id = 1 };
	struct ige_fd_sink sink;
	struct ige_writer *wr;
	struct err e = { 0 };
	unsigned n;
	const struct record_def *defs = record_builtin_all(&n);
	int rc;

	seed = which;
	ige_fd_sink_init(&sink, STDOUT_FILENO);
	rc = ige_writer_new(&wr, own, &sink.sink, &opt, &e);
	for (unsigned i = 0; i < 10; i++)
		things(own);
	for (unsigned i = 0; i < 3 * n && !rc; i++) {
		char texts[32][40];
		struct record r;

		mixed_record(own, &r, texts, &defs[i / 3]);
		rc = ige_writer_record(wr, &r, &e);
	}
	if (!rc)
		rc = ige_writer_finish(wr, &e);
	ige_writer_free(wr);
	world_free(own);
	return rc != 0;
}

int make_fixture(uint32_t n, uint32_t block)
{
	struct fixture f;
	struct buf out = { 0 };

	fixture_init(&f);
	fixture_recording(&f, &out, n, block);
	fwrite(out.p, 1, out.n, stdout);
	buf_free(&out);
	world_free(f.w);
	return fflush(stdout) != 0;
}

int make_example(void)
{
	struct fixture f;
	struct fixture_sink sink = { 0 };
	struct ige_writer *wr;
	struct record r = { .kind = RECORD_SESSION };
	struct event ev[2];
	struct err e = { 0 };

	fixture_init(&f);
	wr = fixture_writer(&f, &sink, 0);
	ev[0] = fixture_event(&f, 0);
	ev[1] = fixture_event(&f, 5);
	REC_SET(&r, SESSION, start_ns, -5);
	REC_SET(&r, SESSION, tool, bytes_of("ingero-test"));
	if (ige_writer_record(wr, &r, &e) || ige_writer_event(wr, &ev[0], &e) ||
	    ige_writer_event(wr, &ev[1], &e) || ige_writer_finish(wr, &e))
		return 1;
	fwrite(sink.bytes.p, 1, sink.bytes.n, stdout);
	ige_writer_free(wr);
	buf_free(&sink.bytes);
	world_free(f.w);
	return fflush(stdout) != 0;
}
