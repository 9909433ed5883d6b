/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is UTF-8 and what is not, in text from outside: names of processes, paths, symbols.
 */
#ifndef INGERO_BASE_UTF8_H
#define INGERO_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"

/* Length of the valid UTF-8 sequence at p (n > 0 bytes), 0 when there is none (overlong, surrogate,
 * cut short). */
size_t utf8_length(const unsigned char *p, size_t n);

/* The number of the valid character p[0..length). */
uint32_t utf8_character(const unsigned char *p, size_t length);
/* Of both tables: U+0080 to U+009F drive terminals as ESC does. */
bool utf8_is_control(uint32_t c);
/* Whether it is drawn as nothing, or turns the direction of writing around. */
bool utf8_is_unseen(uint32_t c);
/* Whether the valid character p[0..length) is neither. */
bool utf8_is_seen(const unsigned char *p, size_t length);

/* The character of that number; U+FFFD where there is none. */
void utf8_put(struct buf *b, uint32_t c);

#endif
