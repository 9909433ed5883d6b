/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of several machines: what each has is its own. Bytes of copies: each once, wherever it
 * was made.
 */
#include "lib/export/meters.h"

#include "lib/export/prometheus.h"
#include "tests/tap.h"

static void tell(struct meters *m, const struct record *r)
{
	struct stream_item item = { .kind = STREAM_RECORD, .record = r };
	struct err e;

	if (meters_item(m, &item, &e))
		ok(false, "records are taken: %s", e.text);
}

static uint32_t machine(struct world *w, const char *name, uint8_t number)
{
	struct world_node n = { .uuid = { number },
				.boot = 1,
				.name = world_string(w, bytes_of(name)) };

	return world_node(w, &n);
}

/* A call of a thread that has returned; bytes < 0: it copies nothing. */
static void call(struct meters *m, struct world *w, uint32_t ctx, uint16_t op, int64_t start,
		 int64_t end, unsigned depth, int64_t bytes)
{
	struct event ev = { .op = op,
			    .end_ns = end,
			    .dur_ns = (uint64_t)(end - start),
			    .depth = (uint16_t)depth,
			    .ctx = ctx };
	struct stream_item item = { .kind = STREAM_EVENTS, .events = &ev, .n = 1 };
	struct err e;

	if (bytes >= 0) {
		event_set(&ev, world_op(w, op), COL_BYTES, (uint64_t)bytes);
		event_set(&ev, world_op(w, op), COL_DIRECTION, 1);
	}
	if (meters_item(m, &item, &e))
		ok(false, "events are taken: %s", e.text);
}

static uint32_t thread(struct world *w, uint32_t tid)
{
	struct world_thread t = { .tid = tid };
	struct world_ctx c = { .thread = world_thread(w, &t) };

	return world_ctx(w, &c);
}

static void is_copied(struct meters *m, const char *bytes, const char *what)
{
	struct buf text = { 0 }, line = { 0 };

	buf_printf(&line, "gpu_memcpy_bytes_total{direction=\"H2D\"} %s\n", bytes);
	ok(meters_settle(m), "is told");
	prometheus_text(&text, m, false);
	like(buf_text(&text), buf_text(&line), "%s", what);
	buf_free(&line);
	buf_free(&text);
}

static void copies(void)
{
	struct world *w = world_new();
	struct late_names told = { 0 };
	struct export_ctx em = { .w = w, .told = &told };
	uint32_t one = thread(w, 1), other = thread(w, 2);
	struct meters m;

	ok(meters_begin(&m, &em), "begins");
	call(&m, w, one, OP_CU_MEMCPY_HTOD, 110, 120, 1, 1000);
	call(&m, w, one, OP_CUDA_MEMCPY, 100, 130, 0, 1000);
	is_copied(&m, "1000", "a copy made by a call of the driver counts once");
	call(&m, w, one, OP_CU_MEMCPY_HTOD, 210, 220, 2, 30);
	call(&m, w, other, OP_CUDA_MEMCPY, 200, 225, 0, 5);
	call(&m, w, one, OP_CUDA_MEMCPY, 205, 230, 1, 30);
	is_copied(&m, "1035", "inside a call that is none it counts while that has not returned");
	for (unsigned i = 0; i < 40; i++) {
		call(&m, w, one, OP_CU_MEMCPY_HTOD, 301 + 10 * i, 305 + 10 * i, 2, 1);
		call(&m, w, one, OP_CUDA_MEMCPY, 300 + 10 * i, 309 + 10 * i, 1, 1);
	}
	call(&m, w, one, OP_NCCL_COMM_INIT_RANK, 200, 800, 0, -1);
	is_copied(&m, "1075", "each of many inside it counts once, and it adds nothing");
	/* The call around it was lost. */
	call(&m, w, one, OP_CU_MEMCPY_HTOD, 910, 920, 1, 100);
	call(&m, w, one, OP_CUDA_MEMCPY, 950, 960, 0, 50);
	is_copied(&m, "1225", "one before a copy is not in it");
	for (unsigned i = 0; i < 100; i++)
		call(&m, w, one, OP_CU_MEMCPY_HTOD, 1010 + i, 1011 + i, 1, 1);
	call(&m, w, one, OP_CUDA_MEMCPY, 1000, 1200, 0, 100);
	is_copied(&m, "1325", "one made of many pieces counts once");
	is_int((int)m.copied.threads.n, 0, "of calls that have returned nothing is kept");
	meters_free(&m);
	world_free(w);
}

int main(void)
{
	static const uint64_t bytes[] = { 8000, 2000 };
	struct world *w = world_new();
	struct late_names told = { 0 };
	struct export_ctx em = { .w = w, .told = &told };
	const uint32_t nodes[] = { machine(w, "large", 1), machine(w, "small", 2) };
	struct buf text = { 0 };
	struct meters m;

	ok(meters_begin(&m, &em), "begins");
	for (unsigned i = 0; i < 2; i++) {
		struct record r = { .kind = RECORD_NODE };

		REC_SET(&r, NODE, node, nodes[i]);
		REC_SET(&r, NODE, memory_bytes, bytes[i]);
		tell(&m, &r);
	}
	for (unsigned i = 0; i < 2; i++) {
		struct record r = { .kind = RECORD_SAMPLE };

		REC_SET(&r, SAMPLE, node, nodes[i]);
		REC_SET(&r, SAMPLE, metric, METRIC_MEM_USED);
		REC_SET(&r, SAMPLE, time_ns, 1);
		REC_SET(&r, SAMPLE, value, 1000);
		tell(&m, &r);
	}
	for (unsigned i = 0; i < 2; i++) {
		struct record r = { .kind = RECORD_SAMPLE };

		REC_SET(&r, SAMPLE, node, nodes[0]);
		REC_SET(&r, SAMPLE, metric, METRIC_DISK_OTHERS);
		REC_SET(&r, SAMPLE, device, 8u << 20 | 16 * i);
		REC_SET(&r, SAMPLE, time_ns, 1);
		REC_SET(&r, SAMPLE, value, 7 + i);
		tell(&m, &r);
	}
	ok(meters_settle(&m), "is told");
	prometheus_text(&text, &m, false);
	like(buf_text(&text), "system_memory_utilization{node=\"large\"} 0.125\n",
	     "a share of the memory of the machine");
	like(buf_text(&text), "system_memory_utilization{node=\"small\"} 0.5\n",
	     "and of the other");
	like(buf_text(&text), "disk_others_requests_total{node=\"large\",device=\"8:0\"} 7\n",
	     "what others asked of a disk");
	like(buf_text(&text), "disk_others_requests_total{node=\"large\",device=\"8:16\"} 8\n",
	     "and of another one");
	buf_free(&text);
	meters_free(&m);
	world_free(w);
	copies();
	return tap_done();
}
