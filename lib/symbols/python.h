/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is this file a Python runtime, which one, and where does it keep what a stack walker needs?
 * Everything is read from the file; nothing from a process. A version whose layout is not known is
 * named and not walked.
 */
#ifndef INGERO_SYMBOLS_PYTHON_H
#define INGERO_SYMBOLS_PYTHON_H

#include "bpf/layout.h"
#include "lib/symbols/elf.h"
#include "lib/symbols/python_find.h"

enum sym_python_kind {
	SYM_PYTHON_NONE,    /* no Python runtime */
	SYM_PYTHON_KNOWN,   /* CPython, with its layout */
	SYM_PYTHON_UNKNOWN, /* some Python whose frames cannot be read */
};

/* Where the interpreter's loop stands in the file: a C frame there executes Python. */
#define SYM_PYTHON_LOOPS 64
struct sym_python_loop {
	uint64_t offset, size;
};

struct sym_python {
	enum sym_python_kind kind;
	char version[40];	/* "CPython 3.11", "PyPy" */
	char why[96];		/* UNKNOWN: why not */
	uint64_t runtime;	/* address of _PyRuntime, as linked */
	uint64_t runtime_bytes; /* 0 not known */
	struct sym_python_slot slot;
	uint64_t freed; /* where in the file the function stands that frees a code object; 0 not
			   known */
	struct python_layout layout;
	struct sym_python_loop loops[SYM_PYTHON_LOOPS];
	unsigned nloops;
};

/* path: only the file name is used, for runtimes whose exported symbols do not identify them. */
void sym_python_read(struct sym_python *out, const struct sym_elf *f, const char *path);

/* Where the file's addresses lie in a process that maps it at start from that offset on: what is to
 * be added to an address as linked. False: the file loads nothing from there. */
bool sym_python_bias(const struct sym_elf *f, uint64_t start, uint64_t offset, uint64_t *bias);

#endif
