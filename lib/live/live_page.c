/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the page of a growing recording for a terminal: one or two lines about the machine, then
 * the operations, then the findings, which stay visible at the bottom. */
#include "lib/live/live_page.h"

#include <stdlib.h>

#include "lib/base/fmt.h"
#include "lib/base/table.h"
#include "lib/base/timetext.h"
#include "lib/report/group_by_text.h"
#include "lib/report/table_cells.h"
#include "lib/report/ops_coverage.h"
#include "lib/report/ops_tables.h"
#include "lib/report/ops_text.h"
#include "lib/event/section_rows.h"
#include "lib/model/finding.h"

#define TIMES_SHOWN 5	 /* of what a process's time went to */
#define TIMES_LEAST 0.01 /* of it */
#define FOOT_PART   6	 /* a screen's part for all findings but the first */

/* ---- processes ---- */

/* Times that a person reads as one. */
enum spent {
	OWN_CODE,
	CPU_WAIT,
	GPU_WAIT,
	WORK_WAIT,
	LOCKED,
	DISK,
	NETWORK,
	ASLEEP,
	OTHER,
	SPENT_COUNT
};
static const char *const spent_texts[SPENT_COUNT] = {
	[OWN_CODE] = "own code",
	[CPU_WAIT] = "waiting for a CPU",
	[GPU_WAIT] = "waiting for the GPU",
	[WORK_WAIT] = "waiting for work",
	[LOCKED] = "locks",
	[DISK] = "disk",
	[NETWORK] = "sockets",
	[ASLEEP] = "asleep",
	[OTHER] = "other waits",
};

static enum spent spent_of(enum part part)
{
	switch (part) {
	case PART_SELF:
		return OWN_CODE;
	case PART_PREEMPTED:
	case PART_RUNQ:
	case PART_CPU_IDLE:
	case PART_WAIT_UNKNOWN:
	case PART_THROTTLED:
	case PART_STOLEN:
		return CPU_WAIT;
	case PART_DEVICE:
		return GPU_WAIT;
	case PART_IDLE:
		return WORK_WAIT;
	case PART_LOCK:
		return LOCKED;
	case PART_DISK:
	case PART_FAULT:
		return DISK;
	case PART_SOCKET:
	case PART_POLL:
		return NETWORK;
	case PART_SLEEP:
		return ASLEEP;
	default:
		return OTHER;
	}
}

struct amount {
	uint64_t ns;
	enum spent what;
};

static int most_first(const void *a, const void *b)
{
	const struct amount *x = a, *y = b;

	return x->ns != y->ns ? (x->ns > y->ns ? -1 : 1) : (int)x->what - (int)y->what;
}

static void time_cell(struct table *t, const struct ops_summary *s, uint32_t process)
{
	struct amount v[SPENT_COUNT];
	const struct view_time *x = NULL;
	struct buf text = { 0 };

	for (size_t i = 0; s->view && i < s->view->times.n && !x; i++)
		x = s->view->times.v[i].process == process ? &s->view->times.v[i] : NULL;
	if (!x || !x->ns || !s->view->off_cpu) {
		table_cell(t, "-");
		return;
	}
	for (unsigned i = 0; i < SPENT_COUNT; i++)
		v[i] = (struct amount){ 0, (enum spent)i };
	for (unsigned i = 0; i < PART_COUNT; i++)
		v[spent_of((enum part)i)].ns += x->in_calls[i] + x->outside[i];
	qsort(v, SPENT_COUNT, sizeof(v[0]), most_first);
	for (unsigned i = 0; i < TIMES_SHOWN; i++) {
		double share = (double)v[i].ns / (double)x->ns;

		if (share >= TIMES_LEAST)
			buf_printf(&text, "%s%s %.0f%%", text.n ? ", " : "", spent_texts[v[i].what],
				   share * 100);
	}
	table_cell(t, "%s", text.n ? buf_text(&text) : "-");
	buf_free(&text);
}

/* Those in calls; all of them where none is. */
static bool is_shown(const struct ops_summary *s, size_t i)
{
	return s->processes.v[i].calls || !s->processes.v[0].calls;
}

static void print_processes(struct buf *out, const struct world *w, const struct ops_summary *s,
			    const struct report_text_style *st)
{
	static const unsigned leave_out[] = { 5, 2, 4, 0 };
	struct buf head = { 0 };
	size_t n = 0;
	struct table *t;

	while (n < s->processes.n && is_shown(s, n))
		n++;
	if (!n)
		return;
	buf_printf(&head, "Processes (%zu)", n);
	t = table_new((const char *const[]){ buf_text(&head), ">pid", ">threads", ">calls",
					     ">in calls", ">lost", "time of threads that call",
					     NULL });
	for (size_t i = 0; t && i < n; i++) {
		const struct ops_process *p = &s->processes.v[i];
		struct bytes name =
			world_text(w, world_process_name(w, p->process, p->image, INT64_MAX));
		double wall = (double)(s->end_ns - s->start_ns);

		table_cell(t, "%.*s", (int)name.n, name.n ? name.p : "");
		table_cell(t, "%u", world_process_pid(w, p->process));
		table_cell(t, "%s", fmt_count(p->threads).s);
		table_cell(t, "%s%s", estimate_mark(&p->all), fmt_count(p->all.count).s);
		cell_share_about(t, p->all.total_ns, wall, estimate_mark(&p->all));
		cell_lost(t, p->lost_ns);
		time_cell(t, s, p->process);
	}
	if (t)
		table_narrow(out, t, 0, st->color, st->columns, leave_out);
	out->failed |= !t || head.failed;
	table_free(t);
	buf_free(&head);
}

/* ---- above and below ---- */

static void print_head(struct buf *out, const struct world *w, const struct ops_summary *s,
		       const struct report_text_style *st)
{
	struct buf line = { 0 };
	char when[64];

	if (s->hostname)
		fmt_safe(&line, world_text(w, s->hostname));
	else
		buf_puts(&line, "recording");
	if (s->nodes > 1)
		buf_printf(&line, " and %u more node%s", s->nodes - 1, s->nodes == 2 ? "" : "s");
	buf_printf(&line, ": %s", fmt_ns((uint64_t)(s->end_ns - s->start_ns)).s);
	if (s->has_real)
		buf_printf(&line, " from %s",
			   time_local(when, sizeof(when), s->start_ns + s->real_minus_mono_ns,
				      true));
	fmt_styled(out, st->color, FMT_BOLD, buf_text(&line));
	buf_putc(out, '\n');
	out->failed |= line.failed;
	buf_free(&line);
}

static unsigned lines_in(const struct buf *text, size_t from)
{
	unsigned n = 0;

	for (size_t i = from; i < text->n; i++)
		n += text->p[i] == '\n';
	return n;
}

/* The first whole, whatever it takes; of the others those that fit. */
static void print_findings(struct buf *out, const struct ops_summary *s, unsigned columns,
			   unsigned most)
{
	size_t shown = 0;

	for (; shown < s->findings.n; shown++) {
		const struct ops_finding *f = &s->findings.v[shown];
		struct buf text = { 0 };
		size_t before = out->n;

		buf_printf(&text, "found: %s ", finding_severity_name(f->severity));
		fmt_safe(&text, bytes_of(f->summary));
		buf_putc(&text, '\n');
		fmt_wrap(out, buf_bytes(&text), columns);
		out->failed |= text.failed;
		buf_free(&text);
		if (shown && lines_in(out, 0) > most) {
			out->n = before;
			break;
		}
	}
	if (s->findings.n > shown)
		buf_printf(out, "found: %zu more (ingero-explain tells them)\n",
			   s->findings.n - shown);
}

static void print_foot(struct buf *out, const struct ops_summary *s,
		       const struct report_text_style *st, unsigned rows)
{
	struct buf line = { 0 };

	if (st->sections & VIEW_BIT(CAUSES) || s->by)
		print_findings(out, s, st->columns, rows / FOOT_PART);
	ops_coverage_line(&line, s, false);
	fmt_wrap(out, buf_bytes(&line), st->columns);
	out->failed |= line.failed;
	buf_free(&line);
}

/* ---- sections ---- */

static void brief_of(struct buf *out, const struct world *w, const struct ops_summary *s,
		     enum view_section which, const struct report_text_style *st)
{
	switch (which) {
	case VIEW_PROCESSES:
		print_processes(out, w, s, st);
		break;
	case VIEW_GPU:
		report_live_gpus(out, w, s, st);
		break;
	case VIEW_RUNTIME:
		ops_layer_brief(out, s, w, "runtime", st);
		break;
	case VIEW_DRIVER:
		ops_layer_brief(out, s, w, "driver", st);
		break;
	case VIEW_GRAPHS:
		ops_layer_brief(out, s, w, "graph", st);
		break;
	case VIEW_NCCL:
		ops_layer_brief(out, s, w, "nccl", st);
		break;
	case VIEW_MARKS:
		ops_layer_brief(out, s, w, "mark", st);
		break;
	case VIEW_HOST:
		ops_layer_brief(out, s, w, NULL, st);
		break;
	case VIEW_ERRORS:
		ops_error_lines(out, s, w, st);
		break;
	default:
		break;
	}
}

void report_live(struct page *page, const struct world *w, const struct ops_summary *s,
		 const struct report_text_style *st, unsigned rows)
{
	static const struct {
		enum view_section section;
		char key;
		enum page_rank rank;
	} shown[] = {
		{ VIEW_ERRORS, 'e', PAGE_FIRST },  { VIEW_PROCESSES, 'p', PAGE_SECOND },
		{ VIEW_GPU, 'g', PAGE_FIRST },	   { VIEW_RUNTIME, 'r', PAGE_FIRST },
		{ VIEW_DRIVER, 'd', PAGE_SECOND }, { VIEW_GRAPHS, 'c', PAGE_FIRST },
		{ VIEW_NCCL, 'n', PAGE_FIRST },	   { VIEW_MARKS, 'v', PAGE_THIRD },
		{ VIEW_HOST, 'h', PAGE_SECOND },   { VIEW_SYSTEM, 's', PAGE_THIRD },
		{ VIEW_TIME, 't', PAGE_THIRD },	   { VIEW_KERNELS, 'l', PAGE_THIRD },
		{ VIEW_IO, 'i', PAGE_THIRD },	   { VIEW_NET, 'w', PAGE_THIRD },
		{ VIEW_MEMORY, 'y', PAGE_THIRD },  { VIEW_RATES, 'f', PAGE_THIRD },
		{ VIEW_LATENCY, 'x', PAGE_THIRD },
	};
	struct page_section *one;
	bool few = false;

	page->columns = st->columns;
	page->color = st->color;
	print_head(&page->head, w, s, st);
	if (st->sections & VIEW_BIT(SYSTEM))
		report_live_system(&page->head, w, s, st);
	print_foot(&page->foot, s, st, rows);
	if (s->by) {
		one = page_add(page, 'b', "table", PAGE_FIRST);
		if (one) {
			by_text(&one->full, w, s, st->top, st->color, st->columns);
			buf_add(&one->brief, one->full.p, one->full.n);
		}
		return;
	}
	for (unsigned i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		struct buf brief = { 0 }, full = { 0 };

		if (st->sections & 1u << shown[i].section) {
			brief_of(&brief, w, s, shown[i].section, st);
			ops_section_text(&full, w, s, shown[i].section, st, &few);
		}
		/* What is for where there is room is not made shorter; the machine stands above. */
		if (shown[i].rank == PAGE_THIRD && shown[i].section != VIEW_SYSTEM && !brief.n)
			buf_add(&brief, full.p + 1, full.n ? full.n - 1 : 0);
		one = brief.n || full.n
			      ? page_add(page, shown[i].key, view_section_name(shown[i].section),
					 shown[i].rank)
			      : NULL;
		if (one) {
			one->brief = brief;
			one->full = full;
			continue;
		}
		page->foot.failed |= brief.failed || full.failed;
		buf_free(&brief);
		buf_free(&full);
	}
	if (s->rows.n == 0) {
		one = page_add(page, 'o', "calls", PAGE_FIRST);
		if (one)
			buf_puts(&one->brief, "no calls yet\n");
	}
}
