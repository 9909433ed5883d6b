/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the terminal behind a descriptor can do: colour, width. The text itself is made by
 * base/fmt.h and base/table.h.
 */
#ifndef INGERO_CLI_TERM_H
#define INGERO_CLI_TERM_H

#include <stdbool.h>

/* Whether text for descriptor fd is coloured: --color, then NO_COLOR, TERM=dumb and whether it is a
 * terminal. */
bool cli_color(int fd);

/* Whether it is a terminal that can be drawn on (TERM is not dumb). */
bool cli_draws(int fd);

/* How many columns text for descriptor fd may take; 0: it is no terminal, or says nothing. */
unsigned cli_columns(int fd);

/* Whether text can be in UTF-8, as the locale says (LC_ALL, LC_CTYPE, LANG: the first that is set).
 */
bool cli_utf8(void);

#endif
