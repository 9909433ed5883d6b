/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of whole machines: their CPUs, of which make, and the samples of each. Kept by
 * node, so that the figures of one machine do not overwrite another's; records that name no node
 * are of the only one there is.
 */
#ifndef INGERO_ACCOUNT_NODES_H
#define INGERO_ACCOUNT_NODES_H

#include "lib/base/vec.h"
#include "lib/event/record.h"
#include "lib/event/syscall.h"
#include "lib/world/world.h"

/* A sampled metric of the node over the recording. */
struct cause_metric {
	uint64_t n;
	double sum, max, first, last;
};
#define CAUSE_METRICS 48
#define CAUSE_NODES                                                                               \
	4096 /* of more nothing is kept: a name takes some bytes of a file, and a machine two KiB \
		here */

struct cause_node {
	uint32_t cpus; /* 0: not known */
	enum syscall_arch arch;
	int64_t end_ns; /* the latest that was said of it; 0: nothing */
	struct cause_metric metric[CAUSE_METRICS];
};

/* Zero-initialised is empty. By world node id, 0: of records that name none. */
struct cause_nodes {
	VEC(struct cause_node) v;
};

void cause_nodes_free(struct cause_nodes *n);

/* A NODE or CLOCK record, or a SAMPLE of a node; others are ignored. False: out of memory. */
bool cause_nodes_record(struct cause_nodes *n, const struct world *w, const struct record *r);

/* When its recording ended, as far as it says: recordings read together may end at different times.
 * 0: nothing is known of it. */
int64_t cause_nodes_end(const struct cause_nodes *n, uint32_t node);

/* node 0: not known which. n 0 in what is returned: it was not sampled. */
const struct cause_metric *cause_nodes_metric(const struct cause_nodes *n, uint32_t node,
					      enum metric_id metric);
uint32_t cause_nodes_cpus(const struct cause_nodes *n, uint32_t node);
enum syscall_arch cause_nodes_arch(const struct cause_nodes *n, uint32_t node);

#endif
