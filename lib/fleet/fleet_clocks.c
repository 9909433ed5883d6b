/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the clock offset of each node from the quickest of several probes. The first ones of
 * all only open connections.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/fmt.h"
#include "lib/fleet/fleet_internal.h"

#define PROBES	6
#define AT_ONCE 8 /* so that answers do not wait for each other */

static void measure_clock(struct fleet *f, size_t i)
{
	const struct fleet_node_state *p = &f->states[i];
	struct fleet_node *n = &f->nodes[i];
	struct json v = json_get(p->answer, "timestamp_ns");
	char *machine = fleet_get_text(p->answer, "machine");
	double at = json_double(v, -1), rtt = (double)(p->came_ns - p->sent_ns);

	json_free(v);
	snprintf(n->machine, sizeof(n->machine), "%s", machine ? machine : "");
	free(machine);
	if (at < 0 || at > 9e18 || rtt < 0 || (n->clock_known && rtt >= (double)n->rtt_ns))
		return;
	n->clock_known = true;
	n->rtt_ns = (uint64_t)rtt;
	n->error_ns = (uint64_t)(rtt / 2) + 1;
	n->ahead_ns = (int64_t)at - p->sent_ns - (p->came_ns - p->sent_ns) / 2;
}

static int by_clock(const void *a, const void *b)
{
	const struct fleet_node *x = *(const struct fleet_node *const *)a,
				*y = *(const struct fleet_node *const *)b;

	return x->ahead_ns < y->ahead_ns ? -1 : x->ahead_ns > y->ahead_ns;
}

/* Two clocks: how far apart, and how far off that may be. */
struct distance {
	uint64_t by, error;
};

static struct distance distance_of(const struct fleet_node *a, const struct fleet_node *b)
{
	/* Of a clock that is years off, too. */
	return (struct distance){
		.by = a->ahead_ns < b->ahead_ns ? (uint64_t)b->ahead_ns - (uint64_t)a->ahead_ns
						: (uint64_t)a->ahead_ns - (uint64_t)b->ahead_ns,
		.error = a->error_ns + b->error_ns,
	};
}

static bool is_skewed(const struct fleet *f, struct distance d)
{
	return d.by > f->opt.skew_ns && d.by - f->opt.skew_ns > d.error;
}

static void warn_of_clock(struct fleet *f, size_t i, size_t middle)
{
	const struct fleet_node *n = &f->nodes[i], *m = &f->nodes[middle];
	struct distance d = distance_of(n, m);

	if (is_skewed(f, d))
		fleet_warn(f, "clock skew: %s is ~%s %s %s (RTT: %s, ± %s)", fleet_label(f, i),
			   fmt_ns(d.by).s, n->ahead_ns > m->ahead_ns ? "ahead of" : "behind",
			   fleet_label(f, middle), fmt_ns(n->rtt_ns).s, fmt_ns(d.error).s);
	else if (d.error > f->opt.skew_ns)
		fleet_warn(f, "clock of %s: not known better than ± %s (RTT: %s)",
			   fleet_label(f, i), fmt_ns(d.error).s, fmt_ns(n->rtt_ns).s);
}

/* *middle: whose clock is in the middle of all; *differs: somebody's is not where it is. False:
 * fewer than two are known. */
static bool find_middle(struct fleet *f, const struct fleet_node **known, size_t *middle,
			bool *differs)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		if (f->nodes[i].clock_known)
			known[n++] = &f->nodes[i];
	if (n < 2)
		return false;
	qsort(known, n, sizeof(*known), by_clock);
	*middle = (size_t)(known[(n - 1) / 2] - f->nodes);
	for (size_t i = 0; i < f->n; i++) {
		struct fleet_node *x = &f->nodes[i];
		const struct fleet_node *m = &f->nodes[*middle];
		struct distance d = distance_of(x, m);

		if (!x->clock_known || x == m)
			continue;
		if (d.by > d.error)
			x->off_ns = (int64_t)((uint64_t)x->ahead_ns - (uint64_t)m->ahead_ns);
		*differs |= x->off_ns || is_skewed(f, d) || d.error > f->opt.skew_ns;
	}
	return true;
}

static int learn_name(void *ctx, size_t i, struct json answer, struct err *e)
{
	return fleet_learn_name(&((struct fleet *)ctx)->nodes[i], answer, e);
}

/* Older agents do not answer this: they are called by their addresses. */
static int ask_names(struct fleet *f, struct err *e)
{
	struct fleet_request q = { .path = "/api/v1/nodes",
				   .only_answered = true,
				   .quiet = true,
				   .on_node_answer = learn_name,
				   .ctx = f };
	bool *before = calloc(f->n, sizeof(*before));
	size_t answered;
	int rc = before ? 0 : err_nomem(e);

	for (size_t i = 0; !rc && i < f->n; i++) {
		before[i] = f->nodes[i].answered;
		f->nodes[i].answered = before[i] && !f->nodes[i].recorded;
	}
	rc = rc ? rc : fleet_query_nodes(f, &q, &answered, e);
	for (size_t i = 0; before && i < f->n; i++)
		f->nodes[i].answered = before[i];
	free(before);
	return rc == ERR_CANNOT ? 0 : rc;
}

static int compare_clocks(struct fleet *f, struct err *e)
{
	const struct fleet_node **known = calloc(f->n + 1, sizeof(*known));
	bool differs = false;
	size_t middle;
	int rc = 0;

	if (!known)
		return err_nomem(e);
	if (find_middle(f, known, &middle, &differs)) {
		rc = differs ? ask_names(f, e) : 0;
		for (size_t i = 0; !rc && i < f->n; i++)
			if (f->nodes[i].clock_known && i != middle)
				warn_of_clock(f, i, middle);
	}
	free(known);
	return rc;
}

int fleet_compare_clocks(struct fleet *f, struct err *e)
{
	struct fleet_request q = {
		.path = "/api/v1/time", .at_once = AT_ONCE, .only_answered = true, .quiet = true
	};
	bool *before = calloc(f->n, sizeof(*before));
	size_t answered = 0;
	int rc = before ? 0 : err_nomem(e);

	for (size_t i = 0; !rc && i < f->n; i++) {
		before[i] = f->nodes[i].answered;
		f->nodes[i].clock_known = false;
		f->nodes[i].off_ns = 0;
		answered += before[i];
	}
	/* One clock alone differs from none. */
	for (unsigned k = 0; !rc && answered > 1 && k < PROBES; k++) {
		rc = fleet_query_nodes(f, &q, &answered, e);
		for (size_t i = 0; !rc && k && i < f->n; i++)
			if (f->nodes[i].answered)
				measure_clock(f, i);
	}
	/* That it has no clock to ask is no reason to leave its answer out. */
	if (rc == ERR_CANNOT)
		rc = 0;
	fleet_free_answers(f);
	for (size_t i = 0; before && i < f->n; i++)
		f->nodes[i].answered = before[i];
	rc = rc ? rc : compare_clocks(f, e);
	free(before);
	return rc;
}
