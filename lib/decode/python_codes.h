/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python code objects as the kernel side told them, by number: file, function and line table.
 * Objects of equal content are kept once, so a program that makes the same code again and again
 * does not fill memory. What a record says is checked; its texts and tables are the traced
 * program's own words.
 */
#ifndef INGERO_DECODE_PYTHON_CODES_H
#define INGERO_DECODE_PYTHON_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "lib/base/err.h"
#include "lib/decode/ended_processes.h"
#include "lib/world/world.h"

struct python_codes;

int python_codes_new(struct python_codes **out, struct world *w, struct err *e);
void python_codes_free(struct python_codes *c);

/* n bytes of a record; false: not understood. */
bool python_codes_take(struct python_codes *c, const struct wire_code *r, size_t n);
bool python_codes_more(struct python_codes *c, const struct wire_lines *r, size_t n);

/* World frame of that code where it executes; 0: the number was never told. *entry: C code called
 * it. */
uint32_t python_codes_frame(struct python_codes *c, const struct wire_python_frame *f, bool *entry);

/* Drops the code numbers of these processes. The codes stay: other processes run the same code. */
void python_codes_gone(struct python_codes *c, const struct gone_processes *gone);

/* Different ones. */
size_t python_codes_count(const struct python_codes *c);

#endif
