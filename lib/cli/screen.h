/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page (base/page.h) on the terminal, and a person's keys. A thread of its own reads keys and
 * draws, so that neither waits for what the program is reading; it also takes what other programs
 * say meanwhile, so that it does not tear the page.
 */
#ifndef INGERO_CLI_SCREEN_H
#define INGERO_CLI_SCREEN_H

#include <stdbool.h>

#include "lib/base/err.h"
#include "lib/base/page.h"

struct cli_screen;

/* Whether there is a terminal to draw on and to read keys from. */
bool cli_screen_possible(void);

/* notices: what is said there is shown, and goes to standard error at the end; -1: nobody says
 * anything. ends_all: the key to leave ends the programs of the same row as well, as Ctrl-C does.
 * NULL: standard output is no terminal to draw on, or no keys can be read. */
struct cli_screen *cli_screen_open(int notices, bool ends_all);

void cli_screen_size(const struct cli_screen *s, unsigned *rows, unsigned *columns);

/* Shows it from now on, with a section of what was said under that key; the page is empty
 * afterwards. */
void cli_screen_show(struct cli_screen *s, struct page *page, char messages_key);

/* Whether a person has left the view: there is nothing to show any more. */
bool cli_screen_left(struct cli_screen *s);

/* The terminal as it was before, then all that was said, and what is said until nobody can say
 * more. s: may be NULL. */
void cli_screen_close(struct cli_screen *s);

#endif
