/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream as metrics, for Prometheus and OTLP. Counters run from the recording's beginning, gauges
 * are the newest value.
 */
#ifndef INGERO_EXPORT_METERS_H
#define INGERO_EXPORT_METERS_H

#include "lib/export/copied.h"
#include "lib/export/format.h"
#include "lib/export/meter_table.h"
#include "lib/export/slow_calls.h"
#include "lib/event/chain.h"

struct meter_chain {
	uint64_t id, lost_ns;
	uint32_t kind, severity; /* world string; enum chain_severity */
	uint32_t node;		 /* 0: it does not say */
};

struct meters {
	const struct export_ctx *em;
	struct meter_table table;
	struct map chains,
		open; /* id -> index of told + 1; thread and start of a call -> node and op */
	VEC(struct meter_chain) told;
	struct copied copied;
	struct slow_calls slow;
	struct map memory;	     /* node -> bytes that it has */
	int64_t begin_ns, newest_ns; /* INT64_MAX, INT64_MIN: nothing yet */
	bool nomem;
};

bool meters_begin(struct meters *m, const struct export_ctx *em); /* false: out of memory */
int meters_item(struct meters *m, const struct stream_item *it, struct err *e);
/* These causes and no others, whatever the stream told: for who finds them himself. False: out of
 * memory. */
bool meters_chains(struct meters *m, const struct chain_list *list);
/* Bring what is worked out at the time of asking up to date: before families are read. False: out
 * of memory. */
bool meters_settle(struct meters *m);
void meters_free(struct meters *m);

/* The machine that a record is about, given the one it names: recordings of one machine do not say
 * which it was. */
static inline uint32_t meters_node(const struct meters *m, uint32_t node)
{
	return node ? node : world_count(m->em->w, WORLD_NODE) == 1;
}

/* A SAMPLE record: a value of the system, a process, a cgroup or a GPU. */
bool meters_sample(struct meters *m, const struct rec_SAMPLE *r, const struct record *rec);

#endif
