/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of a stream while it is read: pushed to an OTLP receiver at intervals, and served at
 * /metrics. A failed push loses nothing, since counters run from the beginning.
 */
#ifndef INGERO_API_LIVE_METRICS_H
#define INGERO_API_LIVE_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/export/format.h"
#include "lib/net/client.h"

struct live_metrics_options {
	const char *push_url; /* NULL: nothing is pushed */
	uint64_t interval_ns; /* of event time between two pushes; 0: only one, at the end */
	struct net_client_options client;
	const char *listen; /* NULL: no server */
	bool (*interrupted)(void);
	bool stay; /* listen on behind the end, until interrupted */
	/* Callbacks; each may be NULL. */
	void (*listening)(const char *address); /* once */
	void (*missed)(const char *why);	/* for the first push that failed */
	void (*warned)(const char *what); /* for the first warning of a receiver that took all */
	void (*waiting)(const char *why, uint64_t ns); /* before the last push is tried again */
};

/* To be opened with export_options.live. Writes nothing itself; finish fails when the last push
 * does. */
extern const struct export_format live_metrics;

#endif
