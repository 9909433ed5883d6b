/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chains of a stream as they stand: CHAIN records are upserts, the newest revision of an id
 * holds, and the order is that of first appearance. With the analysis record, everything a report needs.
 */
#ifndef INGERO_EVENT_CHAIN_H
#define INGERO_EVENT_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"

enum chain_severity { CHAIN_LOW = 1, CHAIN_MEDIUM = 2, CHAIN_HIGH = 3 };

struct chain {
	struct bytes id, match, kind, summary; /* live as long as the list */
	uint32_t revision, severity;
	bool hidden; /* whoever asked did not ask for it */
	int64_t time_ns, first_ns, last_ns;
	uint64_t count, lost_ns;
	struct json body; /* JSON_NONE when the record's text was not JSON, or more than is taken */
	size_t body_size; /* as lib/model/body.h counts */
};

/* Zero-initialised is empty. */
struct chain_list {
	VEC(struct chain) v;
	struct arena texts;
	struct json analysis;	    /* body of the newest ANALYSIS record */
	bool analyzed;		    /* there was one */
	size_t analysis_size, size; /* of it, and of all bodies (lib/model/body.h) */
};

/* Takes CHAIN and ANALYSIS records, ignores others. JSON that is damaged, or more than is taken, is no error: the
 * body is then JSON_NONE. */
int chain_list_add(struct chain_list *list, const struct record *r, struct err *e);

/* Most severe first, then most lost. */
void chain_list_sort(struct chain_list *list);

void chain_list_free(struct chain_list *list);

/* "LOW", "MEDIUM", "HIGH" */
const char *chain_severity_name(uint32_t severity);

#endif
