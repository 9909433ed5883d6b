/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Export formats for metrics, OTLP and Prometheus: both only count during the stream and write
 * everything at its end.
 */
#include <stdlib.h>

#include "lib/export/otlp.h"
#include "lib/export/prometheus.h"

struct state {
	struct export_ctx em;
	struct meters meters;
};

static void *open_metrics(const struct export_ctx *em)
{
	struct state *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->em = *em;
	if (meters_begin(&s->meters, &s->em))
		return s;
	meters_free(&s->meters);
	free(s);
	return NULL;
}

static int on_item(void *state, const struct stream_item *it, struct err *e)
{
	struct state *s = state;

	return meters_item(&s->meters, it, e);
}

static int finish_prometheus(void *state, struct err *e)
{
	struct state *s = state;

	if (!meters_settle(&s->meters))
		return err_nomem(e);
	prometheus_text(s->em.out, &s->meters, true);
	return s->em.out->failed ? err_nomem(e) : 0;
}

static int finish_otlp(void *state, struct err *e)
{
	struct state *s = state;

	if (!meters_settle(&s->meters))
		return err_nomem(e);
	otlp_metrics(s->em.out, &s->meters);
	buf_putc(s->em.out, '\n');
	return s->em.out->failed ? err_nomem(e) : 0;
}

static void free_state(void *state)
{
	struct state *s = state;

	meters_free(&s->meters);
	free(s);
}

const struct export_format export_prometheus = {
	.name = "prometheus",
	.endings = ".prom",
	.help = "metrics, text exposition",
	.findings = true,
	.open = open_metrics,
	.item = on_item,
	.finish = finish_prometheus,
	.free = free_state,
};

const struct export_format export_otlp = {
	.name = "otlp",
	.endings = ".otlp.json .otlp",
	.help = "metrics, OTLP/HTTP JSON",
	.findings = true,
	.open = open_metrics,
	.item = on_item,
	.finish = finish_otlp,
	.free = free_state,
};
