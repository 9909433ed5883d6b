/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Default paths: the home of the user behind sudo, and the default recording, a folder of .ige
 * files that a recorder fills and that readers open when no input is named.
 */
#ifndef INGERO_CLI_DEFAULTS_H
#define INGERO_CLI_DEFAULTS_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/cli/options.h"

/* "" when there is none; borrowed. */
const char *cli_home(void);

/* Appended: $INGERO_DB, else /var/lib/ingero inside a container, else ~/.ingero. */
void cli_default_folder(struct buf *out);

/* For temporary files that may be large: $TMPDIR, else /var/tmp; borrowed. */
const char *cli_scratch_folder(void);

/*
 * Operands that are folders become the recordings in them, by name. No operand: the newest run in
 * the folder db, or the recording of that name; ERR_CANNOT when there is none. No db either, and a
 * terminal on standard input, or one that is no recording anyway (serves): the newest run of the
 * default recording; nothing when there is none. What is chosen so is named on standard error. The
 * operands are then this module's, for as long as the program runs.
 */
int cli_default_operands(struct cli_operands *operands, const char *db, bool serves, struct err *e);

/* Names of files; they belong to it. */
struct cli_names {
	char **v;
	size_t n, cap;
};
void cli_names_free(struct cli_names *names);

/* The files of the run that this path belongs to, by name, as they exist now; path itself need not
 * exist. */
int cli_run_files(struct cli_names *out, const char *path, struct err *e);

#endif
