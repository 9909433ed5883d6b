/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets up live metrics from a program's options, with messages on standard error.
 */
#ifndef INGERO_API_METRICS_PUSH_H
#define INGERO_API_METRICS_PUSH_H

#include "lib/cli/options.h"
#include "lib/cli/otel.h"
#include "lib/api/live_metrics.h"

struct metrics_push {
	const char *push, *listen; /* one of them at least */
	const char *ca_cert;
	const struct cli_list *headers;
	uint64_t interval_ns; /* 0: not given */
	bool piped;	      /* the input is a pipe, which may have no end */
	const char *agent;    /* "ingero-export" */
};

/* What p points to is borrowed by *out, and otel is to be freed after it. ERR_USAGE: no receiver is
 * given. */
int metrics_push_setup(struct live_metrics_options *out, struct cli_otel *otel,
		       const struct metrics_push *p, struct err *e);

#endif
