/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of a stream while it is read: pushed to an OTLP receiver every so often, and given to who
 * asks for /metrics. What could not be pushed is in the next push, since counters run from the
 * beginning.
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
	const char *listen; /* NULL: nobody can ask */
	bool (*interrupted)(void);
	bool stay;				/* listen on behind the end, until interrupted */
	void (*listening)(const char *address); /* told once; NULL: nobody wants to know */
	void (*missed)(const char *why);	/* the first push that failed; NULL */
	void (*warned)(
		const char *what); /* the first that a receiver which took all has to say; NULL */
	void (*waiting)(const char *why,
			uint64_t ns); /* before the last push is tried again; NULL */
};

/* To be opened with export_options.live. Writes nothing itself; finish fails when the last push
 * does. */
extern const struct export_format live_metrics;

#endif
