/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the HTML report: every item of the stream goes to each query, and the page combines their
 * answers. */
#include "lib/api/html_report.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/query/select_chains.h"
#include "lib/query/ops.h"
#include "lib/query/report_query.h"
#include "lib/query/sections.h"
#include "lib/html/html_page.h"
#include "lib/api/report_from_answer.h"

struct state {
	struct export_ctx em;
	const struct html_page_format_options *opt;
	struct report_query *query;
	struct query_ops_run *ops;
	struct query_view *view;
	struct html_gap gaps[HTML_GAPS];
	size_t ngaps;
};

static void free_state(void *state)
{
	struct state *s = state;

	report_query_free(s->query);
	query_ops_free(s->ops);
	query_view_free(s->view);
	free(s);
}

static void *open_page(const struct export_ctx *em)
{
	struct state *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->em = *em;
	s->opt = em->opt.page;
	s->query = report_query_new(em->w, true);
	s->ops = query_ops_new(em->w, s->opt->select);
	s->view = query_view_new(em->w, s->opt->select, VIEW_ALL);
	if (!s->query || !s->ops || !s->view) {
		free_state(s);
		return NULL;
	}
	query_ops_set_sections(s->ops, s->view);
	return s;
}

static void add_gap(struct state *s, const struct rec_LOSS *l, const struct record *rec)
{
	/* Gaps beyond the last that is drawn add to its events. */
	if (s->ngaps == HTML_GAPS)
		s->gaps[HTML_GAPS - 1].events += l->count;
	else
		s->gaps[s->ngaps++] =
			(struct html_gap){ REC_HAS(rec, LOSS, since_ns) ? l->since_ns : INT64_MIN,
					   REC_HAS(rec, LOSS, until_ns) ? l->until_ns : INT64_MAX,
					   l->count };
}

static int add_item(void *state, const struct stream_item *it, struct err *e)
{
	struct state *s = state;
	int rc = report_query_item(s->query, it, e);

	if (!rc)
		rc = query_ops_item(s->ops, it, e);
	if (it->kind == STREAM_RECORD && it->record->kind == RECORD_LOSS)
		add_gap(s, &it->record->u.LOSS, it->record);
	return rc;
}

static int write_page(struct state *s, const struct report_answer *answer,
		      const struct ops_summary *ops, struct err *e)
{
	const struct filter *sel = s->opt->select;
	struct buf notes = { 0 };
	bool partial = s->opt->input && input_verdict(s->opt->input, &notes) != 0;
	struct report r = report_from_answer(answer, partial, buf_text(&notes));
	struct html_page page = {
		.report = &r, .ops = ops, .world = s->em.w, .gaps = s->gaps, .ngaps = s->ngaps
	};
	char tool[96];

	snprintf(tool, sizeof(tool), "%s %s", s->em.opt.tool, s->em.opt.version);
	page.tool = tool;
	r.growing = s->opt->input && input_report(s->opt->input).growing;
	r.top = s->opt->top;
	r.pids = sel->pids.v;
	r.npids = (unsigned)sel->pids.n;
	html_page(s->em.out, &page);
	buf_free(&notes);
	return s->em.out->failed ? err_nomem(e) : 0;
}

static int finish_report(void *state, struct err *e)
{
	struct state *s = state;
	const struct filter *sel = s->opt->select;
	const struct query_chain_selection by = { sel->nodes.v, sel->nodes.n, sel->patterns.v,
						  sel->patterns.n };
	const struct ops_summary *ops;
	struct report_answer answer;
	int rc = report_query_end(s->query, &answer, e);

	if (!rc)
		rc = query_select_chains(&answer.chains->list, &by, e);
	if (rc)
		return rc;
	rc = query_ops_end(s->ops, e);
	if (rc)
		return rc;
	ops = query_ops_answer(s->ops);
	return ops ? write_page(s, &answer, ops, e) : err_nomem(e);
}

const struct export_format html_page_format = {
	.name = "html",
	.endings = ".html .htm",
	.help = "the report, one page that needs nothing else",
	.whole = true,
	.open = open_page,
	.item = add_item,
	.finish = finish_report,
	.free = free_state,
};
