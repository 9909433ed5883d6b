/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages on standard error. A message that cannot be written is dropped: there is nobody to tell.
 */
#include "lib/cli/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/base/buf.h"

struct cli_settings cli_settings = { .program = "ingero", .color = "auto" };

static void say(const char *before, const char *fmt, va_list ap)
{
	struct buf line = { 0 };
	size_t i, from;
	ssize_t done;

	if (before)
		buf_printf(&line, "%s: %s", cli_settings.program, before);
	from = line.n;
	buf_vprintf(&line, fmt, ap);
	buf_putc(&line, '\n');
	if (!line.failed) {
		for (i = from; i + 1 < line.n; i++)
			if ((unsigned char)line.p[i] < 0x20 && line.p[i] != '\n' &&
			    line.p[i] != '\t')
				line.p[i] = '?';
		done = write(STDERR_FILENO, line.p, line.n);
		(void)done;
	}
	buf_free(&line);
}

void cli_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("", fmt, ap);
	va_end(ap);
}

void cli_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("warning: ", fmt, ap);
	va_end(ap);
}

void cli_note(const char *fmt, ...)
{
	va_list ap;

	if (cli_settings.quiet)
		return;
	va_start(ap, fmt);
	say(NULL, fmt, ap);
	va_end(ap);
}

void cli_detail(const char *fmt, ...)
{
	va_list ap;

	if (!cli_settings.verbose)
		return;
	va_start(ap, fmt);
	say("", fmt, ap);
	va_end(ap);
}
