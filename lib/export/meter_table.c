/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of exported metrics with their OpenTelemetry and Prometheus names.
 */
#include "lib/export/meter_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

/* 1, 2.5, 5 of each decade from the cost of a cheap call to that of a hung one. */
const uint64_t meters_bounds_ns[METERS_BOUNDS] = {
	US,	  5 * US / 2, 5 * US,	  10 * US,   25 * US, 50 * US, 100 * US, 250 * US,
	500 * US, MS,	      5 * MS / 2, 5 * MS,    10 * MS, 25 * MS, 50 * MS,	 100 * MS,
	250 * MS, 500 * MS,   S,	  5 * S / 2, 5 * S,   10 * S,  30 * S,	 60 * S
};

void meter_table_free(struct meter_table *t)
{
	for (size_t i = 0; i < t->families.n; i++) {
		for (size_t k = 0; k < t->families.v[i].points.n; k++)
			free(t->families.v[i].points.v[k].buckets);
		vec_free(&t->families.v[i].points);
	}
	vec_free(&t->families);
	map_free(&t->by_key);
}

/* What Prometheus appends for a unit; those in braces are annotations and say nothing. */
static const char *unit_word(const char *unit, enum meter_type type)
{
	static const char *const words[][2] = {
		{ "s", "_seconds" },
		{ "By", "_bytes" },
		{ "Hz", "_hertz" },
		{ "W", "_watts" },
		{ "J", "_joules" },
		{ "Cel", "_celsius" },
		{ "By/s", "_bytes_per_second" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(unit, words[i][0]))
			return words[i][1];
	return !strcmp(unit, "1") && type == METER_GAUGE ? "_ratio" : "";
}

static bool ends_with(const char *text, const char *with)
{
	size_t n = strlen(text), k = strlen(with);

	return n >= k && !strcmp(text + n - k, with);
}

/* Names that people's dashboards have already. */
static const char *kept_name(const char *dotted)
{
	static const char *const kept[][2] = {
		{ "system.cpu.utilization", "system_cpu_utilization" },
		{ "system.memory.utilization", "system_memory_utilization" },
		{ "system.memory.usage.available", "system_memory_usage_available" },
		{ "system.cpu.load_average.1m", "system_cpu_load_average_1m" },
		{ "gpu.cuda.operation.count", "gpu_cuda_operations_total" },
		{ "ingero.anomaly.count", "ingero_anomaly_count" },
		{ "ingero.lost.time", "ingero_lost_time_seconds" },
	};

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (!strcmp(dotted, kept[i][0]))
			return kept[i][1];
	return NULL;
}

static void prometheus_name(struct meter_family *f)
{
	const char *kept = kept_name(f->dotted), *unit = unit_word(f->unit, f->type);
	size_t n;

	if (kept) {
		snprintf(f->name, sizeof(f->name), "%s", kept);
		return;
	}
	snprintf(f->name, sizeof(f->name), "%s", f->dotted);
	for (char *c = f->name; *c; c++)
		*c = *c == '.' ? '_' : *c;
	n = strlen(f->name);
	snprintf(f->name + n, sizeof(f->name) - n, "%s%s", ends_with(f->name, unit) ? "" : unit,
		 f->type == METER_COUNTER ? "_total" : "");
}

int meter_family(struct meter_table *t, const char *dotted, const char *unit, const char *help,
		 enum meter_type type)
{
	struct meter_family f = { .unit = unit, .help = help, .type = type };

	for (size_t i = 0; i < t->families.n; i++)
		if (!strcmp(t->families.v[i].dotted, dotted))
			return (int)i;
	snprintf(f.dotted, sizeof(f.dotted), "%s", dotted);
	prometheus_name(&f);
	return vec_push(&t->families, f) ? (int)t->families.n - 1 : -1;
}

struct meter_point *meter_point(struct meter_table *t, unsigned family, uint32_t node,
				const struct meter_label *labels)
{
	struct meter_family *f = &t->families.v[family];
	struct meter_point p = { .node = node };
	uint64_t key = hash_u64((uint64_t)family << 32 | node), at;

	for (unsigned i = 0; i < METER_LABELS && labels[i].key; i++) {
		p.labels[i] = labels[i];
		key = hash_u64(key ^ labels[i].text) + i;
	}
	if (map_get(&t->by_key, key, &at))
		return &f->points.v[at - 1];
	if (t->points >= METERS_POINTS) {
		t->dropped++;
		return NULL;
	}
	if (f->type == METER_HISTOGRAM &&
	    !(p.buckets = calloc(METERS_BOUNDS + 1, sizeof(*p.buckets))))
		return NULL;
	if (!vec_push(&f->points, p) || !map_put(&t->by_key, key, f->points.n)) {
		free(p.buckets);
		t->dropped++;
		return NULL;
	}
	t->points++;
	return &f->points.v[f->points.n - 1];
}
