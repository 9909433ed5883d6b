/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing run of bytes. Zero-initialised is empty. Running out of memory sets `failed`, which
 * sticks, and later additions do nothing: build the whole text, then ask once. A zero byte always
 * stands behind the contents (not counted in n) once something was added, so p is also a string.
 */
#ifndef INGERO_BASE_BUF_H
#define INGERO_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/bytes.h"

struct buf {
	char *p;
	size_t n, cap;
	bool failed;
};

void buf_add(struct buf *b, const void *p, size_t n);
void buf_puts(struct buf *b, const char *text);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* Room for n more bytes at the returned address; buf_added says how many were put there. NULL on
 * OOM. */
char *buf_reserve(struct buf *b, size_t n);
void buf_added(struct buf *b, size_t n);

/* Empty again, memory and all; `failed` is cleared by both. reset keeps the memory. */
void buf_reset(struct buf *b);
void buf_free(struct buf *b);

/* The contents as a string, "" when there are none; borrowed until the next change. */
const char *buf_text(const struct buf *b);

static inline struct bytes buf_bytes(const struct buf *b)
{
	return (struct bytes){ b->p ? b->p : "", b->n };
}

#endif
