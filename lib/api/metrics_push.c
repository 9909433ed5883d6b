/* SPDX-License-Identifier: Apache-2.0 */
/* What options do not say OpenTelemetry's environment may, and a pipe is pushed again and again. */
#include "lib/api/metrics_push.h"

#include "lib/base/fmt.h"
#include "lib/cli/message.h"
#include "lib/cli/signals.h"

#define PIPE_INTERVAL_NS UINT64_C(10000000000)

static bool interrupted(void)
{
	return cli_signal_received() != 0;
}

static void listening(const char *address)
{
	cli_note("listening: http://%s/metrics", address);
}

static void warned(const char *what)
{
	cli_warn("%s", what);
}

static void missed(const char *why)
{
	cli_warn("%s (later pushes say it all again)", why);
}

static void waiting(const char *why, uint64_t ns)
{
	cli_warn("%s; trying again in %s", why, fmt_ns(ns).s);
}

int metrics_push(struct live_metrics_options *out, struct cli_otel *otel,
		 const struct metrics_push *p, struct err *e)
{
	int rc = 0;

	otel->ca_file = p->ca_cert;
	if (p->push)
		rc = cli_otel_find(otel, p->push, e);
	for (size_t i = 0; !rc && i < p->headers->n; i++)
		rc = cli_otel_header(otel, p->headers->v[i], e);
	*out = (struct live_metrics_options){
		.push_url = otel->url,
		.interval_ns = p->interval_ns	     ? p->interval_ns
			       : p->piped && p->push ? PIPE_INTERVAL_NS
						     : 0,
		.client = { .ca_file = otel->ca_file,
			    .agent = p->agent,
			    .timeout_ns = otel->timeout_ns,
			    .stop = interrupted,
			    .headers = (const char *const *)otel->headers.v,
			    .nheaders = otel->headers.n },
		.listen = p->listen,
		.interrupted = interrupted,
		.stay = !p->piped,
		.listening = listening,
		.missed = missed,
		.warned = warned,
		.waiting = waiting
	};
	return rc;
}
