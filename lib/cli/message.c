/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints messages of a program on standard error, cleaned for terminals. A message that cannot be
 * written is dropped: there is nobody to tell.
 */
#include "lib/cli/message.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fmt.h"

#define SHORT_BYTES 1024

struct cli_settings cli_settings = { .program = "ingero", .color = "auto" };

/* Cut where it is long, and only what every terminal shows. */
static ssize_t without_memory(const char *before, const char *fmt, va_list ap)
{
	char line[SHORT_BYTES] = "";
	size_t n = 0;

	if (before)
		n = (size_t)snprintf(line, sizeof(line) / 2, "%s: %s", cli_settings.program,
				     before);
	vsnprintf(line + n, sizeof(line) - 1 - n, fmt, ap);
	n = strlen(line);
	for (size_t i = 0; i < n; i++)
		if ((line[i] < ' ' && line[i] != '\n' && line[i] != '\t') || line[i] > '~')
			line[i] = '?';
	line[n++] = '\n';
	return write(STDERR_FILENO, line, n);
}

static void print_message(const char *before, const char *fmt, va_list ap)
{
	struct buf line = { 0 }, text = { 0 };
	ssize_t done;
	va_list ap2;
	size_t n;

	va_copy(ap2, ap);
	if (before)
		buf_printf(&line, "%s: %s", cli_settings.program, before);
	buf_vprintf(&text, fmt, ap);
	for (const char *p = buf_text(&text); *p; p += n) {
		n = strcspn(p, "\n\t");
		if (n == 0)
			buf_add(&line, p, n = 1); /* lines and tabs are ours */
		else
			fmt_safe(&line, (struct bytes){ p, n });
	}
	buf_putc(&line, '\n');
	done = line.failed || text.failed ? without_memory(before, fmt, ap2)
					  : write(STDERR_FILENO, line.p, line.n);
	(void)done;
	va_end(ap2);
	buf_free(&text);
	buf_free(&line);
}

void cli_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message("", fmt, ap);
	va_end(ap);
}

void cli_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message("warning: ", fmt, ap);
	va_end(ap);
}

/* say_one for each line of text. */
static void each_line(const struct buf *text, void (*say_one)(const char *fmt, ...))
{
	const char *end;

	for (size_t at = 0; at < text->n; at = (size_t)(end - text->p) + 1) {
		end = memchr(text->p + at, '\n', text->n - at);
		if (!end)
			end = text->p + text->n;
		say_one("%.*s", (int)(end - text->p - (ptrdiff_t)at), text->p + at);
	}
}

void cli_warn_lines(const struct buf *text)
{
	each_line(text, cli_warn);
}

void cli_detail_lines(const struct buf *text)
{
	each_line(text, cli_detail);
}

void cli_note(const char *fmt, ...)
{
	va_list ap;

	if (cli_settings.quiet)
		return;
	va_start(ap, fmt);
	print_message(NULL, fmt, ap);
	va_end(ap);
}

void cli_note_lines(const struct buf *text)
{
	each_line(text, cli_note);
}

void cli_detail(const char *fmt, ...)
{
	va_list ap;

	if (!cli_settings.verbose)
		return;
	va_start(ap, fmt);
	print_message("", fmt, ap);
	va_end(ap);
}
