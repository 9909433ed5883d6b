/* SPDX-License-Identifier: Apache-2.0 */
/* Passes each item to up to three queries: causes, failed calls and CPU samples. The first error
 * ends it. */
#include "lib/query/report_query.h"

#include <stdlib.h>

#include "lib/query/failures.h"
#include "lib/query/oncpu.h"

struct report_query {
	struct query_chains_run *chains;
	struct query_failures *failures; /* NULL if only causes are asked for, as oncpu */
	struct query_oncpu *oncpu;
};

struct report_query *report_query_new(struct world *w, bool complete)
{
	struct report_query *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->chains = query_chains_new(w, NULL);
	if (complete) {
		a->failures = query_failures_new(w);
		a->oncpu = query_oncpu_new(w);
	}
	if (a->chains && (!complete || (a->failures && a->oncpu)))
		return a;
	report_query_free(a);
	return NULL;
}

int report_query_item(struct report_query *a, const struct stream_item *item, struct err *e)
{
	int rc = query_chains_item(a->chains, item, e);

	if (rc < 0 || !a->failures)
		return rc;
	rc = query_failures_item(a->failures, item, e);
	return rc < 0 ? rc : query_oncpu_item(a->oncpu, item, e);
}

bool report_query_ongoing_wait(struct report_query *a, const struct record *r, int64_t now_ns,
			       struct buf *out)
{
	return query_chains_ongoing_wait(a->chains, r, now_ns, out);
}

static int64_t number_of(struct json object, const char *key)
{
	struct json v = json_get(object, key);
	double n = json_double(v, 0);

	json_free(v);
	return (int64_t)n;
}

/* From the first step of any program to the last one. */
static struct oncpu_window steps_of(const struct query_chains *c)
{
	struct json steps = json_get(c->list.analysis, "steps");
	struct oncpu_window w = { 0 };

	for (size_t i = 0; c->has_start && i < json_length(steps); i++) {
		struct json s = json_at(steps, i);
		int64_t first = c->start_ns + number_of(s, "first_ns"),
			last = c->start_ns + number_of(s, "last_ns");

		json_free(s);
		w.from_ns = !w.steps || first < w.from_ns ? first : w.from_ns;
		w.until_ns = !w.steps || last > w.until_ns ? last : w.until_ns;
		w.steps = true;
	}
	json_free(steps);
	return w;
}

int report_query_end(struct report_query *a, struct report_answer *answer, struct err *e)
{
	int rc = query_chains_end(a->chains, &answer->chains, e);
	struct oncpu_window steps;

	answer->failures = NULL;
	answer->oncpu = NULL;
	if (rc || !a->failures)
		return rc;
	answer->failures = query_failures_end(a->failures);
	steps = steps_of(answer->chains);
	answer->oncpu = query_oncpu_end(a->oncpu, steps.steps ? &steps : NULL);
	return answer->failures && answer->oncpu ? 0 : err_nomem(e);
}

void report_query_free(struct report_query *a)
{
	if (!a)
		return;
	query_chains_free(a->chains);
	query_failures_free(a->failures);
	query_oncpu_free(a->oncpu);
	free(a);
}
