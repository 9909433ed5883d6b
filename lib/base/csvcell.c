/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one text as a cell of CSV: quoted, cleaned, never a spreadsheet formula. Names in
 * recordings are anybody's: "=cmd|..." as a process name must stay a name in whatever opens the
 * file.
 */
#include "lib/base/csvcell.h"

#include <string.h>

#include "lib/base/utf8.h"

/* -1, +1.5e3 */
static bool is_number(struct bytes text)
{
	size_t i = 1;

	while (i < text.n && memchr("0123456789.eE+-", text.p[i], 15))
		i++;
	return i == text.n && text.n > 1 && memchr("0123456789.", text.p[1], 11);
}

static bool begins_formula(struct bytes text)
{
	return text.n && memchr("=+-@\t\r", text.p[0], 6) &&
	       (!memchr("+-", text.p[0], 2) || (text.n > 1 && !is_number(text)));
}

void csv_cell(struct buf *out, struct bytes text, bool quote_empty)
{
	const unsigned char *p = (const unsigned char *)text.p;
	bool quoted = quote_empty && !text.n;

	for (size_t i = 0; i < text.n && !quoted; i++)
		quoted = memchr(",\"\r\n", text.p[i], 4);
	if (quoted)
		buf_putc(out, '"');
	if (begins_formula(text))
		buf_putc(out, '\'');
	for (size_t i = 0, n; i < text.n; i += n) {
		n = utf8_length(p + i, text.n - i);
		if (p[i] == '"')
			buf_puts(out, "\"\"");
		else if (n && (memchr("\t\r\n", p[i], 3) || utf8_is_seen(p + i, n)))
			buf_add(out, p + i, n);
		else
			utf8_put(out, 0xfffd);
		n = n ? n : 1;
	}
	if (quoted)
		buf_putc(out, '"');
}
