/* SPDX-License-Identifier: Apache-2.0 */
/* What lib/symbols makes of a file with a CPython runtime: its version, then its layout, a line
 * each. */
#include <stdio.h>

#include "lib/symbols/python.h"

int main(int argc, char **argv)
{
	struct sym_python python;
	struct sym_elf *f;
	struct err e = { 0 };

	if (argc < 2 || sym_elf_open(&f, argv[1], &e)) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	sym_python_read(&python, f, argv[1]);
	fprintf(stderr, "%s%s%s\n", python.version, *python.why ? ": " : "", python.why);
#define SAY(name) printf(#name " %u\n", (unsigned)python.layout.name)
	SAY(runtime_interpreters);
	SAY(interpreter_next);
	SAY(interpreter_threads);
	SAY(thread_next);
	SAY(thread_ident);
	SAY(thread_native);
	SAY(thread_frame);
	SAY(frame_code);
	SAY(frame_back);
	SAY(frame_at);
	SAY(frame_entry);
	SAY(code_line);
	SAY(code_file);
	SAY(code_name);
	SAY(code_lines);
	SAY(code_bytes);
	SAY(string_length);
	SAY(string_state);
	SAY(string_ascii);
	SAY(string_wide);
	SAY(string_shift);
	SAY(bytes_length);
	SAY(bytes_data);
	SAY(runtime_key);
	SAY(frame_copy);
	SAY(code_copies);
	sym_elf_free(f);
	return python.kind != SYM_PYTHON_KNOWN;
}
