/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress lines: nothing in the first second, then five a second on a terminal, one every five
 * seconds elsewhere.
 */
#include "lib/cli/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/human.h"
#include "lib/cli/message.h"

#define S_NS 1000000000ll

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec * S_NS + ts.tv_nsec;
}

static void put(struct buf *line)
{
	ssize_t done = line->failed ? 0 : write(STDERR_FILENO, line->p, line->n);

	(void)done;
	buf_free(line);
}

void cli_progress_begin(struct cli_progress *p, const char *what)
{
	bool terminal = isatty(STDERR_FILENO);

	*p = (struct cli_progress){ .what = what,
				    .began_ns = now_ns(),
				    .on = !cli_settings.quiet &&
					  (terminal || cli_settings.progress),
				    .terminal = terminal };
	p->shown_ns = p->began_ns;
}

void cli_progress_update(struct cli_progress *p, uint64_t done, uint64_t total)
{
	struct buf line = { 0 };
	int64_t now;

	if (!p->on)
		return;
	now = now_ns();
	if (now - p->shown_ns < (!p->shown ? S_NS : p->terminal ? S_NS / 5 : 5 * S_NS))
		return;
	buf_printf(&line, "%s%s: %s", p->terminal ? "\r" : "", p->what, human_bytes(done).s);
	if (total)
		buf_printf(&line, " of %s (%s)", human_bytes(total).s,
			   human_percent((double)done / (double)total).s);
	buf_puts(&line, p->terminal ? "\033[K" : "\n");
	put(&line);
	p->shown_ns = now;
	p->shown = true;
}

void cli_progress_end(struct cli_progress *p)
{
	struct buf line = { 0 };

	if (!p->on || !p->shown || !p->terminal)
		return;
	buf_puts(&line, "\r\033[K");
	put(&line);
	p->shown = false;
}
