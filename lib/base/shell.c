/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of letters that no shell gives a meaning stay as they are; others go into single quotes.
 */
#include "lib/base/shell.h"

#include <stdbool.h>
#include <string.h>

static bool is_plain_word(struct bytes word)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

	for (size_t i = 0; i < word.n; i++)
		if (!memchr(letters, word.p[i], sizeof(letters) - 1))
			return false;
	return word.n > 0;
}

void shell_word(struct buf *out, struct bytes word)
{
	if (is_plain_word(word)) {
		buf_add(out, word.p, word.n);
		return;
	}
	buf_putc(out, '\'');
	for (size_t i = 0; i < word.n; i++)
		if (word.p[i] == '\'')
			buf_puts(out, "'\\''");
		else
			buf_putc(out, word.p[i]);
	buf_putc(out, '\'');
}
