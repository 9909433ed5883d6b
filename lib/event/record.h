/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record, as a C struct per kind generated from formats/records.def: struct rec_CLOCK has
 * mono_ns, boot_ns … Text fields are borrowed bytes. `present` tells absent from zero: bit
 * (field number - 1). Setting goes through REC_SET so that it cannot be forgotten.
 */
#ifndef INGERO_EVENT_RECORD_H
#define INGERO_EVENT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/bytes.h"

enum record_kind {
#define RECORD(number, id, name, criticality, scope) RECORD_##id = number,
#include "formats/records.def"
};

enum metric_id {
#define METRIC(number, id, name, unit, kind) METRIC_##id = number,
#include "formats/records.def"
};

enum loss_reason {
	LOSS_RING_FULL = 1,	/* the kernel ring was full: raise --ring */
	LOSS_NO_STATE = 2,	/* no room for the thread's open-call state */
	LOSS_MISSED_RETURN = 3, /* an entry whose return never came (longjmp, killed thread) */
	LOSS_NESTING = 4,	/* deeper than the table of open calls */
	LOSS_QUEUE_FULL = 5,	/* the output was too slow */
	LOSS_DAMAGED = 6,	/* blocks of the file could not be read */
	LOSS_DISK_FULL = 7,
	LOSS_NOT_UNDERSTOOD = 8, /* what the kernel side sent made no sense to the recorder */
};

enum record_type { REC_I64, REC_U64, REC_U32, REC_F64, REC_TEXT };

/* As the event columns' roles; NODE is a world node id. */
enum record_role {
	RROLE_OPAQUE,
	RROLE_TIME,
	RROLE_DURATION,
	RROLE_BYTES,
	RROLE_COUNT,
	RROLE_ENUM,
	RROLE_CPU,
	RROLE_NODE,
	RROLE_PROCESS,
	RROLE_THREAD,
	RROLE_CGROUP,
	RROLE_GPU,
	RROLE_STACK,
};

/* C types of the members. */
#define REC_CTYPE_I64  int64_t
#define REC_CTYPE_U64  uint64_t
#define REC_CTYPE_U32  uint32_t
#define REC_CTYPE_F64  double
#define REC_CTYPE_TEXT struct bytes

/* struct rec_CLOCK, rec_NODE …: each RECORD line closes the struct before it and opens its own. */
struct rec_begin_ {
	char unused;
#define RECORD(number, id, name, criticality, scope) \
	}                                            \
	;                                            \
	struct rec_##id {
#define FIELD(record, number, field, type, unit, role) REC_CTYPE_##type field;
#include "formats/records.def"
};

union record_body {
#define RECORD(number, id, name, criticality, scope) struct rec_##id id;
#include "formats/records.def"
};

/* Field numbers: REC_CLOCK_mono_ns == 1. */
enum record_field_number {
#define FIELD(record, number, field, type, unit, role) REC_##record##_##field = number,
#include "formats/records.def"
};

struct record {
	uint16_t kind; /* enum record_kind */
	uint16_t pad;
	uint32_t present; /* bit (field number - 1) */
	union record_body u;
};

struct record_field {
	uint16_t kind;
	uint16_t number; /* column id within the kind, 1-based */
	const char *name;
	enum record_type type;
	const char *unit;
	enum record_role role;
	uint16_t offset; /* of the member inside union record_body */
};

/* What part of the time a record is about. */
enum record_scope {
	RECORD_WHOLE,  /* all of the recording */
	RECORD_SINCE,  /* from a time on */
	RECORD_AT,     /* one time */
	RECORD_DURING, /* between two times */
};

struct record_def {
	uint16_t kind;
	const char *name;
	bool critical;
	enum record_scope scope;
	uint8_t from, to; /* numbers of its fields with these times; RECORD_WHOLE: 0 */
	const struct record_field *fields; /* in number order */
	unsigned nfields;
};

struct metric_def {
	uint16_t id;
	const char *name;
	const char *unit;
	bool counter;
};

const struct record_def *record_builtin(uint16_t kind); /* NULL when unknown */
const struct record_def *record_builtin_all(unsigned *n);
const struct metric_def *metric_builtin(uint16_t id);
const char *loss_reason_text(uint32_t reason); /* "ring full" … */

static inline bool record_has(const struct record *r, unsigned number)
{
	return r->present >> (number - 1) & 1;
}

/* REC_SET(&r, CLOCK, mono_ns, 5): r.kind must be RECORD_CLOCK. */
#define REC_SET(r, KIND, field, value)                            \
	do {                                                      \
		(r)->u.KIND.field = (value);                      \
		(r)->present |= 1u << (REC_##KIND##_##field - 1); \
	} while (0)

/* REC_HAS(&r, CLOCK, mono_ns) */
#define REC_HAS(r, KIND, field) record_has((r), REC_##KIND##_##field)

/* The time that a record is about, both ends included; open ends are INT64_MIN and INT64_MAX. */
void record_times(const struct record *r, int64_t *from_ns, int64_t *to_ns);

/* Whether it is a CLOCK record that says what time it was. What joining recordings did to a
 * machine's clock is one too (source "merge"). */
bool record_tells_time(const struct record *r);

#endif
