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

uint32_t utf8_character(const unsigned char *p, size_t n)
{
	uint32_t c = n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

/* General category Cf of Unicode, and what else is drawn as nothing. */
bool utf8_is_unseen(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{ 0xad, 0xad },	      { 0x34f, 0x34f },	    { 0x600, 0x605 },
		{ 0x61c, 0x61c },     { 0x6dd, 0x6dd },	    { 0x70f, 0x70f },
		{ 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },   { 0x180b, 0x180f },
		{ 0x200b, 0x200f },   { 0x202a, 0x202e },   { 0x2060, 0x206f },
		{ 0x3164, 0x3164 },   { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },   { 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

bool utf8_is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

bool utf8_is_seen(const unsigned char *p, size_t length)
{
	uint32_t c = utf8_character(p, length);

	return !utf8_is_control(c) && !utf8_is_unseen(c);
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
