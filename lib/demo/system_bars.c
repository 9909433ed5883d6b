/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws the machine's use as bars while a recording runs. Samples go into the same summary as in
 * ingero-stat; its section of the system is drawn again every second.
 */
#include "lib/demo/system_bars.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/query/ops.h"
#include "lib/query/sections.h"
#include "lib/cli/term.h"
#include "lib/report/view_system.h"

#define SECOND_NS 1000000000

struct system_bars {
	struct world *w;
	struct filter all;
	struct query_view *view;
	struct query_ops_run *run;
};

int system_bars_new(struct system_bars **out, struct world *w, struct err *e)
{
	struct system_bars *b = calloc(1, sizeof(*b));

	*out = b;
	if (!b)
		return err_nomem(e);
	b->w = w;
	b->run = query_ops_new(w, &b->all);
	b->view = query_view_new(w, &b->all, VIEW_BIT(SYSTEM));
	if (!b->run || !b->view)
		return err_nomem(e);
	query_ops_set_sections(b->run, b->view);
	return 0;
}

void system_bars_free(struct system_bars *b)
{
	if (!b)
		return;
	query_ops_free(b->run);
	query_view_free(b->view);
	filter_free(&b->all);
	free(b);
}

int system_bars_record(struct system_bars *b, const struct record *r, struct err *e)
{
	struct stream_item item = {
		.kind = STREAM_RECORD, .record = r, .watermark_ns = INT64_MIN, .floor_ns = INT64_MIN
	};

	if (r->kind != RECORD_NODE && r->kind != RECORD_SAMPLE)
		return 0;
	return query_ops_item(b->run, &item, e);
}

int system_bars_draw(struct system_bars *b, struct cli_redraw *to, struct err *e)
{
	const struct ops_summary *s = query_ops_answer(b->run);
	struct report_text_style st = { .color = cli_color(STDOUT_FILENO),
					.form = cli_utf8() ? PLOT_BLOCKS : PLOT_ASCII,
					.columns = cli_columns(STDOUT_FILENO) };
	struct buf text = { 0 }, foot = { 0 };
	int rc = 0;

	if (!s)
		return err_nomem(e);
	if (view_system_text(&text, b->w, s, &st))
		rc = cli_redraw(to, &text, &foot, e);
	buf_free(&text);
	return rc;
}

static void wait_until(struct timespec at, uint64_t ns)
{
	at.tv_sec += (time_t)(ns / SECOND_NS);
	at.tv_nsec += (long)(ns % SECOND_NS);
	if (at.tv_nsec >= SECOND_NS) {
		at.tv_sec++;
		at.tv_nsec -= SECOND_NS;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

int system_bars_play(const struct sim_options *o, uint64_t play_ns, struct err *e)
{
	struct world *w = world_new();
	struct system_bars *bars = NULL;
	struct event_stream *in = NULL;
	struct stream_item item;
	struct cli_redraw draw;
	struct timespec began;
	int64_t first_ns = 0, seen_ns = 0;
	int rc = w ? sim_open(&in, w, o, e) : err_nomem(e);

	clock_gettime(CLOCK_MONOTONIC, &began);
	cli_redraw_init(&draw, -1);
	rc = rc ? rc : system_bars_new(&bars, w, e);
	while (!rc && (rc = in->next(in, &item, e)) > 0) {
		const struct record *r = item.kind == STREAM_RECORD ? item.record : NULL;
		int64_t now_ns = r && r->kind == RECORD_SAMPLE ? r->u.SAMPLE.time_ns : seen_ns;

		rc = 0;
		/* All samples of a second have the same time: the first of the next one ends it. */
		if (now_ns != seen_ns && seen_ns) {
			double part = (double)(seen_ns - first_ns) / (double)o->duration_ns;

			wait_until(began, (uint64_t)((double)play_ns * part));
			rc = system_bars_draw(bars, &draw, e);
		}
		first_ns = first_ns ? first_ns : now_ns;
		seen_ns = now_ns;
		if (!rc && r)
			rc = system_bars_record(bars, r, e);
	}
	if (!rc)
		rc = system_bars_draw(bars, &draw, e);
	system_bars_free(bars);
	if (in)
		in->close(in);
	world_free(w);
	return rc;
}
