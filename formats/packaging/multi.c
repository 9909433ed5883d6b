/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In the tarball and the image: several programs as one file, so that what they share is there once. Each is built as ever,
 * with its main() renamed main_NAME when they are linked; the file runs the one it is called as. PROGRAMS is the list of
 * NAMEs, X(stat) for ingero-stat.
 */
#include <stdio.h>
#include <string.h>

#define X(name) int main_##name(int argc, char **argv);
PROGRAMS
#undef X

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
} programs[] = {
#define X(name) { "ingero-" #name, main_##name },
	PROGRAMS
#undef X
};

int main(int argc, char **argv)
{
	const char *called = argc > 0 ? argv[0] : "", *slash = strrchr(called, '/');

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (!strcmp(slash ? slash + 1 : called, programs[i].name))
			return programs[i].main(argc, argv);
	fprintf(stderr, "%s: not a program that is in this file; those are:", called);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		fprintf(stderr, " %s", programs[i].name);
	fputc('\n', stderr);
	return 2;
}
