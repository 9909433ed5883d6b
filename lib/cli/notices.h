/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other programs of a row say while one of them draws on the terminal: it comes through a
 * descriptor.
 */
#ifndef INGERO_CLI_NOTICES_H
#define INGERO_CLI_NOTICES_H

#include <stdbool.h>

/* To standard error, what is there; to_end: until nobody can say more. notices: -1: nobody says
 * anything. */
void cli_notices_pass(int notices, bool to_end);

#endif
