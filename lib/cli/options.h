/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table per program says everything about its options: what is parsed, what --help prints,
 * what the completions offer (--complete-options) and what a typo is compared with. A letter means
 * the same in every program. The common options (-h, -q, -v, --color, --progress, --version, and -d
 * of those that read recordings) are added to every table and land in cli_settings.
 */
#ifndef INGERO_CLI_OPTIONS_H
#define INGERO_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The type of the member at `offset`. A member keeps its value when the option is not given. */
enum cli_type {
	CLI_FLAG,     /* bool */
	CLI_COUNT,    /* int: how often it was given */
	CLI_STRING,   /* const char * */
	CLI_CHOICE,   /* const char *: one of `choices`, "a|b|c" */
	CLI_INT,      /* int64_t, within [min, max] when max > min */
	CLI_NUMBER,   /* double */
	CLI_SIZE,     /* uint64_t bytes: "4096", "64k", "10g", "1.5m" (powers of 1024) */
	CLI_DURATION, /* uint64_t ns: "1h30m" */
	CLI_LIST,     /* struct cli_list: split at commas, again and again */
	CLI_REPEAT,   /* struct cli_list: each use one whole value */
};

struct cli_list {
	const char **v;
	size_t n, cap;
};

struct cli_option {
	const char *name; /* long name without dashes; NULL ends the table */
	char letter;	  /* 0: none */
	enum cli_type type;
	size_t offset; /* into the program's own struct of values */
	const char
		*arg; /* "FILE", "PID[,PID]"; its leading capitals tell completions what to offer */
	const char *help;    /* one sentence without a full stop */
	const char *group;   /* heading in --help; NULL: hidden (an old name, a switch for tests) */
	const char *choices; /* CLI_CHOICE: "auto|always|never" */
	int64_t min, max;    /* CLI_INT */
	bool *given;	     /* set when used; may be NULL */
	bool *said; /* the same, but not by ingero.yaml, which speaks of all calls of the program */
	bool of_nodes; /* says nothing unless other machines are asked (cli_program.nodes): refused
			  then */
};

struct cli_program {
	const char *name;    /* "ingero-stat" */
	const char *summary; /* one line under the usage line */
	const char *usage;   /* what follows the options: "[FILE...]"; "" when nothing may */
	const struct cli_option *options;
	const char *footer;    /* more lines at the end of --help, or NULL */
	const char *more;      /* more lines at the end of --complete-options, or NULL */
	bool stop_at_operand;  /* options end at the first operand (it is a command) */
	size_t operands_max;   /* 0: as many as are given */
	bool reads_recordings; /* operands are recordings: see cli_default_operands */
	bool serves; /* standard input is no recording: without operands the default one is read */
	/* Other machines that are asked instead of recordings, NULL: none ever. Those of the
	 * configuration are left out where a recording is named or comes through standard input. */
	struct cli_list *nodes;
	/* An operand with blanks in it that no file is called is kept here instead, for it is a
	 * statement (SQL); NULL: none is. */
	const char **statement;
};

struct cli_operands {
	char **v; /* argv's strings, moved to its front; NULL behind the last */
	size_t n;
	bool dashes; /* "--" was given */
	bool row;    /* they are the files of a recorder's run, which may go on in others
			(cli_run_files) */
};

#define CLI_GO (-1)

/*
 * Parse argv into *values. CLI_GO: go on. Otherwise the exit status: everything is said already
 * (--help, --version and --complete-options on standard output, mistakes on standard error).
 */
int cli_parse(const struct cli_program *program, void *values, int argc, char **argv,
	      struct cli_operands *operands);

/* "ingero-stat: TEXT" and where to look for help; returns the status for usage mistakes. */
int cli_usage_error(const struct cli_program *program, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The name among the n that text was probably meant to be; NULL when none is near. */
const char *cli_nearest(const char *text, const char *const *names, size_t n);

void cli_list_free(struct cli_list *list);

/* "0.1.0": what --version prints behind the name. */
const char *cli_version(void);
const char *cli_commit(void); /* " (6233f2df85, 2026-11-26)", that it was built of; "": not known */

#endif
