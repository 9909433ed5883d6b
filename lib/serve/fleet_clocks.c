/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node said its time between sending and coming, nobody knows when: so its clock is known to half of what lies between, and best by the
 * quickest of several probes. The first ones of all only open connections.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/human.h"
#include "lib/serve/fleet_state.h"

#define PROBES	6
#define AT_ONCE 8 /* so that answers do not wait for each other */

static void probe(struct serve_fleet *f, size_t i)
{
	const struct fleet_place *p = &f->places[i];
	struct fleet_node *n = &f->nodes[i];
	struct json v = json_get(p->answer, "timestamp_ns");
	char *machine = fleet_text(p->answer, "machine");
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

static void compare(struct serve_fleet *f, struct fleet_node *n, const struct fleet_node *middle)
{
	/* Of a clock that is years off, too. */
	uint64_t by = n->ahead_ns < middle->ahead_ns
			      ? (uint64_t)middle->ahead_ns - (uint64_t)n->ahead_ns
			      : (uint64_t)n->ahead_ns - (uint64_t)middle->ahead_ns;
	uint64_t error = n->error_ns + middle->error_ns;

	if (n == middle)
		return;
	if (by > error)
		n->off_ns = (int64_t)((uint64_t)n->ahead_ns - (uint64_t)middle->ahead_ns);
	if (by > f->opt.skew_ns && by - f->opt.skew_ns > error)
		fleet_warn(f, "clock skew: %s is ~%s %s %s (RTT: %s, ± %s)", n->name,
			   human_ns(by).s, n->ahead_ns > middle->ahead_ns ? "ahead of" : "behind",
			   middle->name, human_ns(n->rtt_ns).s, human_ns(error).s);
	else if (error > f->opt.skew_ns)
		fleet_warn(f, "clock of %s: not known better than ± %s (RTT: %s)", n->name,
			   human_ns(error).s, human_ns(n->rtt_ns).s);
}

static int tell(struct serve_fleet *f, struct err *e)
{
	const struct fleet_node **known = calloc(f->n + 1, sizeof(*known));
	size_t n = 0;

	if (!known)
		return err_nomem(e);
	for (size_t i = 0; i < f->n; i++)
		if (f->nodes[i].clock_known)
			known[n++] = &f->nodes[i];
	if (n > 1) {
		qsort(known, n, sizeof(*known), by_clock);
		for (size_t i = 0; i < f->n; i++)
			if (f->nodes[i].clock_known)
				compare(f, &f->nodes[i], known[(n - 1) / 2]);
	}
	free(known);
	return 0;
}

int serve_fleet_clocks(struct serve_fleet *f, struct err *e)
{
	struct fleet_question q = {
		.path = "/api/v1/time", .at_once = AT_ONCE, .only_answered = true, .quietly = true
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
		rc = fleet_round(f, &q, &answered, e);
		for (size_t i = 0; !rc && k && i < f->n; i++)
			if (f->nodes[i].answered)
				probe(f, i);
	}
	/* That it has no clock to ask is no reason to leave its answer out. */
	if (rc == ERR_CANNOT)
		rc = 0;
	fleet_done(f);
	for (size_t i = 0; before && i < f->n; i++)
		f->nodes[i].answered = before[i];
	rc = rc ? rc : tell(f, e);
	free(before);
	return rc;
}
