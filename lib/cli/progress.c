/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress lines: nothing in the first two seconds, then five a second on a terminal, one every
 * three seconds elsewhere. The time left is what the bytes so far took, continued.
 */
#include "lib/cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/fmt.h"
#include "lib/cli/message.h"
#include "lib/cli/signals.h"

#define S_NS	 1000000000ll
#define FIRST_NS (2 * S_NS)
#define DRAW_NS	 (S_NS / 5)
#define LINE_NS	 (3 * S_NS)

static int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * S_NS + ts.tv_nsec;
}

static void write_line(struct buf *line)
{
	ssize_t done = line->failed ? 0 : write(STDERR_FILENO, line->p, line->n);

	(void)done;
	buf_free(line);
}

void cli_progress_begin(struct cli_progress *p, cli_measure *measure, void *of, bool screen)
{
	uint64_t done, total, events;

	*p = (struct cli_progress){ .measure = measure,
				    .of = of,
				    .began_ns = now_ns(CLOCK_MONOTONIC),
				    .terminal = isatty(STDERR_FILENO) };
	p->shown_ns = p->began_ns;
	if (cli_settings.quiet)
		return;
	p->on = cli_settings.progress;
	if (!p->on && p->terminal && !screen) {
		measure(of, &done, &total, &events);
		p->on = total > 0;
	}
}

/* "ingero-stat: 12%, 1.2 MiB of 9.8 MiB, 1,234 events, 600/s, 3 s left" */
static void append_progress(struct buf *out, const struct cli_progress *p, bool over)
{
	double s = (double)(now_ns(CLOCK_MONOTONIC) - p->began_ns) / 1e9, share;
	uint64_t done, total, events;

	p->measure(p->of, &done, &total, &events);
	buf_printf(out, "%s: ", cli_settings.program);
	if (p->what) {
		fmt_safe(out, (struct bytes){ p->what, strlen(p->what) });
		buf_puts(out, ": ");
	}
	share = total ? (double)done / (double)total : 0;
	if (total && !over)
		buf_printf(out, "%s, %s of ", fmt_percent(share).s, fmt_bytes(done).s);
	if (total)
		buf_printf(out, "%s, ", fmt_bytes(total).s);
	buf_printf(out, "%s events", fmt_count(events).s);
	if (s > 0)
		buf_printf(out, ", %s/s", fmt_count((uint64_t)((double)events / s)).s);
	if (over)
		buf_printf(out, ", done in %s", fmt_ns((uint64_t)(s * 1e9)).s);
	else if (share > 0 && share < 1 && s > 0)
		buf_printf(out, ", %.0f s left", s / share - s);
}

void cli_progress_tick(struct cli_progress *p)
{
	struct buf line = { 0 };
	int64_t now;

	if (!p->on)
		return;
	now = now_ns(CLOCK_MONOTONIC_COARSE);
	if (now - p->shown_ns < (!p->shown ? FIRST_NS : p->terminal ? DRAW_NS : LINE_NS))
		return;
	if (p->terminal)
		buf_puts(&line, "\r\033[?7l"); /* a line too long is cut, not continued */
	append_progress(&line, p, false);
	buf_puts(&line, p->terminal ? "\033[K\033[?7h" : "\n");
	write_line(&line);
	p->shown_ns = now;
	p->shown = true;
}

void cli_progress_end(struct cli_progress *p)
{
	struct buf line = { 0 };

	if (!p->on)
		return;
	if (p->shown && p->terminal)
		buf_puts(&line, "\r\033[K");
	if (cli_settings.progress) {
		append_progress(&line, p, true);
		buf_putc(&line, '\n');
	}
	write_line(&line);
	p->on = false;
}

/* What is prepared: one thing at a time. */
static struct {
	struct cli_progress p;
	const char *what;
	uint64_t events;
} preparing;

static void measure_preparing(void *of, uint64_t *done, uint64_t *total, uint64_t *events)
{
	(void)of;
	*done = *total = 0;
	*events = preparing.events;
}

bool cli_preparing(const char *what, uint64_t events, bool over)
{
	preparing.events = events;
	if (preparing.what != what) {
		cli_progress_begin(&preparing.p, measure_preparing, NULL, false);
		preparing.p.on |= preparing.p.terminal && !cli_settings.quiet;
		preparing.p.what = preparing.what = what;
	}
	if (!over)
		cli_progress_tick(&preparing.p);
	else
		cli_progress_end(&preparing.p);
	if (over)
		preparing.what = NULL;
	return cli_signal_received() != 0;
}

void cli_phase(int64_t *since_ns, const char *what)
{
	int64_t now = now_ns(CLOCK_MONOTONIC);

	if (*since_ns)
		cli_detail("%s in %s", what, fmt_ns((uint64_t)(now - *since_ns)).s);
	*since_ns = now;
}
