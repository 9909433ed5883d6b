/* SPDX-License-Identifier: Apache-2.0 */
/*
 * There are few: found by walking the list.
 */
#include "lib/query/ops_internal.h"

#include <stdlib.h>
#include <string.h>

#define FINDINGS_MAX 1000u /* the first ones; more are only counted by who reads chains */

static struct ops_finding *find_by_id(struct ops_summary *s, struct bytes id)
{
	for (size_t i = 0; i < s->findings.n; i++)
		if (bytes_equal(bytes_of(s->findings.v[i].id), id))
			return &s->findings.v[i];
	return NULL;
}

bool query_findings_record(struct ops_summary *s, const struct record *rec)
{
	const struct rec_CHAIN *c = &rec->u.CHAIN;
	struct ops_finding fresh = { 0 }, *f;
	char *summary;

	if (rec->kind != RECORD_CHAIN || c->id.n == 0 || c->id.n >= sizeof(fresh.id))
		return true;
	/* What the Go agent took for a cause is kept with its recordings, and is no finding. */
	if (bytes_equal(c->kind, bytes_of("go-agent")))
		return true;
	f = find_by_id(s, c->id);
	if ((f && c->revision < f->revision) || (!f && s->findings.n >= FINDINGS_MAX))
		return true;
	summary = strndup(c->summary.p ? c->summary.p : "", c->summary.n);
	if (!summary)
		return false;
	if (!f) {
		memcpy(fresh.id, c->id.p, c->id.n);
		if (!vec_push(&s->findings, fresh)) {
			free(summary);
			return false;
		}
		f = &s->findings.v[s->findings.n - 1];
	}
	free(f->summary);
	f->summary = summary;
	f->revision = c->revision;
	f->severity = c->severity;
	f->lost_ns = c->lost_ns;
	return true;
}

static int by_weight(const void *a, const void *b)
{
	const struct ops_finding *x = a, *y = b;

	if (x->severity != y->severity)
		return x->severity < y->severity ? 1 : -1;
	if (x->lost_ns != y->lost_ns)
		return x->lost_ns < y->lost_ns ? 1 : -1;
	return strcmp(x->id, y->id);
}

void query_findings_sort(struct ops_summary *s)
{
	if (s->findings.n)
		qsort(s->findings.v, s->findings.n, sizeof(*s->findings.v), by_weight);
}

void query_findings_free(struct ops_summary *s)
{
	for (size_t i = 0; i < s->findings.n; i++)
		free(s->findings.v[i].summary);
	vec_free(&s->findings);
}
