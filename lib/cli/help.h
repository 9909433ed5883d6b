/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the option tables say about themselves: --help for people, --complete-options for the
 * generator of shell completions and for the lint that compares them with the manual.
 */
#ifndef INGERO_CLI_HELP_H
#define INGERO_CLI_HELP_H

#include "lib/base/buf.h"
#include "lib/cli/options.h"

/*
 * Options of every program, and of every one that reads recordings; their values are members of
 * cli_settings. The i-th that this program has, own options first; NULL behind the last.
 */
const struct cli_option *cli_option_at(const struct cli_program *program, size_t i);
/* By long name or, when letter is not 0, by that. *common: not one of the program's own. */
const struct cli_option *cli_option_find(const struct cli_program *program, const char *name,
					 size_t len, char letter, bool *common);

void cli_help_text(struct buf *out, const struct cli_program *program);

/*
 * First line: "program TAB name TAB summary TAB usage". Then one line per option that is not
 * hidden: "option TAB letter TAB long TAB type TAB arg TAB choices TAB group TAB help". The front
 * door adds lines of its own: "command TAB name TAB program TAB summary" and "old TAB command TAB
 * long TAB whether it takes a value".
 */
void cli_complete_text(struct buf *out, const struct cli_program *program);

#endif
