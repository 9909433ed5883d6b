/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognizes a CUDA runtime inside a file by what stripping leaves: the section in which the
 * runtime finds its GPU code, and a table of names without that of the shared runtime.
 */
#include "lib/attach/static_runtime.h"

#include <stdlib.h>
#include <string.h>

#include "lib/symbols/elf.h"

#define NAMES_MAX (64u << 20) /* of a table of dynamic names; a larger one is not looked into */

const char static_runtime_reason[] =
	"its own CUDA runtime has no symbols: its work is recorded at the driver's calls";

bool static_runtime_usual(const char *path)
{
	static const char *const names[] = { "libcublas",   "libcudnn",	   "libcufft",	"libcurand",
					     "libcusolver", "libcusparse", "libnvinfer" };
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static bool is_called(const struct sym_elf *f, const struct sym_elf_part *s, const char *name)
{
	char text[24];
	size_t n = strlen(name) + 1;

	return n <= sizeof(text) && s->name && sym_elf_bytes(f, s->name, text, n) == n &&
	       memcmp(text, name, n) == 0;
}

/* Whether the file asks the loader for the shared runtime. */
static bool loads_runtime(const struct sym_elf *f, const struct sym_elf_part *names)
{
	static const char runtime[] = "libcudart";
	char *text = names->size <= NAMES_MAX ? malloc(names->size + 1) : NULL;
	bool yes = false;

	if (text) {
		size_t n = sym_elf_bytes(f, names->offset, text, names->size);

		yes = memmem(text, n, runtime, sizeof(runtime) - 1) != NULL;
	}
	free(text);
	return yes;
}

bool static_runtime_inside(const char *path)
{
	struct sym_elf_part s;
	struct err ignored = { 0 };
	struct sym_elf *f;
	bool code = false, shared = false;

	if (sym_elf_open(&f, path, &ignored))
		return false;
	for (unsigned i = 0; sym_elf_section(f, i, &s); i++) {
		code |= is_called(f, &s, ".nv_fatbin") || is_called(f, &s, ".nvFatBinSegment");
		shared |= is_called(f, &s, ".dynstr") && loads_runtime(f, &s);
	}
	sym_elf_free(f);
	return code && !shared;
}
