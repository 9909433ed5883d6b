/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of the front door.
 */
#ifndef INGERO_CLI_DOOR_H
#define INGERO_CLI_DOOR_H

#include <stdbool.h>

#include "lib/base/buf.h"

struct door_command {
	const char *name;    /* "explain" */
	const char *program; /* "ingero-explain"; NULL: the front door itself */
	const char *summary;
	const char *instead; /* what to use where the program is not part of the build; NULL: no
				word of it */
	const char *first;   /* a word that goes in front of all others, or NULL */
	bool reads; /* recordings: the default one where nothing else is named or piped in */
};

/* Ends with a row without a name. */
extern const struct door_command door_commands[];

/* NULL: none of that name. */
const struct door_command *door_find(const char *name);
/* The nearest name, NULL when none is near. */
const char *door_nearest(const char *name);

/* What completions are made from: see cli_complete_text. */
void door_complete(struct buf *out);

#endif
