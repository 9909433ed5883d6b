/* SPDX-License-Identifier: Apache-2.0 */
/* The longest ending holds: "x.speedscope.json" is not plain JSON. */
#include "lib/emit/format.h"

#include <string.h>

extern const struct emit_format emit_json, emit_csv, emit_text, emit_folded, emit_speedscope,
	emit_pprof, emit_prometheus, emit_otlp, emit_perfetto, emit_chrome, emit_clickhouse;

static const struct emit_format *const formats[] = {
	&emit_json,	  &emit_csv,	&emit_text,	  &emit_perfetto,
	&emit_chrome,	  &emit_folded, &emit_speedscope, &emit_pprof,
	&emit_prometheus, &emit_otlp,	&emit_clickhouse
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

const struct emit_format *emit_format_named(const char *name)
{
	for (size_t i = 0; i < FORMATS; i++)
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	return NULL;
}

/* Length of the longest of the blank separated endings that path has. */
static size_t ending(const char *endings, const char *path, size_t length)
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

bool emit_format_ends(const struct emit_format *f, const char *path)
{
	return ending(f->endings, path, strlen(path)) > 0;
}

static const struct emit_format *of_path(const char *path, size_t length)
{
	const struct emit_format *best = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < FORMATS; i++) {
		size_t n = ending(formats[i]->endings, path, length);

		if (n > longest) {
			longest = n;
			best = formats[i];
		}
	}
	return best;
}

const struct emit_format *emit_format_of_path(const char *path)
{
	size_t length = strlen(path);
	const struct emit_format *f = of_path(path, length);

	if (!f && length > 3 && !strcmp(path + length - 3, ".gz"))
		f = of_path(path, length - 3);
	return f;
}

const struct emit_format *emit_format_of(const char *name, const char *path)
{
	const struct emit_format *f = name   ? emit_format_named(name)
				      : path ? emit_format_of_path(path)
					     : &emit_json;

	/* Timelines in JSON are Chrome's. */
	if (f == &emit_perfetto && path && emit_format_of_path(path) == &emit_json)
		f = &emit_chrome;
	return f;
}

enum emit_weight emit_weight_of(const char *name)
{
	return !name || name[0] == 't' ? EMIT_TIME
	       : name[0] == 'c'	       ? EMIT_COUNT
	       : name[0] == 'l'	       ? EMIT_LOST
				       : EMIT_BYTES;
}
