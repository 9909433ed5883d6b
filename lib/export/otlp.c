/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes metrics as opentelemetry-proto's JSON: 64-bit integers are strings, enums numbers.
 * Counters and histograms are cumulative since the recording began.
 */
#include "lib/export/otlp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/jsonw.h"

#define CUMULATIVE 2 /* AGGREGATION_TEMPORALITY_CUMULATIVE */

static void append_attribute(struct jsonw *j, const char *key, struct bytes text)
{
	jsonw_object_begin(j);
	jsonw_key_str(j, "key", key);
	jsonw_key_object(j, "value");
	jsonw_key_bytes(j, "stringValue", text.p ? text : bytes_of(""));
	jsonw_object_end(j);
	jsonw_object_end(j);
}

static void unix_time(struct jsonw *j, const struct export_ctx *em, const char *key, int64_t ns)
{
	char digits[24];

	if (!em->told->has_real)
		return;
	snprintf(digits, sizeof(digits), "%" PRId64, ns + em->told->real_minus_mono_ns);
	jsonw_key_str(j, key, digits);
}

static void string_u64(struct jsonw *j, uint64_t v)
{
	jsonw_id(j, v);
}

static void append_histogram(struct jsonw *j, const struct meter_point *p)
{
	jsonw_key(j, "count");
	string_u64(j, p->count);
	jsonw_key_double(j, "sum", (double)p->sum_ns / 1e9);
	jsonw_key_array(j, "bucketCounts");
	for (unsigned i = 0; i <= METERS_BOUNDS; i++)
		string_u64(j, p->buckets[i]);
	jsonw_array_end(j);
	jsonw_key_array(j, "explicitBounds");
	for (unsigned i = 0; i < METERS_BOUNDS; i++)
		jsonw_double(j, (double)meters_bounds_ns[i] / 1e9);
	jsonw_array_end(j);
}

static void append_point(struct jsonw *j, const struct meters *m, const struct meter_family *f,
			 const struct meter_point *p)
{
	jsonw_object_begin(j);
	jsonw_key_array(j, "attributes");
	for (unsigned i = 0; i < METER_LABELS && p->labels[i].key; i++)
		append_attribute(j, p->labels[i].key, world_text(m->em->w, p->labels[i].text));
	jsonw_array_end(j);
	if (f->type != METER_GAUGE && m->begin_ns != INT64_MAX)
		unix_time(j, m->em, "startTimeUnixNano", m->begin_ns);
	unix_time(j, m->em, "timeUnixNano", p->time_ns);
	if (f->type == METER_HISTOGRAM)
		append_histogram(j, p);
	else
		jsonw_key_double(j, "asDouble", p->value);
	jsonw_object_end(j);
}

static bool has_points_of(const struct meter_family *f, uint32_t node)
{
	for (size_t i = 0; i < f->points.n; i++)
		if (f->points.v[i].node == node)
			return true;
	return false;
}

static void append_family(struct jsonw *j, const struct meters *m, const struct meter_family *f,
			  uint32_t node)
{
	static const char *const kinds[] = { "gauge", "sum", "histogram" };

	jsonw_object_begin(j);
	jsonw_key_str(j, "name", f->dotted);
	jsonw_key_str(j, "description", f->help);
	jsonw_key_str(j, "unit", f->unit);
	jsonw_key_object(j, kinds[f->type]);
	jsonw_key_array(j, "dataPoints");
	for (size_t i = 0; i < f->points.n; i++)
		if (f->points.v[i].node == node)
			append_point(j, m, f, &f->points.v[i]);
	jsonw_array_end(j);
	if (f->type != METER_GAUGE)
		jsonw_key_u64(j, "aggregationTemporality", CUMULATIVE);
	if (f->type == METER_COUNTER)
		jsonw_key_bool(j, "isMonotonic", true);
	jsonw_object_end(j);
	jsonw_object_end(j);
}

static void append_resource(struct jsonw *j, const struct meters *m, uint32_t node)
{
	const struct world_node *n = world_get_node(m->em->w, node);

	jsonw_object_begin(j);
	jsonw_key_object(j, "resource");
	jsonw_key_array(j, "attributes");
	append_attribute(j, "service.name", bytes_of("ingero"));
	if (m->em->opt.version)
		append_attribute(j, "service.version", bytes_of(m->em->opt.version));
	if (n)
		append_attribute(j, "host.name", world_text(m->em->w, n->name));
	jsonw_array_end(j);
	jsonw_object_end(j);
	jsonw_key_array(j, "scopeMetrics");
	jsonw_object_begin(j);
	jsonw_key_object(j, "scope");
	jsonw_key_str(j, "name", "ingero");
	jsonw_object_end(j);
	jsonw_key_array(j, "metrics");
	for (size_t i = 0; i < m->table.families.n; i++)
		if (has_points_of(&m->table.families.v[i], node))
			append_family(j, m, &m->table.families.v[i], node);
	jsonw_array_end(j);
	jsonw_object_end(j);
	jsonw_array_end(j);
	jsonw_object_end(j);
}

void otlp_metrics(struct buf *out, struct meters *m)
{
	uint32_t nodes = world_count(m->em->w, WORLD_NODE);
	struct jsonw j;

	jsonw_init(&j, out, false);
	jsonw_object_begin(&j);
	jsonw_key_array(&j, "resourceMetrics");
	for (uint32_t node = 0; node <= nodes; node++) {
		bool any = false;

		for (size_t i = 0; !any && i < m->table.families.n; i++)
			any = has_points_of(&m->table.families.v[i], node);
		if (any)
			append_resource(&j, m, node);
	}
	jsonw_array_end(&j);
	jsonw_object_end(&j);
}
