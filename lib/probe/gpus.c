/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readings become records as they come. Invariant: a process that the recording does not know otherwise is named
 * before its first reading.
 */
#include "lib/probe/gpus.h"

#include <stdio.h>
#include <string.h>

#include "lib/probe/statements.h"

void probe_gpus_init(struct probe_gpus *g, struct world *w, uint32_t node,
		     uint32_t (*process)(void *ctx, uint32_t tgid), void *ctx)
{
	struct err why = { 0 };

	g->world = w;
	g->node = node;
	g->process = process;
	g->ctx = ctx;
	if (host_gpus_start(&g->gpus, &why) == 0)
		return;
	host_gpus_stop(g->gpus);
	g->gpus = NULL;
	g->ready = true;
	snprintf(g->text, sizeof(g->text), "%.199s", why.text);
}

void probe_gpus_free(struct probe_gpus *g)
{
	host_gpus_stop(g->gpus);
	g->gpus = NULL;
	map_free(&g->named);
}

static void on_ready(void *ctx, unsigned count, const char *text)
{
	struct probe_gpus *g = ctx;

	g->ready = true;
	g->count = count;
	snprintf(g->text, sizeof(g->text), "%s", text);
}

static void say(struct probe_gpus *g, const struct record *r)
{
	if (g->rc == 0 && probe_thin_wants(g->thin, r))
		g->rc = ige_writer_record(g->writer, r, g->e);
}

/* A process of whom only the GPU knew: readers get its command from here. */
static void name(struct probe_gpus *g, int64_t time_ns, uint32_t tgid, uint32_t process)
{
	uint64_t known;

	if (g->rc || map_get(&g->named, process, &known) || !map_put(&g->named, process, 1))
		return;
	g->rc = probe_say_name(g->writer, g->world, time_ns, tgid, process, g->e);
}

static uint32_t gpu_of(struct probe_gpus *g, const struct host_gpu *gpu)
{
	struct world_gpu v = { .node = g->node,
			       .uuid = world_string(g->world, bytes_of(gpu->uuid)),
			       .name = world_string(g->world, bytes_of(gpu->name)),
			       .index = gpu->index };

	return world_gpu(g->world, &v);
}

static void on_value(void *ctx, int64_t time_ns, const struct host_gpu *gpu,
		     const struct host_gpu_value *v)
{
	struct probe_gpus *g = ctx;
	struct record r = { .kind = RECORD_SAMPLE };

	REC_SET(&r, SAMPLE, time_ns, time_ns);
	REC_SET(&r, SAMPLE, metric, v->metric);
	REC_SET(&r, SAMPLE, value, v->value);
	REC_SET(&r, SAMPLE, gpu, gpu_of(g, gpu));
	if (v->pid) {
		uint32_t process = g->process(g->ctx, v->pid);

		name(g, time_ns, v->pid, process);
		REC_SET(&r, SAMPLE, process, process);
	}
	say(g, &r);
}

int probe_gpus_say(struct probe_gpus *g, struct ige_writer *wr, struct err *e)
{
	struct host_gpus_fn fn = { .ready = on_ready, .value = on_value, .ctx = g };

	g->writer = wr;
	g->e = e;
	g->rc = 0;
	host_gpus_take(g->gpus, &fn);
	return g->rc;
}
