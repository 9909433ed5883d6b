/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is UTF-8 and what is not, in text from outside: names of processes, paths, symbols.
 */
#ifndef INGERO_BASE_UTF8_H
#define INGERO_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"

/* Length of the valid UTF-8 sequence at p (n > 0 bytes), 0 when there is none (overlong, surrogate, cut short). */
size_t utf8_length(const unsigned char *p, size_t n);

/* The character of that number; U+FFFD where there is none. */
void utf8_put(struct buf *b, uint32_t c);

#endif
