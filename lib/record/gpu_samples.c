/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes GPU readings as SAMPLE records as they arrive. Invariant: a process that the recording
 * does not know otherwise is named before its first reading.
 */
#include "lib/record/gpu_samples.h"

#include <stdio.h>
#include <string.h>

#include "lib/host/clock.h"
#include "lib/host/gpu_driver.h"
#include "lib/host/visible.h"
#include "lib/record/metadata_records.h"

#define LIBRARY_NS 3000000000 /* so long it may take to begin */
#define LOG_READS \
	1024 /* of the kernel log in one turn: what writes it without end does not hold us */

void record_gpus_init(struct record_gpus *g, struct world *w, uint32_t node,
		      uint32_t (*process)(void *ctx, uint32_t tgid), void *ctx)
{
	struct err why = { 0 };

	g->world = w;
	g->node = node;
	g->process = process;
	g->ctx = ctx;
	g->start_ns = host_clock_mono();
	host_xid_open(&g->kernel_log, &g->log_error);
	if (host_gpus_start(&g->gpus, &why) == 0)
		return;
	host_gpus_stop(g->gpus);
	g->gpus = NULL;
	g->ready = true;
	snprintf(g->text, sizeof(g->text), "%.199s", why.text);
}

void record_gpus_free(struct record_gpus *g)
{
	host_gpus_stop(g->gpus);
	g->gpus = NULL;
	map_free(&g->named);
	vec_free(&g->known);
	if (g->world)
		host_xid_close(&g->kernel_log);
}

static void on_ready(void *ctx, unsigned count, const char *text)
{
	struct record_gpus *g = ctx;

	g->ready = true;
	g->count = count;
	snprintf(g->text, sizeof(g->text), "%s", text);
}

static void write_record(struct record_gpus *g, const struct record *r)
{
	if (g->rc == 0 && deadband_wants(g->thin, r))
		g->rc = ige_writer_record(g->writer, r, g->e);
}

/* Names a process that only the GPU has reported: readers get its command from this record. */
static void write_name(struct record_gpus *g, int64_t time_ns, uint32_t tgid, uint32_t process)
{
	uint64_t known;

	if (g->rc || map_get(&g->named, process, &known) || !map_put(&g->named, process, 1))
		return;
	g->rc = metadata_write_name(g->writer, g->world, time_ns, tgid, process, g->e);
}

static uint32_t gpu_of(struct record_gpus *g, const struct host_gpu *gpu)
{
	struct world_gpu v = { .node = g->node,
			       .uuid = world_string(g->world, bytes_of(gpu->uuid)),
			       .name = world_string(g->world, bytes_of(gpu->name)),
			       .index = gpu->index };

	return world_gpu(g->world, &v);
}

static void remember_gpu(struct record_gpus *g, const struct host_gpu *gpu)
{
	for (size_t i = 0; i < g->known.n; i++)
		if (strcmp(g->known.v[i].uuid, gpu->uuid) == 0)
			return;
	vec_push(&g->known, *gpu);
}

static void write_value(struct record_gpus *g, int64_t time_ns, uint32_t gpu,
			const struct host_gpu_value *v)
{
	struct record r = { .kind = RECORD_SAMPLE };

	REC_SET(&r, SAMPLE, time_ns, time_ns);
	REC_SET(&r, SAMPLE, metric, v->metric);
	REC_SET(&r, SAMPLE, value, v->value);
	REC_SET(&r, SAMPLE, gpu, gpu);
	if (v->pid) {
		uint32_t process = g->process(g->ctx, v->pid);

		write_name(g, time_ns, v->pid, process);
		REC_SET(&r, SAMPLE, process, process);
	}
	write_record(g, &r);
}

static void on_value(void *ctx, int64_t time_ns, const struct host_gpu *gpu,
		     const struct host_gpu_value *v)
{
	struct record_gpus *g = ctx;
	uint32_t id = gpu_of(g, gpu);

	remember_gpu(g, gpu);
	if (v->metric == METRIC_GPU_XID &&
	    !record_xids_new(&g->xids, XID_LIBRARY, id, (uint32_t)v->value, time_ns))
		return;
	write_value(g, time_ns, id, v);
}

static uint32_t gpu_of_xid(struct record_gpus *g, const struct host_xid *xid)
{
	struct host_gpu gpu;

	for (size_t i = 0; i < g->known.n; i++) {
		const struct host_gpu *k = &g->known.v[i];

		if (k->located && k->domain == xid->domain && k->bus == xid->bus &&
		    k->device == xid->device)
			return gpu_of(g, k);
	}
	host_xid_gpu(xid, &gpu);
	return gpu_of(g, &gpu);
}

/* The library has told which GPUs there are, or will not. */
static bool knows_gpus(const struct record_gpus *g)
{
	return record_gpus_settled(g) || host_clock_mono() - g->start_ns > LIBRARY_NS;
}

int record_gpus_say_xids(struct record_gpus *g, struct ige_writer *wr, bool at_end, struct err *e)
{
	struct host_xid xid;
	unsigned left = LOG_READS;

	g->writer = wr;
	g->e = e;
	g->rc = 0;
	if (!g->world || (!at_end && !knows_gpus(g)))
		return 0;
	while (g->rc == 0 && host_xid_next(&g->kernel_log, &left, &xid)) {
		struct host_gpu_value v = { .metric = METRIC_GPU_XID,
					    .pid = xid.pid,
					    .value = xid.number };
		int64_t now = host_clock_mono();
		uint32_t gpu = gpu_of_xid(g, &xid);

		if (record_xids_new(&g->xids, XID_KERNEL_LOG, gpu, xid.number, now))
			write_value(g, now, gpu, &v);
	}
	return g->rc;
}

int record_gpus_say_coverage(const struct record_gpus *g, struct ige_writer *wr, int64_t now_ns,
			     struct err *e)
{
	static const char *const from[] = { "/dev/kmsg", "libnvidia-ml" };
	bool log = g->world && g->kernel_log.fd >= 0, any = g->count > 0;
	struct host_gpu_driver driver;
	int rc = 0;

	for (unsigned i = 0; i < XID_SOURCES; i++)
		any |= g->xids.told[i] > 0;
	if (!g->world || (!any && !host_gpu_driver_read(&driver)))
		return 0;
	for (unsigned i = 0; rc == 0 && i < XID_SOURCES; i++) {
		struct record r = { .kind = RECORD_COVERAGE };
		bool there = i == XID_KERNEL_LOG ? log : g->count > 0;

		REC_SET(&r, COVERAGE, time_ns, now_ns);
		REC_SET(&r, COVERAGE, layer, bytes_of("xid"));
		REC_SET(&r, COVERAGE, path, bytes_of(from[i]));
		REC_SET(&r, COVERAGE, requested, 1);
		REC_SET(&r, COVERAGE, attached, there);
		REC_SET(&r, COVERAGE, failed, !there);
		if (!there)
			REC_SET(&r, COVERAGE, reason,
				bytes_of(i == XID_KERNEL_LOG ? g->log_error.text : g->text));
		REC_SET(&r, COVERAGE, delivered, g->xids.told[i]);
		rc = ige_writer_record(wr, &r, e);
	}
	return rc;
}

int record_gpus_say(struct record_gpus *g, struct ige_writer *wr, struct err *e)
{
	struct host_gpus_fn fn = { .ready = on_ready, .value = on_value, .ctx = g };

	g->writer = wr;
	g->e = e;
	g->rc = 0;
	host_gpus_take(g->gpus, &fn);
	return g->rc;
}

bool record_gpus_settled(const struct record_gpus *g)
{
	return !g->gpus || (g->ready && g->known.n >= g->count) || !host_gpus_alive(g->gpus);
}

/* A GPU of that UUID, or of which that is the beginning, in NVML's spelling; NULL: none, or
 * several. */
static const struct host_gpu *by_uuid(const struct record_gpus *g, struct bytes text)
{
	const struct host_gpu *found = NULL;

	for (size_t i = 0; i < g->known.n; i++)
		if (strncmp(g->known.v[i].uuid, text.p, text.n) == 0) {
			if (found)
				return NULL;
			found = &g->known.v[i];
		}
	return found;
}

/* A process in a container counts those that the container was given. False: not known which those
 * are. */
static bool given_to(const struct record_gpus *g, uint32_t tgid, char gpus[HOST_PLACE_GPUS])
{
	struct err ignored = { 0 };
	struct host_place p;

	gpus[0] = '\0';
	if (host_place_read(&p, tgid, &ignored))
		return false;
	if (g->given)
		host_pods_complete(g->given, &p);
	memcpy(gpus, p.gpus, sizeof(p.gpus));
	return *gpus || p.all_gpus || g->known.n == 1 || (!*p.container && !*p.pod_uid);
}

/* Numbers are the machine's, among the GPUs that are given, only where the process orders by bus,
 * or where there is nothing to order by. */
static const struct host_gpu *by_index(const struct record_gpus *g, const struct host_visible *v,
				       uint32_t tgid, uint32_t index)
{
	const struct host_gpu *found = NULL, *first = NULL;
	char gpus[HOST_PLACE_GPUS];
	bool alike = true;
	uint32_t n = 0;

	if (!given_to(g, tgid, gpus))
		return NULL;
	if (*gpus && !strchr(gpus, ','))
		return index == 0 ? by_uuid(g, bytes_of(gpus)) : NULL;
	for (size_t i = 0; i < g->known.n; i++) {
		const struct host_gpu *gpu = &g->known.v[i];

		if (*gpus && !host_pods_lists(gpus, bytes_of(gpu->uuid)))
			continue;
		if (gpu->slice)
			return NULL; /* of a board in slices only a slice is used, and not known
					which */
		first = first ? first : gpu;
		alike &= strcmp(gpu->name, first->name) == 0;
		if ((*gpus ? n : gpu->index) == index)
			found = gpu;
		n++;
	}
	return alike || v->by_bus ? found : NULL;
}

static const struct host_gpu *find_gpu(const struct record_gpus *g, const uint8_t *uuid,
				       char text[48])
{
	static const char *const kinds[] = { "MIG-", "GPU-" };
	const struct host_gpu *found = NULL;

	for (unsigned k = 0; k < 2 && !found; k++) {
		int n = snprintf(text, 48, "%s", kinds[k]);

		for (unsigned i = 0; i < 16; i++)
			n += snprintf(text + n, 48 - (size_t)n, "%s%02x",
				      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
		found = by_uuid(g, bytes_of(text));
	}
	return found;
}

uint32_t record_gpus_device(struct record_gpus *g, uint32_t tgid, uint32_t ordinal,
			    const uint8_t *uuid, bool *later)
{
	const struct host_gpu *found = NULL;
	struct bytes name = { NULL, 0 };
	struct host_visible v;
	char text[48] = "";
	uint32_t index;

	*later = false;
	if (uuid)
		found = find_gpu(g, uuid, text);
	else if (host_visible_read(&v, tgid)) {
		enum host_visible_kind kind = host_visible_device(&v, ordinal, &index, &name);

		found = kind == HOST_VISIBLE_UUID    ? by_uuid(g, name)
			: kind == HOST_VISIBLE_INDEX ? by_index(g, &v, tgid, index)
						     : NULL;
	}
	if (!found) {
		*later = !record_gpus_settled(g);
		return 0;
	}
	return gpu_of(g, found);
}
