/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the dashboard's API, for the files that make it up. An endpoint appends JSON to a
 * request's writer, or returns an error, which becomes {"error": text} with a status.
 */
#ifndef INGERO_API_API_STATE_H
#define INGERO_API_API_STATE_H

#include <pthread.h>

#include "lib/base/jsonw.h"
#include "lib/api/api.h"
#include "lib/store/machine.h"

struct api {
	struct store_source *source;
	const char *version;
	const struct api_route *more;
	char machine[STORE_MACHINE_TEXT];
	pthread_mutex_t lock; /* of what follows */
	char *metrics_state;  /* of the recordings when metrics were made; NULL: never */
	struct buf metrics;
	struct api_counter *counter; /* of a recording that grows; NULL: none */
};

struct api_request {
	struct request_ctx rctx; /* first: stop finds the request by it */
	struct api *api;
	const struct net_call *call;
	struct net_reply *reply;
	struct jsonw j;		   /* into reply->body */
	struct filter_words words; /* of ?since=, ?until=, ?last= */
	bool streamed;		   /* the answer went out already */
};

typedef int api_endpoint(struct api_request *q, struct err *e);

struct api_route {
	const char *path, *methods;
	api_endpoint *answer;
	const char *type; /* NULL: JSON */
};

/* All there is about the chosen time, as one answer that is kept: what most endpoints show a part
 * of. */
int api_query_stat(struct api_request *q, store_stat_fn *use, struct err *e);

api_endpoint api_capabilities; /* api_capabilities.c */
api_endpoint api_query;	       /* api_query.c */
api_endpoint api_about, api_stat_whole, api_report, api_call, api_live, api_time,
	api_nodes;	    /* api_page.c */
api_endpoint api_metrics;   /* api_metrics.c */
api_endpoint api_recording; /* api_recording.c */

void api_counter_free(struct api_counter *t);

/* "nodes": names of the machines that the recordings are of, each once. */
void api_write_node_names(struct jsonw *j, const struct world *w);

/* A file of the page; NULL: there is none of that path. */
struct page_file {
	const char *path, *type;
	const unsigned char *bytes;
	size_t n;
};
const struct page_file *page_find_file(const char *path);

#endif
