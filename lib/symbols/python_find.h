/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of CPython has no name in the file and is found through what has: by the machine code of an
 * exported function, or by what an exported table holds. Not found is an answer: walkers have other
 * ways.
 */
#ifndef INGERO_SYMBOLS_PYTHON_FIND_H
#define INGERO_SYMBOLS_PYTHON_FIND_H

#include "lib/symbols/elf.h"

/* Where each thread keeps the address of its state, from 3.15 on. */
struct sym_python_slot {
	bool known;
	int64_t at;    /* from the thread pointer, or from what the pair names */
	uint64_t pair; /* address, as linked, of a (module, place) pair of thread-local storage; 0:
			  none */
};
void sym_python_slot(const struct sym_elf *f, struct sym_python_slot *out);

/* Place in the file where every code object that is freed comes by; 0: not found. free_threaded:
 * objects of such a build have a longer head. */
uint64_t sym_python_freed(const struct sym_elf *f, bool free_threaded);

#endif
