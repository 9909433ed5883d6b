/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds an export format by its name or by the ending of a file. The longest ending wins:
 * "x.speedscope.json" is not plain JSON.
 */
#include "lib/export/format.h"

#include <string.h>

extern const struct export_format export_json, export_csv, export_text, export_folded,
	export_speedscope, export_pprof, export_prometheus, export_otlp, export_perfetto,
	export_chrome, export_clickhouse;

static const struct export_format *const formats[] = {
	&export_json,	    &export_csv,    &export_text,	&export_perfetto,
	&export_chrome,	    &export_folded, &export_speedscope, &export_pprof,
	&export_prometheus, &export_otlp,   &export_clickhouse
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

const struct export_format *export_format_named(const char *name)
{
	for (size_t i = 0; i < FORMATS; i++)
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	return NULL;
}

/* Length of the longest of the blank separated endings that path has. */
static size_t match_ending(const char *endings, const char *path, size_t length)
{
	size_t longest = 0;

	while (*endings) {
		size_t n = strcspn(endings, " ");

		if (n < length && n > longest && !strncmp(path + length - n, endings, n))
			longest = n;
		endings += n;
		endings += *endings == ' ';
	}
	return longest;
}

bool export_format_ends(const struct export_format *f, const char *path)
{
	return match_ending(f->endings, path, strlen(path)) > 0;
}

static const struct export_format *of_path(const char *path, size_t length)
{
	const struct export_format *best = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < FORMATS; i++) {
		size_t n = match_ending(formats[i]->endings, path, length);

		if (n > longest) {
			longest = n;
			best = formats[i];
		}
	}
	return best;
}

const struct export_format *export_format_of_path(const char *path)
{
	size_t length = strlen(path);
	const struct export_format *f = of_path(path, length);

	if (!f && length > 3 && !strcmp(path + length - 3, ".gz"))
		f = of_path(path, length - 3);
	return f;
}

const struct export_format *export_format_of(const char *name, const char *path)
{
	const struct export_format *f = name   ? export_format_named(name)
					: path ? export_format_of_path(path)
					       : &export_json;

	/* Timelines in JSON are Chrome's. */
	if (f == &export_perfetto && path && export_format_of_path(path) == &export_json)
		f = &export_chrome;
	return f;
}

enum export_weight export_weight_of(const char *name)
{
	return !name || name[0] == 't' ? EXPORT_TIME
	       : name[0] == 'c'	       ? EXPORT_COUNT
	       : name[0] == 'l'	       ? EXPORT_LOST
				       : EXPORT_BYTES;
}
