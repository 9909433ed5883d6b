/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a command line of the older agent is said to the programs of today: a table of its options
 * (agent_options.c). Translating changes words, and says in a note what it could not keep.
 */
#ifndef INGERO_COMPAT_AGENT_OPTIONS_H
#define INGERO_COMPAT_AGENT_OPTIONS_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/cli/door.h"
#include "lib/cli/options.h"

enum agent_option_takes {
	AGENT_SWITCH,
	AGENT_VALUE
}; /* "--x", "--x=true", "--x=false"; "--x V", "--x=V" */
enum agent_option_when { AGENT_ALWAYS, AGENT_NUMBER, AGENT_DURATION }; /* the value has to be one */

/* One option of the older agent that is not one of ours. */
struct agent_option {
	const char *command, *name;
	char letter; /* 0: none */
	enum agent_option_takes takes;
	enum agent_option_when when; /* else the words stay as they are */
	/* Words instead, % for the value; those behind @ are the front door's own, see struct
	 * agent_plan. NULL: none. */
	const char *now;
	const char *now_off;	     /* of "=false" */
	const char *note, *off_note; /* what became of it; NULL: nothing to say */
	bool refused;		     /* note says why, and nothing is run */
};

extern const struct agent_option agent_options[]; /* ends with a row without a command */

/* What is to be run. Lists and buffers are the caller's to free with agent_plan_free. */
struct agent_plan {
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
int agent_options_translate(const struct door_command *command, int argc, char **argv,
			    struct agent_plan *plan, struct err *e);
void agent_plan_free(struct agent_plan *plan);

/* Its options, as completions are made from them: see cli_complete_text. */
void agent_options_complete(struct buf *out);

/* The options of the older agent that the command takes, for its help: name, and what became of it.
 */
void agent_options_help(struct buf *out, const char *command);

#endif
