/* SPDX-License-Identifier: Apache-2.0 */
/* Completes the options of live metrics from OpenTelemetry's environment variables; metrics of a
 * pipe are pushed at intervals. */
#include "lib/api/metrics_push.h"

#include "lib/base/fmt.h"
#include "lib/cli/message.h"
#include "lib/cli/signals.h"

#define PIPE_INTERVAL_NS UINT64_C(10000000000)

static bool is_interrupted(void)
{
	return cli_signal_received() != 0;
}

static void on_listening(const char *address)
{
	cli_note("listening: http://%s/metrics", address);
}

static void on_warned(const char *what)
{
	cli_warn("%s", what);
}

static void on_missed(const char *why)
{
	cli_warn("%s (later pushes say it all again)", why);
}

static void on_waiting(const char *why, uint64_t ns)
{
	cli_warn("%s; trying again in %s", why, fmt_ns(ns).s);
}

int metrics_push_setup(struct live_metrics_options *out, struct cli_otel *otel,
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
			    .stop = is_interrupted,
			    .headers = (const char *const *)otel->headers.v,
			    .nheaders = otel->headers.n },
		.listen = p->listen,
		.interrupted = is_interrupted,
		.stay = !p->piped,
		.listening = on_listening,
		.missed = on_missed,
		.warned = on_warned,
		.waiting = on_waiting
	};
	return rc;
}
