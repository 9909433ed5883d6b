/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of several machines: what each has is its own.
 */
#include "lib/emit/meters.h"

#include "lib/emit/prometheus.h"
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

int main(void)
{
	static const uint64_t bytes[] = { 8000, 2000 };
	struct world *w = world_new();
	struct told told = { 0 };
	struct emit em = { .w = w, .told = &told };
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
	return tap_done();
}
