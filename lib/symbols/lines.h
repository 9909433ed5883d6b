/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line that a CPython code object executes, from its own table, which is another one in 3.8-3.9
 * (co_lnotab), 3.10 (co_linetable) and since 3.11 (location table). The tables come from a traced
 * process's memory: any bytes give some answer, none harm.
 */
#ifndef INGERO_SYMBOLS_LINES_H
#define INGERO_SYMBOLS_LINES_H

#include <stddef.h>
#include <stdint.h>

/* minor: CPython 3.minor. at: byte of the bytecode that is executed. 0: the table gives no line for
 * that place. */
uint32_t sym_lines_find(unsigned minor, uint32_t first_line, const unsigned char *table, size_t n,
			uint64_t at);

#endif
