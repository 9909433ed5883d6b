/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sample recordings that are part of the format.
 */
#ifndef INGERO_TESTS_SAMPLES_H
#define INGERO_TESTS_SAMPLES_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every one of them, kind by kind ("good", "truncated", "damaged", "future"). How many there are. */
static inline unsigned samples_each(void (*fn)(const char *kind, const char *path))
{
	static const char *const kinds[] = { "good", "truncated", "damaged", "future" };
	unsigned n = 0;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		char path[600];
		struct dirent **entry;
		int many;

		snprintf(path, sizeof(path), "formats/samples/v1/%s", kinds[k]);
		many = scandir(path, &entry, NULL, alphasort);
		for (int i = 0; i < many; free(entry[i++])) {
			const char *name = entry[i]->d_name, *end = strrchr(name, '.');

			if (!end || strcmp(end, ".ige"))
				continue;
			snprintf(path, sizeof(path), "formats/samples/v1/%s/%s", kinds[k], name);
			fn(kinds[k], path);
			n++;
		}
		if (many >= 0)
			free(entry);
	}
	return n;
}

#endif
