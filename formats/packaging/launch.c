/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In the tarball: starts a program that could not be linked statically with the libraries that travel with it, on a machine
 * that has neither them nor a C library of its own. It stands in lib/ beside the loader, the libraries and each NAME.elf;
 * bin/NAME is a link to it. Linked statically.
 */
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#ifdef __aarch64__
#define LOADER "ld-linux-aarch64.so.1"
#else
#define LOADER "ld-linux-x86-64.so.2"
#endif
#define ARGS_MAX 65536

int main(int argc, char **argv)
{
	static char *args[ARGS_MAX + 8];
	static char self[PATH_MAX], lib[PATH_MAX], loader[PATH_MAX + 32], elf[2 * PATH_MAX];
	char *called = (char *)getauxval(AT_EXECFN), *name;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int at = 0;

	if (n <= 0) {
		perror("/proc/self/exe");
		return 3;
	}
	self[n] = '\0';
	name = basename(called);
	snprintf(lib, sizeof(lib), "%s", dirname(self));
	snprintf(loader, sizeof(loader), "%s/" LOADER, lib);
	if (argc > ARGS_MAX) {
		fprintf(stderr, "%s: more than %d arguments\n", name, ARGS_MAX);
		return 2;
	}
	snprintf(elf, sizeof(elf), "%s/%s.elf", lib, name);
	args[at++] = loader;
	args[at++] = "--library-path";
	args[at++] = lib;
	args[at++] = "--argv0";
	args[at++] = name;
	args[at++] = elf;
	for (int i = 1; i < argc; i++)
		args[at++] = argv[i];
	execv(loader, args);
	perror(loader);
	return 3;
}
