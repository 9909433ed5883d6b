/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns SAMPLE records into the values of exported metrics. A metric added to formats/records.def
 * is exported without further code: its name gives the exported name, its unit the exported unit
 * and scale.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/export/meters.h"

struct unit {
	const char *ours, *theirs;
	double scale;
};

/* Ours as in formats/records.def; theirs base units of UCUM, and what to multiply with. */
static const struct unit units[] = {
	{ "%", "1", 0.01 },   { "B", "By", 1 },	    { "ns", "s", 1e-9 }, { "us", "s", 1e-6 },
	{ "Hz", "Hz", 1 },    { "W", "W", 1 },	    { "J", "J", 1 },	 { "C", "Cel", 1 },
	{ "B/s", "By/s", 1 }, { "", "{value}", 1 },
};

/* Where OpenTelemetry, or the Go agent, has a name for it. */
static const char *const known[][2] = {
	{ "cpu.busy", "system.cpu.utilization" },
	{ "load.1m", "system.cpu.load_average.1m" },
	{ "mem.available", "system.memory.usage.available" },
	{ "mem.used", "system.memory.usage" },
	{ "swap.used", "system.paging.usage" },
	{ "procs.running", "system.processes.running" },
	{ "gpu.memory_used", "gpu.memory.used" },
	{ "gpu.memory_total", "gpu.memory.total" },
};

static void name_of(char *out, size_t size, const char *metric)
{
	static const char *const ours[] = { "process.", "cgroup.", "recorder.", "disk.", "tcp." };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(metric, known[i][0])) {
			snprintf(out, size, "%s", known[i][1]);
			return;
		}
	}
	if (!strncmp(metric, "gpu.", 4)) {
		snprintf(out, size, "%s", metric);
		return;
	}
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (!strncmp(metric, ours[i], strlen(ours[i]))) {
			snprintf(out, size, "ingero.%s", metric);
			return;
		}
	}
	snprintf(out, size, "system.%s", metric);
}

static uint32_t intern_number(struct meters *m, uint64_t v)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)v);
	return world_string(m->em->w, bytes_of(digits));
}

/* "8:16", as the kernel writes a block device. */
static uint32_t intern_device(struct meters *m, uint32_t v)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%u:%u", v >> 20, v & 0xfffff);
	return world_string(m->em->w, bytes_of(digits));
}

/* The labels of the sample's subject. */
static void fill_subject_labels(struct meters *m, const struct rec_SAMPLE *r,
				const struct record *rec, struct meter_label *labels)
{
	const struct world *w = m->em->w;
	const struct world_process *p = world_get_process(w, r->process);
	const struct world_cgroup *c = world_get_cgroup(w, r->cgroup);
	const struct world_gpu *g = world_get_gpu(w, r->gpu);
	unsigned n = 0;

	if (p)
		labels[n++] = (struct meter_label){ "pid", intern_number(m, p->tgid) };
	if (c)
		labels[n++] = (struct meter_label){ "cgroup", c->path };
	if (g) {
		labels[n++] = (struct meter_label){ "gpu_uuid", g->uuid };
		labels[n++] = (struct meter_label){ "gpu", intern_number(m, g->index) };
	}
	if (REC_HAS(rec, SAMPLE, cpu))
		labels[n++] = (struct meter_label){ "cpu", intern_number(m, r->cpu) };
	if (REC_HAS(rec, SAMPLE, device))
		labels[n++] = (struct meter_label){ "device", intern_device(m, r->device) };
}

static void set_point(struct meters *m, int family, uint32_t node, const struct meter_label *labels,
		      int64_t time_ns, double value)
{
	struct meter_point *p =
		family < 0 ? NULL : meter_point(&m->table, (unsigned)family, node, labels);

	if (p) {
		p->value = value;
		p->time_ns = time_ns;
	}
}

/* An XID is an event with a number, not a value: each counts. */
static bool count_xid(struct meters *m, const struct rec_SAMPLE *r, const struct record *rec,
		      uint32_t node)
{
	struct meter_label labels[METER_LABELS] = { { 0 } };
	unsigned n = 0;
	struct meter_point *p;
	int family = meter_family(&m->table, "gpu.xid.errors", "{error}",
				  "Errors of GPUs that the driver told, by XID", METER_COUNTER);

	if (family < 0)
		return false;
	fill_subject_labels(m, r, rec, labels);
	while (n < METER_LABELS && labels[n].key)
		n++;
	if (n < METER_LABELS)
		labels[n] = (struct meter_label){ "xid", intern_number(m, (uint64_t)r->value) };
	p = meter_point(&m->table, (unsigned)family, node, labels);
	if (p) {
		p->value++;
		p->time_ns = r->time_ns;
	}
	return true;
}

bool meters_sample(struct meters *m, const struct rec_SAMPLE *r, const struct record *rec)
{
	const struct metric_def *def = metric_builtin((uint16_t)r->metric);
	struct meter_label labels[METER_LABELS] = { { 0 } };
	const struct unit *unit = &units[sizeof(units) / sizeof(units[0]) - 1];
	uint32_t node = meters_node(m, r->node);
	uint64_t all = 0;
	char dotted[80];
	int family;

	/* NaN and infinity are no values: readers of metrics have no text for them. */
	if (!def || !isfinite(r->value))
		return true;
	if (r->metric == METRIC_GPU_XID)
		return count_xid(m, r, rec, node);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(def->unit, units[i].ours))
			unit = &units[i];
	name_of(dotted, sizeof(dotted), def->name);
	fill_subject_labels(m, r, rec, labels);
	family = meter_family(&m->table, dotted, unit->theirs, def->name,
			      def->counter ? METER_COUNTER : METER_GAUGE);
	if (family < 0)
		return false;
	set_point(m, family, node, labels, r->time_ns, r->value * unit->scale);
	if (r->metric == METRIC_MEM_USED &&
	    (map_get(&m->memory, node, &all) || map_get(&m->memory, 0, &all)) && all) {
		family = meter_family(&m->table, "system.memory.utilization", "1",
				      "Share of the machine's memory that is used", METER_GAUGE);
		if (family < 0)
			return false;
		set_point(m, family, node, labels, r->time_ns, r->value / (double)all);
	}
	return true;
}
