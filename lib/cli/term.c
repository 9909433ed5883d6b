/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units, colour and safe text for terminals. Three significant digits are what a person reads.
 */
#include "lib/cli/term.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/timetext.h"
#include "lib/cli/message.h"

struct cli_text cli_ns(uint64_t ns)
{
	struct cli_text out;

	duration_text(out.s, sizeof(out.s), ns);
	return out;
}

struct cli_text cli_bytes(uint64_t bytes)
{
	static const char *const names[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	struct cli_text out;
	double x = (double)bytes;
	int i = -1;

	if (bytes < 1024) {
		snprintf(out.s, sizeof(out.s), "%" PRIu64 " B", bytes);
		return out;
	}
	while (x >= 1023.95 && i < 5) {
		x /= 1024;
		i++;
	}
	if (i < 0) {
		x /= 1024;
		i = 0;
	}
	snprintf(out.s, sizeof(out.s), x < 99.95 ? "%.1f %s" : "%.0f %s", x, names[i]);
	return out;
}

struct cli_text cli_count(uint64_t n)
{
	struct cli_text out;
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n), i, k = 0;

	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			out.s[k++] = ',';
		out.s[k++] = digits[i];
	}
	out.s[k] = '\0';
	return out;
}

struct cli_text cli_percent(double fraction)
{
	struct cli_text out;
	double percent = fraction * 100;

	snprintf(out.s, sizeof(out.s), isfinite(percent) ? "%.1f%%" : "-", percent);
	return out;
}

bool cli_color(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (!strcmp(cli_settings.color, "always"))
		return true;
	if (!strcmp(cli_settings.color, "never") || (no && *no))
		return false;
	return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

unsigned cli_width(int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
		return size.ws_col;
	return 80;
}

void cli_styled(struct buf *out, bool color, enum cli_style style, const char *text)
{
	static const char *const codes[] = { "", "1", "2", "31", "32", "33", "34", "36" };

	if (color && style != CLI_PLAIN)
		buf_printf(out, "\033[%sm%s\033[0m", codes[style], text);
	else
		buf_puts(out, text);
}

/* Length of the UTF-8 character at p by its first byte, 0 when its bytes do not follow. */
static size_t character_length(const unsigned char *p, size_t n)
{
	size_t len = p[0] < 0x80   ? 1
		     : p[0] < 0xc2 ? 0
		     : p[0] < 0xe0 ? 2
		     : p[0] < 0xf0 ? 3
		     : p[0] < 0xf5 ? 4
				   : 0;
	size_t i;

	if (len > n)
		return 0;
	for (i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

void cli_safe(struct buf *out, struct bytes text)
{
	const unsigned char *p = (const unsigned char *)text.p;
	size_t i = 0;

	while (i < text.n) {
		size_t len = character_length(p + i, text.n - i);
		/* C1 controls (U+0080..U+009F) drive terminals as ESC does. */
		bool control = len == 1 ? p[i] < 0x20 || p[i] == 0x7f
					: len == 2 && p[i] == 0xc2 && p[i + 1] < 0xa0;

		if (!len || control)
			buf_putc(out, '?');
		else
			buf_add(out, p + i, len);
		i += len ? len : 1;
	}
}

size_t cli_text_width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

void cli_bar(struct buf *out, double fraction, unsigned width)
{
	unsigned full, i;

	if (!(fraction > 0))
		fraction = 0;
	full = fraction >= 1 ? width : (unsigned)(fraction * width + 0.5);
	for (i = 0; i < width; i++)
		buf_putc(out, i < full ? '#' : ' ');
}
