/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where metrics are pushed to and with what: --push, --header and --ca-cert, and where those do not
 * say OpenTelemetry's environment (opentelemetry.io/docs/specs/otel/protocol/exporter).
 */
#ifndef INGERO_CLI_OTEL_H
#define INGERO_CLI_OTEL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/vec.h"

/* Zero-initialised is empty; what it points to lives as long as it does, or is borrowed from the
 * environment. */
struct cli_otel {
	const char *url;
	const char *ca_file; /* set by the caller, or NULL: that of the environment, if any */
	uint64_t timeout_ns; /* 0: not said */
	VEC(char *) headers; /* "Name: value" */
	char *built;	     /* the url, when it was put together */
};

/* push: a URL, or "env". ERR_USAGE: the environment says nothing. */
int cli_otel_find(struct cli_otel *o, const char *push, struct err *e);
/* One more header, as given. */
int cli_otel_header(struct cli_otel *o, const char *line, struct err *e);
void cli_otel_free(struct cli_otel *o);

#endif
