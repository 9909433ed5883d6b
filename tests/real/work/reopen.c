/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a plugin, launches its kernel so many times and closes it again, together with the CUDA
 * runtime that only the plugin wants; then the next one, which the loader puts where the first one
 * was.
 *
 *   reopen PLUGIN LAUNCHES [PLUGIN LAUNCHES]...
 *
 * Prints for each whether it came to the address of the first one.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int (*at)(unsigned) = NULL;

	for (int i = 1; i + 1 < argc; i += 2) {
		void *plugin = dlopen(argv[i], RTLD_NOW);
		int (*run)(unsigned) = plugin ? dlsym(plugin, "plugin_run") : NULL;

		if (!run) {
			fprintf(stderr, "reopen: %s\n", dlerror());
			return 1;
		}
		if (i == 1)
			at = run;
		printf("%s address\n", run == at ? "same" : "other");
		if (run((unsigned)strtoul(argv[i + 1], NULL, 10)) || dlclose(plugin)) {
			fprintf(stderr, "reopen: %s failed\n", argv[i]);
			return 1;
		}
	}
	return 0;
}
