/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal state of a fleet: one request to all nodes, and checks of their answers.
 */
#ifndef INGERO_FLEET_FLEET_INTERNAL_H
#define INGERO_FLEET_FLEET_INTERNAL_H

#include "lib/net/parallel_requests.h"
#include "lib/fleet/fleet.h"

struct fleet_node_state {
	char *name, *base;  /* "a:8080", "http://a:8080" */
	struct json answer; /* to the question of this round; JSON_NONE: none, or it was refused */
	size_t bytes;	    /* of memory that it takes, about */
	bool partial;	    /* it said so itself */
	int64_t sent_ns, came_ns;
};

struct fleet {
	struct fleet_options opt;
	struct net_parallel_requests *parallel;
	char *header; /* with the token */
	const char *headers[1];
	struct fleet_node *nodes;
	struct fleet_node_state *states;
	size_t n;
	size_t bytes, bytes_max; /* of all stored answers */
	struct net_ask *asks;
	char **urls;
	struct buf warnings;
	struct err first; /* the error of the first node that did not answer */
};

void fleet_warn(struct fleet *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

struct fleet_request {
	const char *path;   /* "/api/v1/ops?since=5m" */
	struct bytes body;  /* POSTed when it is there */
	const int *fds;	    /* answers go there; NULL: they are objects */
	size_t at_once;	    /* 0: all */
	bool only_answered; /* not those that did not the last time */
	bool quiet;	    /* do not warn of nodes that do not answer */
	/* Processes the answer of node i as it comes, which is then not stored; a node whose answer
	 * it refuses is left out. NULL: answers are stored. */
	int (*on_node_answer)(void *ctx, size_t i, struct json answer, struct err *e);
	void *ctx;
};
/* Stored answers are in states afterwards, until fleet_free_answers. 0, and how many answered in
 * *answered; ERR_CANNOT: none did. */
int fleet_query_nodes(struct fleet *f, const struct fleet_request *q, size_t *answered,
		      struct err *e);
void fleet_free_answers(struct fleet *f);

/* Leaves out a node whose answer is invalid, and decrements *nodes. */
void fleet_exclude_node(struct fleet *f, size_t i, size_t *nodes, const struct err *e);

/* Learns the node's name from "nodes" of an answer: the names of the machines that its recordings
 * are of. */
int fleet_learn_name(struct fleet_node *n, struct json answer, struct err *e);

/* "?since=…", escaped, behind path; "" when since is NULL. */
void fleet_append_since(struct buf *path, const char *since);

/* A member of another machine's answer, which is not trusted: 0 to 1e18; 0 if it is no
 * number. */
double fleet_get_number(struct json object, const char *key);
char *fleet_get_text(
	struct json object,
	const char *key); /* the caller's; "" when there is none; NULL: out of memory */

#endif
