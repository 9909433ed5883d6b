/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of well-formed sequences of RFC 3629, as ranges of the first two bytes.
 */
#include "lib/base/utf8.h"

size_t utf8_length(const unsigned char *p, size_t n)
{
	size_t len = p[0] < 0x80   ? 1
		     : p[0] < 0xc2 ? 0
		     : p[0] < 0xe0 ? 2
		     : p[0] < 0xf0 ? 3
		     : p[0] < 0xf5 ? 4
				   : 0;
	size_t i;

	if (!len || len > n)
		return 0;
	for (i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if (len == 3 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0)))
		return 0;
	if (len == 4 && ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90)))
		return 0;
	return len;
}

void utf8_put(struct buf *b, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		c = 0xfffd;
	if (c < 0x80) {
		buf_putc(b, (char)c);
		return;
	}
	if (c >= 0x10000) {
		buf_putc(b, (char)(0xf0 | c >> 18));
		buf_putc(b, (char)(0x80 | (c >> 12 & 63)));
	} else if (c >= 0x800) {
		buf_putc(b, (char)(0xe0 | c >> 12));
	}
	buf_putc(b, (char)(c >= 0x800 ? 0x80 | (c >> 6 & 63) : 0xc0 | c >> 6));
	buf_putc(b, (char)(0x80 | (c & 63)));
}
