/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the front door knows: its commands, and how a command line of the older agent is said to the
 * programs of today. Both are tables (door.c); translating changes words, and says in a note what
 * it could not keep.
 */
#ifndef INGERO_CLI_DOOR_H
#define INGERO_CLI_DOOR_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/cli/options.h"

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

enum door_takes { DOOR_SWITCH, DOOR_VALUE }; /* "--x", "--x=true", "--x=false"; "--x V", "--x=V" */
enum door_when { DOOR_ALWAYS, DOOR_NUMBER, DOOR_DURATION }; /* the value has to be one */

/* One option of the older agent that is not one of ours. */
struct door_option {
	const char *command, *name;
	char letter; /* 0: none */
	enum door_takes takes;
	enum door_when when; /* else the words stay as they are */
	/* Words instead, % for the value; those behind @ are the front door's own, see struct
	 * door_plan. NULL: none. */
	const char *now;
	const char *now_off;	     /* of "=false" */
	const char *note, *off_note; /* what became of it; NULL: nothing to say */
	bool refused;		     /* note says why, and nothing is run */
};

extern const struct door_option door_options[]; /* ends with a row without a command */

/* What is to be run. Lists and buffers are the caller's to free with door_plan_free. */
struct door_plan {
	struct cli_list
		words; /* of the command; borrowed from argv, from the tables or from texts */
	struct cli_list texts; /* allocated */
	struct buf notes;      /* one per line */
	const char *refused;   /* why nothing can be run, else NULL */
	const char *output;    /* @output: of a recording */
	bool no_file;	       /* @no-file: nothing is to be kept */
	bool events;	       /* @events: single ones on standard output */
	bool stacks;	       /* @stacks: the same, each above its stack */
	bool json;	       /* @json: they are lines of JSON, and all there is */
	const char *listen;    /* @listen: where metrics are asked for, else NULL */
	const char *push; /* @push: where they are sent, with or without "http://", else NULL */
	bool has_db;	  /* a recording is named by -d or --db */
};

/* argv[argc]: what stood behind the command's name. Zero-initialise plan. ERR_USAGE: a value is
 * missing. */
int door_translate(const struct door_command *command, int argc, char **argv,
		   struct door_plan *plan, struct err *e);
void door_plan_free(struct door_plan *plan);

/* What completions are made from: see cli_complete_text. */
void door_complete(struct buf *out);

/* The options of the older agent that the command takes, for its help: name, and what became of it.
 */
void door_old_options(struct buf *out, const char *command);

#endif
