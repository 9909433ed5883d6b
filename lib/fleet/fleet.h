/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries to many dashboards at once, ours or the older agent's, and their answers as one. A node
 * that does not answer, or not as agreed, is left out with a warning; text of nodes is untrusted.
 * Durations are merged as the sketches that our dashboards send, never as means of percentiles. For
 * one thread at a time.
 */
#ifndef INGERO_FLEET_FLEET_H
#define INGERO_FLEET_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/vec.h"
#include "lib/store/machine.h"
#include "lib/stat/sketch.h"

#define FLEET_NODES_MAX 4096

struct fleet_options {
	/* "HOST:PORT", "http://…", "https://…"; without a scheme https where ca_file is given, else
	 * http. Twice the same counts once. */
	const char *const *nodes;
	size_t nnodes;
	const char *token;   /* sent to every node, and copied; NULL: none */
	const char *ca_file; /* PEM; NULL: those of the system */
	uint64_t timeout_ns; /* of one node's answer; 0: 60 s, of them 10 s to connect */
	uint64_t skew_ns;    /* clocks further apart get a warning; 0: 10 ms */
	size_t answer_max;   /* bytes of one answer; 0: 32 MiB */
	/* About so many bytes of memory for the answers of all nodes that are held at once, an
	 * eighth of it more while they come: nodes whose answers are the largest are left out, so
	 * that one below its share of it always counts. 0: 2 GiB, or 2 MiB for each node where
	 * those are more: a thousand rows of twenty numbers count 0.9 MiB, as json_check_size does.
	 */
	size_t answers_max;
	size_t recording_max;  /* bytes of one recording; 0: 4 GiB */
	size_t recordings_max; /* of all that are fetched; 0: half of what is free where they go */
	const char *agent;     /* User-Agent: "ingero-query" */
	bool (*stop)(void *ctx); /* asked ten times a second; true: ERR_INTERRUPTED. NULL: never */
	void *stop_ctx;
};

struct fleet;

struct fleet_node {
	const char *name; /* as given */
	bool answered;	  /* the last question */
	bool clock_known;
	int64_t ahead_ns; /* of this machine's clock, off by error_ns at most */
	uint64_t rtt_ns, error_ns;
	int64_t off_ns; /* of the clock in the middle of all: 0 where it may be right */
	char machine[STORE_MACHINE_TEXT]; /* it says it runs on; "": it does not say */
	char *recorded; /* name of the machine that its recordings are of; NULL: of several, or not
			   known */
};

/* ERR_USAGE: no node, or one that is none; ERR_CANNOT: built without libcurl. Other texts of opt
 * are borrowed until free. */
int fleet_new(struct fleet **out, const struct fleet_options *opt, struct err *e);
void fleet_free(struct fleet *f);
const struct fleet_node *fleet_nodes(const struct fleet *f, size_t *n);

/* How people call node i: by the name in its recordings where that is known and no other node's,
 * else as given. Borrowed until the next question. */
const char *fleet_label(const struct fleet *f, size_t i);

/* What was wrong so far, a line each: borrowed until the next question. */
const struct buf *fleet_warnings(const struct fleet *f);

/*
 * All queries: ERR_CANNOT when no node answered (the text is the error of the first one),
 * ERR_INTERRUPTED, ERR_NOMEM. since: "5m", or NULL for all; borrowed. What is returned is the
 * caller's.
 */

/* A statement, asked of each node. columns: names; rows: arrays of values, in the order of nodes. A
 * column "node" stands first that names the node as given, unless the statement has one of that
 * name itself. limit: rows of each node; 0: their default. */
struct fleet_rows {
	struct json columns, rows;
	bool truncated; /* some node had more */
	size_t nodes;	/* that answered */
};
int fleet_query_sql(struct fleet *f, const char *sql, uint64_t limit, struct fleet_rows *out,
		    struct err *e);
void fleet_rows_free(struct fleet_rows *r);

/* Chains of all, most severe first and then by what they lost: an array of the objects the nodes
 * gave, each with "node". */
int fleet_query_chains(struct fleet *f, const char *since, struct json *chains, struct err *e);

/* One row per operation of all nodes. Where a node sent no sketch, quantiles of its calls are not
 * known: then those of the slowest node stand for all, and approximate says so. */
struct fleet_op {
	char *operation, *source;
	uint64_t count, errors;
	double total_ns, p50_ns, p95_ns, p99_ns, max_ns;
	bool approximate;
	size_t nodes;	      /* that had it */
	struct sketch sketch; /* of those that sent one */
};
struct fleet_ops {
	VEC(struct fleet_op) v; /* most time first */
	size_t nodes;		/* that answered */
};
int fleet_query_ops(struct fleet *f, const char *since, struct fleet_ops *out, struct err *e);
void fleet_ops_free(struct fleet_ops *o);

/* What each says of itself: an array of the objects the nodes gave, each with "node". */
int fleet_query_overview(struct fleet *f, const char *since, struct json *nodes, struct err *e);

/* Clocks of those that answered last, each by the quickest of several probes: its answer is older
 * than none of them, and by no more than half the time it took. Fills the nodes, and warns of those
 * that are certainly further than skew_ns from the middle one. Where a clock differs, nodes are
 * asked for their names, too. */
int fleet_compare_clocks(struct fleet *f, struct err *e);

#endif
