/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet inside: one round of one question, and what its answers have to be.
 */
#ifndef INGERO_FLEET_FLEET_STATE_H
#define INGERO_FLEET_FLEET_STATE_H

#include "lib/net/parallel_requests.h"
#include "lib/fleet/fleet.h"

struct fleet_place {
	char *name, *base;  /* "a:8080", "http://a:8080" */
	struct json answer; /* to the question of this round; JSON_NONE: none, or it was refused */
	size_t bytes;	    /* of memory that it takes, about */
	bool partial;	    /* it said so itself */
	int64_t sent_ns, came_ns;
};

struct fleet {
	struct fleet_options opt;
	struct net_parallel_requests *fan;
	char *header; /* with the token */
	const char *headers[1];
	struct fleet_node *nodes;
	struct fleet_place *places;
	size_t n;
	size_t bytes, bytes_max; /* of all answers that are held */
	struct net_ask *asks;
	char **urls;
	struct buf warnings;
	struct err first; /* the error of the first node that did not answer */
};

void fleet_warn(struct fleet *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

struct fleet_question {
	const char *path;   /* "/api/v1/ops?since=5m" */
	struct bytes body;  /* POSTed when it is there */
	const int *fds;	    /* answers go there; NULL: they are objects */
	size_t at_once;	    /* 0: all */
	bool only_answered; /* not those that did not the last time */
	bool quietly;	    /* do not warn of nodes that do not answer */
	/* Processes the answer of node i as it comes, which is then not stored; a node whose answer
	 * it refuses is left out. NULL: answers are stored. */
	int (*take)(void *ctx, size_t i, struct json answer, struct err *e);
	void *ctx;
};
/* Objects that are held lie in places afterwards, until fleet_done. 0, and how many answered in
 * *answered; ERR_CANNOT: nobody. */
int fleet_round(struct fleet *f, const struct fleet_question *q, size_t *answered, struct err *e);
void fleet_done(struct fleet *f);

/* One node's answer is not as it should be: all others count, *nodes of them. */
void fleet_leave_out(struct fleet *f, size_t i, size_t *nodes, const struct err *e);

/* Learns the node's name from "nodes" of an answer: the names of the machines that its recordings
 * are of. */
int fleet_learn_name(struct fleet_node *n, struct json answer, struct err *e);

/* "?since=…", escaped, behind path; "" when since is NULL. */
void fleet_since(struct buf *path, const char *since);

/* What another machine says, where it is of that type and bounded; else what stands for it. */
double fleet_number(struct json object, const char *key);
char *fleet_text(struct json object,
		 const char *key); /* the caller's; "" when there is none; NULL: out of memory */

#endif
