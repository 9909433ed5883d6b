/* SPDX-License-Identifier: Apache-2.0 */
/* Record kinds, their fields and the sampled metrics, unfolded from formats/records.def. */
#include "lib/event/record.h"

#include <string.h>

/* fields_CLOCK[], fields_NODE[] …: each RECORD line closes the array before it, and opens one. */
static const struct record_field fields_begin_[] __attribute__((unused)) = {
	{ 0 },
#define RECORD(number, id, name, criticality, scope) \
	}                                            \
	;                                            \
	static const struct record_field fields_##id[] = {
#define FIELD(record_, number_, field_, type_, unit_, role_) \
	{ RECORD_##record_,                                  \
	  number_,                                           \
	  #field_,                                           \
	  REC_##type_,                                       \
	  unit_,                                             \
	  RROLE_##role_,                                     \
	  offsetof(union record_body, record_.field_) },
#include "formats/records.def"
};

enum criticality { SKIPPABLE, CRITICAL };

#define WHOLE		     RECORD_WHOLE, 0, 0
#define SINCE(id, from)	     RECORD_SINCE, REC_##id##_##from, 0
#define AT(id, at)	     RECORD_AT, REC_##id##_##at, REC_##id##_##at
#define DURING(id, from, to) RECORD_DURING, REC_##id##_##from, REC_##id##_##to

static const struct record_def records[] = {
#define RECORD(number, id, name_, criticality, scope)   \
	{ number, name_,       criticality == CRITICAL, \
	  scope,  fields_##id, sizeof(fields_##id) / sizeof(fields_##id[0]) },
#include "formats/records.def"
};

static const struct metric_def metrics[] = {
#define GAUGE				     false
#define COUNTER				     true
#define METRIC(number, id, name, unit, kind) { number, name, unit, kind },
#include "formats/records.def"
};

#define RECORDS_N (sizeof(records) / sizeof(records[0]))

const struct record_def *record_builtin(uint16_t kind)
{
	for (size_t i = 0; i < RECORDS_N; i++)
		if (records[i].kind == kind)
			return &records[i];
	return NULL;
}

const struct record_def *record_builtin_all(unsigned *n)
{
	*n = RECORDS_N;
	return records;
}

const struct metric_def *metric_builtin(uint16_t id)
{
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		if (metrics[i].id == id)
			return &metrics[i];
	return NULL;
}

/* otherwise: a field that is missing, or that the kind does not have. */
static int64_t time_of(const struct record *r, const struct record_def *def, unsigned number,
		       int64_t otherwise)
{
	int64_t ns;

	for (unsigned i = 0; number && i < def->nfields; i++) {
		if (def->fields[i].number != number || !record_has(r, number))
			continue;
		memcpy(&ns, (const char *)&r->u + def->fields[i].offset, sizeof(ns));
		return ns;
	}
	return otherwise;
}

void record_times(const struct record *r, int64_t *from_ns, int64_t *to_ns)
{
	const struct record_def *def = record_builtin(r->kind);

	*from_ns = def ? time_of(r, def, def->from, INT64_MIN) : INT64_MIN;
	*to_ns = def ? time_of(r, def, def->to, INT64_MAX) : INT64_MAX;
}

const char *loss_reason_text(uint32_t reason)
{
	switch (reason) {
	case LOSS_RING_FULL:
		return "ring full";
	case LOSS_NO_STATE:
		return "no room for thread state";
	case LOSS_MISSED_RETURN:
		return "return never seen";
	case LOSS_NESTING:
		return "nested too deeply";
	case LOSS_QUEUE_FULL:
		return "output too slow";
	case LOSS_DAMAGED:
		return "file damaged";
	case LOSS_DISK_FULL:
		return "disk full";
	case LOSS_NOT_UNDERSTOOD:
		return "not understood";
	default:
		return "unknown reason";
	}
}

bool record_tells_time(const struct record *r)
{
	return r->kind == RECORD_CLOCK && REC_HAS(r, CLOCK, real_ns) &&
	       !bytes_equal(r->u.CLOCK.source, bytes_of("merge"));
}
