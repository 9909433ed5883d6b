/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the option tables say about themselves: --help for people, --complete-options for the
 * generator of shell completions and for the lint that compares them with the manual.
 */
#ifndef INGERO_CLI_HELP_H
#define INGERO_CLI_HELP_H

#include "lib/base/buf.h"
#include "lib/cli/options.h"

/* Every program's own options, behind the program's in help. */
extern const struct cli_option cli_common_options[];

void cli_help_text(struct buf *out, const struct cli_program *program);

/*
 * First line: "program TAB name TAB summary TAB usage". Then one line per option that is not hidden:
 * "option TAB letter TAB long TAB type TAB arg TAB choices TAB group TAB help".
 */
void cli_complete_text(struct buf *out, const struct cli_program *program);

#endif
