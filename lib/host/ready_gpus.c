/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which GPUs this machine has, with their memory, and which driver: NVML is asked by a child
 * process, /proc tells what is known without it.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/base/fmt.h"
#include "lib/host/gpus.h"
#include "lib/host/ready.h"

#define STEP_MS 10

struct gpu_look {
	struct host_ready_gpus *gpus;
	bool ready;
	bool settled; /* all that can be known of every named GPU is */
};

static void on_ready(void *ctx, unsigned count, const char *text)
{
	struct gpu_look *l = ctx;

	l->ready = true;
	l->gpus->count = count;
	if (count)
		snprintf(l->gpus->driver, sizeof(l->gpus->driver), "%s", text ? text : "");
	else
		snprintf(l->gpus->why, sizeof(l->gpus->why), "%s", text ? text : "");
}

static struct host_ready_gpu *find_gpu(struct host_ready_gpus *g, const struct host_gpu *gpu)
{
	struct host_ready_gpu *v;

	for (unsigned i = 0; i < g->named; i++)
		if (strcmp(g->v[i].uuid, gpu->uuid) == 0)
			return &g->v[i];
	if (g->named == HOST_READY_GPUS)
		return NULL;
	v = &g->v[g->named++];
	memcpy(v->uuid, gpu->uuid, sizeof(v->uuid));
	memcpy(v->name, gpu->name, sizeof(v->name));
	return v;
}

/* A GPU's memory comes before what else is read of it, so the first other reading of the last GPU
 * ends the wait. */
static void on_value(void *ctx, int64_t time_ns, const struct host_gpu *gpu,
		     const struct host_gpu_value *value)
{
	struct gpu_look *l = ctx;
	struct host_ready_gpu *v = find_gpu(l->gpus, gpu);
	bool last = l->gpus->named == HOST_READY_GPUS || l->gpus->named == l->gpus->count;

	if (!v || value->pid)
		return;
	if (value->metric == METRIC_GPU_MEM_USED) {
		v->memory_used = (uint64_t)value->value;
	} else if (value->metric == METRIC_GPU_MEM_TOTAL) {
		v->memory_total = (uint64_t)value->value;
		v->memory_known = true;
	} else if (value->metric == METRIC_GPU_BUSY || value->metric == METRIC_GPU_MEM_BUSY) {
		return;
	}
	l->settled |= last && v == &l->gpus->v[l->gpus->named - 1] &&
		      value->metric != METRIC_GPU_MEM_USED;
}

static void read_gpus(struct host_ready_gpus *g, unsigned wait_ms)
{
	struct gpu_look look = { .gpus = g };
	struct host_gpus_fn fn = { .ready = on_ready, .value = on_value, .ctx = &look };
	struct timespec nap = { .tv_nsec = STEP_MS * 1000000 };
	struct host_gpus *gpus;

	if (host_gpus_start(&gpus, NULL))
		return;
	for (unsigned ms = 0; ms < wait_ms; ms += STEP_MS) {
		bool alive = host_gpus_alive(gpus);

		host_gpus_take(gpus, &fn);
		if (!alive || (look.ready && (g->count == 0 || look.settled)))
			break;
		nanosleep(&nap, NULL);
	}
	host_gpus_take(gpus, &fn);
	host_gpus_stop(gpus);
	if (!look.ready)
		snprintf(g->why, sizeof(g->why), "NVML does not answer");
}

const char *host_gpu_module_name(enum host_gpu_module module)
{
	static const char *const names[] = { NULL, "open kernel module",
					     "proprietary kernel module" };

	return names[module];
}

void host_ready_gpus_text(const struct host_ready_gpus *g, struct buf *out)
{
	for (unsigned i = 0; i < g->named; i++) {
		const struct host_ready_gpu *v = &g->v[i];

		buf_printf(out, "%s%s", i ? "; " : "", *v->name ? v->name : v->uuid);
		if (v->memory_known)
			buf_printf(out, ", %s of %s used", fmt_bytes(v->memory_used).s,
				   fmt_bytes(v->memory_total).s);
	}
	if (g->named && g->count > g->named)
		buf_printf(out, "; and %u more", g->count - g->named);
}

static void append_driver(struct buf *b, const char *version, enum host_gpu_module module)
{
	const char *name = host_gpu_module_name(module);

	buf_printf(b, "NVIDIA driver %s%s%s%s", *version ? version : "of unknown version",
		   name ? " (" : "", name ? name : "", name ? ")" : "");
}

void host_ready_gpus(struct verdicts *to, struct host_ready_gpus *g, unsigned wait_ms)
{
	struct host_gpu_driver driver;
	bool loaded = host_gpu_driver_read(&driver);
	struct buf b = { 0 };

	*g = (struct host_ready_gpus){ .module = driver.module };
	read_gpus(g, wait_ms);
	if (g->count) {
		append_driver(&b, g->driver, g->module);
		buf_printf(&b, ", %u GPU%s%s", g->count, g->count == 1 ? "" : "s",
			   g->named ? ": " : "");
		host_ready_gpus_text(g, &b);
		verdict_say(to, "gpu", VERDICT_GOOD, NULL, "%s", buf_text(&b));
	} else if (loaded) {
		snprintf(g->driver, sizeof(g->driver), "%s", driver.version);
		append_driver(&b, driver.version, driver.module);
		buf_printf(&b, ", %u GPU%s%s%s", driver.gpus, driver.gpus == 1 ? "" : "s",
			   *driver.model ? ": " : "", driver.model);
		verdict_say(to, "gpu", VERDICT_WARN,
			    "GPU health and memory are not recorded until it answers", "%s; %s",
			    buf_text(&b), g->why);
	} else {
		verdict_say(to, "gpu", VERDICT_WARN,
			    "nothing to do if the CUDA programs run elsewhere",
			    "NVIDIA's kernel driver is not loaded: CUDA programs will get errors "
			    "here");
	}
	buf_free(&b);
}
