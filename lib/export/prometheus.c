/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Prometheus' text exposition, format 0.0.4: the state at the end of the stream. Values
 * carry their own time, because a recording is in the past.
 */
#include "lib/export/prometheus.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/base/jsonw.h"
#include "lib/base/utf8.h"

static void append_label(struct buf *out, const char *key, struct bytes text, bool first)
{
	buf_puts(out, first ? "{" : ",");
	buf_printf(out, "%s=\"", key);
	for (size_t i = 0, n; i < text.n; i += n) {
		const unsigned char *at = (const unsigned char *)text.p + i;

		n = utf8_length(at, text.n - i);
		if (n && *at == '\n') {
			buf_puts(out, "\\n");
		} else if (!n || !utf8_is_seen(at, n)) {
			utf8_put(out, 0xfffd);
			n = n ? n : 1;
		} else if (*at == '"' || *at == '\\') {
			buf_putc(out, '\\');
			buf_putc(out, (char)*at);
		} else {
			buf_add(out, at, n);
		}
	}
	buf_putc(out, '"');
}

static void append_labels(struct buf *out, const struct world *w, const struct meter_point *p,
			  const char *bound)
{
	const struct world_node *node = world_get_node(w, p->node);
	bool first = true;

	if (node) {
		append_label(out, "node", world_text(w, node->name), true);
		first = false;
	}
	for (unsigned i = 0; i < METER_LABELS && p->labels[i].key; i++) {
		append_label(out, p->labels[i].key, world_text(w, p->labels[i].text), first);
		first = false;
	}
	if (bound) {
		append_label(out, "le", bytes_of(bound), first);
		first = false;
	}
	if (!first)
		buf_putc(out, '}');
}

/* The end of a line: in ms since 1970. */
static void end_line(struct buf *out, const struct export_ctx *em, int64_t ns, bool timed)
{
	if (timed && em->told->has_real)
		buf_printf(out, " %" PRId64, (ns + em->told->real_minus_mono_ns) / 1000000);
	buf_putc(out, '\n');
}

/* The shortest text that reads back the same. */
static void append_number(struct buf *out, double v)
{
	struct jsonw j;

	buf_putc(out, ' ');
	jsonw_init(&j, out, false);
	jsonw_double(&j, v);
}

static void append_histogram(struct buf *out, const struct export_ctx *em, const char *name,
			     const struct meter_point *p, bool timed)
{
	uint64_t below = 0;
	char bound[32];

	for (unsigned i = 0; i <= METERS_BOUNDS; i++) {
		below += p->buckets[i];
		if (i < METERS_BOUNDS)
			snprintf(bound, sizeof(bound), "%g", (double)meters_bounds_ns[i] / 1e9);
		else
			snprintf(bound, sizeof(bound), "+Inf");
		buf_printf(out, "%s_bucket", name);
		append_labels(out, em->w, p, bound);
		buf_printf(out, " %" PRIu64, below);
		end_line(out, em, p->time_ns, timed);
	}
	buf_printf(out, "%s_sum", name);
	append_labels(out, em->w, p, NULL);
	append_number(out, (double)p->sum_ns / 1e9);
	end_line(out, em, p->time_ns, timed);
	buf_printf(out, "%s_count", name);
	append_labels(out, em->w, p, NULL);
	buf_printf(out, " %" PRIu64, p->count);
	end_line(out, em, p->time_ns, timed);
}

void prometheus_text(struct buf *out, struct meters *m, bool timed)
{
	static const char *const types[] = { "gauge", "counter", "histogram" };

	for (size_t i = 0; i < m->table.families.n; i++) {
		const struct meter_family *f = &m->table.families.v[i];

		if (!f->points.n)
			continue;
		buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name,
			   types[f->type]);
		for (size_t k = 0; k < f->points.n; k++) {
			const struct meter_point *p = &f->points.v[k];

			if (f->type == METER_HISTOGRAM) {
				append_histogram(out, m->em, f->name, p, timed);
				continue;
			}
			buf_puts(out, f->name);
			append_labels(out, m->em->w, p, NULL);
			append_number(out, p->value);
			end_line(out, m->em, p->time_ns, timed);
		}
	}
}
