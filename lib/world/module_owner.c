/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distinguishes modules by their paths: what a distribution, a Python environment or CUDA installs
 * is shared by programs; everything else is the program's own.
 */
#include "lib/world/module_owner.h"

#include <string.h>


#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

bool module_is_shared(struct bytes path)
{
	static const char *const folders[] = { "/lib/", "/lib32/", "/lib64/", "/usr/", "/opt/",
					       "/nix/", "/gnu/",   "/snap/",  "linux-" };
	static const char *const parts[] = { "/site-packages/", "/dist-packages/", "conda",
					     "/lib/python3" };
	static const char *const interpreters[] = { "python", "libpython", "node",     "java",
						    "perl",   "ruby",	   "julia",    "Rscript",
						    "[vdso]", "bash",	   "libjvm.so" };
	struct bytes name = bytes_file_name(path);
	bool library = bytes_have(name, ".so");

	for (size_t i = 0; i < COUNT(interpreters); i++)
		if (bytes_begin_with(name, interpreters[i]))
			return true;
	for (size_t i = 0; library && i < COUNT(folders); i++)
		if (bytes_begin_with(path, folders[i]))
			return true;
	for (size_t i = 0; library && i < COUNT(parts); i++)
		if (bytes_have(path, parts[i]))
			return true;
	return !path.n;
}
