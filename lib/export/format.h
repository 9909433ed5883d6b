/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording can be written as: one format a file, one row of the table each. A format takes
 * the items of a stream in their order and appends to a buffer that its caller empties whenever it
 * likes, so that memory does not grow with the recording.
 */
#ifndef INGERO_EXPORT_FORMAT_H
#define INGERO_EXPORT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/event/stream.h"
#include "lib/world/late_names.h"
#include "lib/world/world.h"

enum export_weight { EXPORT_TIME, EXPORT_COUNT, EXPORT_LOST, EXPORT_BYTES };

/* Of a profile: "time", "count", "lost" or "bytes"; NULL: time. */
enum export_weight export_weight_of(const char *name);

struct export_options {
	bool stacks;	     /* events with their stacks, where that is a choice */
	bool stacks_below;   /* of lines of text: below each, a line to a frame */
	bool records;	     /* everything the recording tells, not its events and chains alone */
	bool chosen;	     /* ops were chosen by name: none is left out for what it is */
	const char *tool;    /* who writes it: "ingero-export 0.1.0" */
	int fd;		     /* of the output, for formats that seek in it */
	const char *path;    /* and what it is called */
	bool (*stop)(void);  /* asked while it is finished, where that takes long: true ends it.
				NULL: never */
	uint64_t max_bytes;  /* of the output, for formats that can leave out what is oldest; 0: no
				limit */
	const bool *partial; /* set before finish: the input was not read to its end; may be NULL */
	uint64_t *left_out;  /* number of events left out because of max_bytes; may be NULL */
	const char *version; /* of this program, where formats name who wrote them */
	const void *page;    /* of the page in HTML: struct html_page_format_options */
	const void *live; /* of metrics that are pushed or asked for: struct live_metrics_options */
	enum export_weight weight; /* of profiles: what a stack's number is */
};

/* What a format works with; all borrowed, and there until it is freed. */
struct export_ctx {
	struct world *w;
	const struct late_names
		*told; /* fed by the caller with each record, before the format sees it */
	struct export_options opt;
	struct buf *out;
};

struct export_format {
	const char *name;
	const char *endings; /* of files that get this format by default: ".json .ndjson"; ""
				none */
	const char *help;    /* a few words for --help and the manual */
	bool binary;	     /* not to be written to a terminal */
	bool compressed;     /* by itself: once is enough */
	bool seeks;	     /* in a file it writes by itself: not a stream, not to be compressed */
	bool whole; /* wants all items of the time asked for, and chooses what it shows by itself */
	bool findings; /* shows what was found: of a recording that nobody analyzed, too */
	bool flows;    /* what it makes of an item is wanted at once, where more may come */
	bool profile;  /* has a use for export_options.weight */
	void *(*open)(const struct export_ctx *em); /* NULL: out of memory */
	int (*begin)(void *state,
		     struct err *e); /* before the first item, once; NULL: needs none */
	int (*item)(void *state, const struct stream_item *item, struct err *e);
	int (*idle)(void *state,
		    struct err *e); /* nothing more is there yet; NULL: it does not matter */
	int (*finish)(void *state, struct err *e);
	void (*free)(void *state); /* of what open returned, at any time */
};

const struct export_format *export_format_named(const char *name); /* NULL: there is none */
const struct export_format *export_format_of_path(
	const char *path); /* by its ending, with or without ".gz"; NULL: none */
/* What is meant by a format's name and the path it is written to, either of which may be missing
 * (NULL): the name holds, but that a Perfetto timeline into "x.json" is Chrome's; neither: JSON
 * lines. */
const struct export_format *export_format_of(const char *name, const char *path);

/* Whether path ends as files of this format do: for formats that are not in the list. */
bool export_format_ends(const struct export_format *f, const char *path);

#endif
