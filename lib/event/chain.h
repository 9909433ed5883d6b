/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chains of a stream as they stand: CHAIN records are upserts, the newest revision of an id
 * holds, and the order is that of first appearance. With the analysis record, everything a report
 * needs.
 */
#ifndef INGERO_EVENT_CHAIN_H
#define INGERO_EVENT_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"
#include "lib/model/finding.h"
#include "lib/model/paths.h"

/* Zero-initialised is empty. */
struct chain_list {
	VEC(struct finding) v;
	struct arena texts;	    /* of the findings' own columns */
	struct json analysis;	    /* body of the newest ANALYSIS record */
	struct paths paths;	    /* its member "paths" */
	bool analyzed;		    /* there was one */
	size_t analysis_size, size; /* of both, and of them and all evidence (lib/model/body.h) */
};

/* Takes CHAIN and ANALYSIS records, ignores others. JSON that is damaged, or more than is taken, is
 * no error: the finding has no evidence then, the analysis is JSON_NONE. */
int chain_list_add(struct chain_list *list, const struct record *r, struct err *e);

/* Most severe first, then most lost. */
void chain_list_sort(struct chain_list *list);

void chain_list_free(struct chain_list *list);

/* Counts findings: ids gets one entry for each, however often it was revised. False: out of memory.
 */
bool chain_count_record(struct map *ids, const struct record *r);

#endif
