/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers and lines in what the kernel writes as text. A reading never goes past its end, and a
 * number that does not fit is no number.
 */
#ifndef INGERO_HOST_TEXT_H
#define INGERO_HOST_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"

/* The decimal number at *p behind blanks; *p then stands behind it. Negative ones read as 0. */
bool host_text_number(const char **p, const char *end, uint64_t *out);

/* What follows name at the start of a line, to the line's end: {NULL, 0} when no line starts so.
 * The separator
 * (":", " ", "=") is part of the name. */
struct bytes host_text_line(struct bytes text, const char *name);

/* The first number behind name at the start of a line. */
bool host_text_value(struct bytes text, const char *name, uint64_t *out);

#endif
