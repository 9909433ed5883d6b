/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of letters that no shell gives a meaning stay as they are; others go into single quotes.
 */
#include "lib/cli/quote.h"

#include <string.h>

void cli_quote(struct buf *out, const char *word)
{
	if (*word &&
	    strspn(word,
		   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-") ==
		    strlen(word)) {
		buf_puts(out, word);
		return;
	}
	buf_putc(out, '\'');
	for (; *word; word++)
		if (*word == '\'')
			buf_puts(out, "'\\''");
		else
			buf_putc(out, *word);
	buf_putc(out, '\'');
}
