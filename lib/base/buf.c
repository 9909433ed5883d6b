/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing byte buffers with a sticky out-of-memory flag. Growth doubles, so adding is linear in the
 * bytes added; sizes are checked for wrap-around before they reach realloc.
 */
#include "lib/base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/check.h"
#include "lib/base/oom_flag.h"

char *buf_reserve(struct buf *b, size_t n)
{
	size_t need, cap;
	char *p;

	if (b->failed)
		return NULL;
	if (!size_add(b->n, n, &need) || !size_add(need, 1, &need))
		goto fail;
	if (need <= b->cap)
		return b->p + b->n;
	cap = b->cap < 64 ? 64 : b->cap;
	while (cap < need)
		if (!size_mul(cap, 2, &cap))
			goto fail;
	p = realloc(b->p, cap);
	if (!p)
		goto fail;
	b->p = p;
	b->cap = cap;
	return b->p + b->n;
fail:
	oom_flag_set();
	b->failed = true;
	return NULL;
}

void buf_added(struct buf *b, size_t n)
{
	b->n += n;
	b->p[b->n] = '\0';
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	char *at = buf_reserve(b, n);

	if (!at)
		return;
	if (n)
		memcpy(at, p, n);
	buf_added(b, n);
}

void buf_puts(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_putc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	char *at = buf_reserve(b, 64);
	size_t room;
	int n;

	if (!at)
		return;
	room = b->cap - b->n;
	va_copy(again, ap);
	n = vsnprintf(at, room, fmt, ap);
	if (n >= 0 && (size_t)n >= room) {
		at = buf_reserve(b, (size_t)n);
		if (at)
			n = vsnprintf(at, (size_t)n + 1, fmt, again);
	}
	va_end(again);
	if (n < 0)
		b->failed = true;
	else if (at)
		b->n += (size_t)n;
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

void buf_reset(struct buf *b)
{
	b->n = 0;
	b->failed = false;
	if (b->p)
		b->p[0] = '\0';
}

void buf_free(struct buf *b)
{
	free(b->p);
	*b = (struct buf){ 0 };
}

const char *buf_text(const struct buf *b)
{
	return b->n ? b->p : "";
}
