/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the fleet of machines that a program's options name (cli/asking.h), and prints its warnings
 * on standard error.
 */
#ifndef INGERO_FLEET_REMOTE_QUERY_H
#define INGERO_FLEET_REMOTE_QUERY_H

#include "lib/cli/asking.h"
#include "lib/fleet/fleet.h"

/* Copies the options into *how, whose other members stay as they are; what asked points to is
 * borrowed. */
void remote_query_options(struct fleet_options *how, const struct cli_asking *asked);

/* how: what no option says (who asks, when it ends, the token is that of the options or of the
 * environment). */
int remote_query_open(struct fleet **out, const struct cli_asking *asked, struct fleet_options how,
		      struct err *e);

/* After the query, whose result is rc: compares clocks if it was answered, and prints the warnings.
 * Returns rc, or what went wrong then. f may be NULL; it stays open. */
int remote_query_end(struct fleet *f, int rc, struct err *e);

#endif
