/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is told of one machine does not lie on figures of another: two nodes in one stream, each
 * with CPUs, samples and a clock of its own.
 */
#include "tests/tap.h"

#include "lib/account/nodes.h"
#include "tests/unit/kinds.h"

#define LENGTH (5000 * MS)
#define EVERY  (10 * MS)

static uint32_t second_node(struct stage *s)
{
	struct world_node n = { .uuid = { 9, 9, 9 }, .boot = 8 };

	n.name = world_string(s->w, bytes_of("otherhost"));
	return world_node(s->w, &n);
}

static void cpus(struct stage *s, uint32_t node, uint32_t n)
{
	struct record *r = stage_record(s, RECORD_NODE);

	REC_SET(r, NODE, node, node);
	REC_SET(r, NODE, cpus, n);
}

static void sample(struct stage *s, uint32_t node, enum metric_id metric, double value)
{
	struct record *r = stage_record(s, RECORD_SAMPLE);

	REC_SET(r, SAMPLE, metric, metric);
	REC_SET(r, SAMPLE, value, value);
	REC_SET(r, SAMPLE, node, node);
}

static void began(struct stage *s, uint32_t node, int64_t boot_ns)
{
	struct record *r = stage_record(s, RECORD_CLOCK);

	REC_SET(r, CLOCK, mono_ns, 0);
	REC_SET(r, CLOCK, boot_ns, boot_ns);
	REC_SET(r, CLOCK, node, node);
}

/* One chain, in whose body this is. */
static void evidences(struct stage *s, const char *kind, const char *text)
{
	struct kinds_run p;

	analyze(s, &p);
	ok(p.list.v.n == 1, "%s: one chain", kind);
	for (size_t i = 0; i < p.list.v.n; i++) {
		struct buf body = { 0 };

		buf_add(&body, p.list.v.v[i].json.p, p.list.v.v[i].json.n);
		is_str(p.list.v.v[i].kind.p, kind, "%s: its kind", kind);
		like(buf_text(&body), text, "%s: %s", kind, text);
		buf_free(&body);
	}
	chain_list_free(&p.list);
}

static void calls(struct stage *s, struct actor v)
{
	for (int64_t t = 0; t < LENGTH; t += 2 * MS) {
		if (t % EVERY)
			stage_call(s, v, OP_CUDA_LAUNCH, 0, t + MS, t + MS + 200 * US);
	}
}

static void both(struct stage *s, uint32_t a, uint32_t b)
{
	cpus(s, a, 2);
	cpus(s, b, 64);
	sample(s, a, METRIC_CPU_BUSY, 90);
	sample(s, b, METRIC_CPU_BUSY, 10);
	sample(s, a, METRIC_MEM_AVAILABLE, 4096);
	sample(s, b, METRIC_MEM_AVAILABLE, 8192);
}

static void hogged(struct stage *s, struct actor v, struct actor hog)
{
	calls(s, v);
	for (int64_t t = 0; t < LENGTH; t += EVERY) {
		stage_offcpu(s, v, 0, t, t + MS, MS, 0);
		stage_occupied(s, hog, 0, t, t + MS);
	}
}

/* The first call takes long, and a thousand after it do not. */
static void cold(struct stage *s, struct actor v)
{
	stage_call(s, v, OP_CUDA_LAUNCH, 0, 0, 400 * MS);
	for (int64_t t = 500 * MS; t < LENGTH; t += 4 * MS)
		stage_call(s, v, OP_CUDA_LAUNCH, 0, t, t + 10 * US);
}

/* A file may name as many machines as it likes. */
static void crowd(void)
{
	struct world *w = world_new();
	struct cause_nodes n = { 0 };
	struct record r = { .kind = RECORD_SAMPLE };
	uint32_t last = 0;

	for (uint32_t i = 0; i < 100 * CAUSE_NODES; i++) {
		struct world_node node = { .boot = i };

		last = world_node(w, &node);
	}
	REC_SET(&r, SAMPLE, metric, METRIC_CPU_BUSY);
	REC_SET(&r, SAMPLE, value, 50);
	REC_SET(&r, SAMPLE, node, last);
	ok(cause_nodes_record(&n, w, &r) && n.v.n <= CAUSE_NODES + 1,
	   "of %u machines the last one takes no room", last);
	REC_SET(&r, SAMPLE, node, CAUSE_NODES);
	ok(cause_nodes_record(&n, w, &r), "one that there is room for is known");
	ok(cause_nodes_metric(&n, CAUSE_NODES, METRIC_CPU_BUSY)->last == 50, "by its samples");
	cause_nodes_free(&n);
	world_free(w);
}

int main(void)
{
	struct stage s = stage_new();
	uint32_t a = s.node, b = second_node(&s);
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     hog = stage_actor(&s, 200, 200, 50, "hog"), w;

	s.node = b;
	w = stage_actor(&s, 100, 100, 1, "train");
	s.node = a;

	both(&s, a, b);
	hogged(&s, v, hog);
	evidences(&s, "cpu-preempted", "taskset -a -c -p 1 200");
	both(&s, a, b);
	hogged(&s, v, hog);
	evidences(&s, "cpu-preempted", "CPU busy 90 % on average\"");

	both(&s, a, b);
	calls(&s, w);
	stage_event(&s, OP_PROC_OOM, w.ctx, 0, LENGTH, LENGTH);
	evidences(&s, "oom-kill",
		  "\"memory available on the machine before\",\"value\":8192,\"unit\":\"B\"");
	both(&s, a, b);
	calls(&s, v);
	stage_event(&s, OP_PROC_OOM, v.ctx, 0, LENGTH, LENGTH);
	evidences(&s, "oom-kill",
		  "\"memory available on the machine before\",\"value\":4096,\"unit\":\"B\"");

	/* its process started 0.1 ms after its machine did */
	began(&s, a, 50 * US);
	began(&s, b, 1000 * MS);
	cold(&s, w);
	silent(&s,
	       "a process that is older than its machine's recording, and younger than the other "
	       "machine");
	began(&s, a, 1000 * MS);
	began(&s, b, 50 * US);
	cold(&s, w);
	tells(&s, "cold-start", "train (pid 100) on otherhost starts cold", 400 * MS - 10 * US);
	stage_free(&s);
	crowd();
	return tap_done();
}
