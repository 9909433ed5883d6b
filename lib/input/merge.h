/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joined inputs written anew: events and records of a stream go to writers, all to one or to one
 * per machine. What is written depends on what the inputs hold and on nothing else: not on their
 * order, their names or the time of day.
 */
#ifndef INGERO_INPUT_MERGE_H
#define INGERO_INPUT_MERGE_H

#include "lib/archive/write.h"
#include "lib/base/keyhash.h"
#include "lib/ige/writer.h"
#include "lib/input/input.h"
#include "lib/filter/filter.h"

struct merge_options {
	struct filter *select; /* NULL: everything */
	bool archive;
	bool recover;	   /* end cleanly whatever was lost, and say in the recording what was */
	bool growing_ends; /* what is still being written ends cleanly where it was read */
	const char *force_node; /* name of the machine of what does not say where it was recorded;
				   NULL: it stays nameless */
	const struct archive_options *database; /* NULL: a recording; else an SQLite archive */
	const struct keyhash *anonymize;	/* NULL: everybody is named */
	struct world *masked; /* with it: the world of what is written, nameless when given */
};

/* Who is asked for a sink when the first event or record of a machine comes. */
struct merge_target {
	/* node 0: the only sink. Otherwise the world's id of a machine. The sink stays the
	 * target's. */
	int (*sink)(struct merge_target *t, uint32_t node, struct ige_sink **sink, struct err *e);
	/* For an archive, instead of sink: an empty seekable file. It stays the target's. */
	int (*file)(struct merge_target *t, int *fd, struct err *e);
	bool by_machine;				   /* not of an archive */
	bool (*interrupted)(const struct merge_target *t); /* asked now and then; NULL: never */
};

struct merge_result {
	uint64_t events, records;
	uint64_t bytes;	   /* of an archive */
	uint64_t left_out; /* chains and analyses that would have named everybody */
};

/* in was opened with input_open_counted, windowed if a time is selected. ERR_INTERRUPTED when asked
 * to stop. */
int merge_run(struct world *w, struct input *in, const struct merge_options *opt,
	      struct merge_target *target, struct merge_result *result, struct err *e);

/* Must come before input_open_counted, so that the name is there first. w: the world of what is
 * written. */
int merge_name_nodes(struct world *w, const struct merge_options *opt, struct err *e);

#endif
