/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws a text over its previous version on a terminal, cut to the terminal's height: lines that
 * scrolled away cannot be drawn over.
 */
#include "lib/cli/redraw.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/cli/notices.h"
#include "lib/cli/output.h"

#define ROWS_USUAL  24 /* of a terminal that does not say how many it has */
#define ROWS_LEAST  5
#define NO_WRAP	    "\033[?7l" /* a line too long is cut, not continued */
#define WRAP	    "\033[?7h"
#define UP_AND_WIPE "\033[%uA\r\033[J"

void cli_redraw_init(struct cli_redraw *r, int notices)
{
	*r = (struct cli_redraw){ .terminal = isatty(STDOUT_FILENO), .notices = notices };
}

static unsigned lines_of(const struct buf *text)
{
	unsigned n = 0;

	for (size_t i = 0; i < text->n; i++)
		n += text->p[i] == '\n';
	return n;
}

/* Cuts text so that `below` lines and the cursor's line fit under it. */
static void clip_text(struct cli_redraw *r, struct buf *text, unsigned below)
{
	struct winsize size = { 0 };
	unsigned max = ROWS_USUAL, lines = 0;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row >= ROWS_LEAST)
		max = size.ws_row;
	max = max > below + 2 ? max - below - 1 : 1;
	for (size_t i = 0; i < text->n; i++) {
		if (text->p[i] != '\n' || ++lines < max)
			continue;
		text->n = i + 1;
		break;
	}
	r->lines = lines + below;
}

static bool notices_wait(const struct cli_redraw *r)
{
	struct pollfd p = { .fd = r->notices, .events = POLLIN };

	return r->notices >= 0 && poll(&p, 1, 0) > 0 && (p.revents & POLLIN);
}

void cli_redraw_notices(const struct cli_redraw *r)
{
	cli_notices_pass(r->notices, false);
}

static void append_erase(struct cli_redraw *r, struct buf *out)
{
	if (r->terminal && r->lines)
		buf_printf(out, UP_AND_WIPE, r->lines);
	r->lines = 0;
}

int cli_redraw(struct cli_redraw *r, struct buf *text, const struct buf *foot, struct err *e)
{
	struct buf out = { 0 };
	int rc;

	if (!r->terminal) {
		if (notices_wait(r))
			cli_notices_pass(r->notices, false);
		rc = cli_print(text, e);
		return rc ? rc : cli_print(foot, e);
	}
	append_erase(r, &out);
	if (notices_wait(r)) {
		rc = cli_print(&out, e);
		if (rc)
			goto out;
		buf_reset(&out);
		cli_notices_pass(r->notices, false);
	}
	clip_text(r, text, lines_of(foot));
	buf_puts(&out, NO_WRAP);
	buf_add(&out, text->p, text->n);
	buf_add(&out, foot->p, foot->n);
	buf_puts(&out, WRAP);
	rc = out.failed || text->failed || foot->failed ? err_nomem(e) : cli_print(&out, e);
out:
	buf_free(&out);
	return rc;
}

int cli_redraw_end(struct cli_redraw *r, struct err *e)
{
	struct buf out = { 0 };
	int rc;

	append_erase(r, &out);
	rc = cli_print(&out, e);
	buf_free(&out);
	if (!rc && r->notices >= 0)
		cli_notices_pass(r->notices, true);
	return rc;
}
