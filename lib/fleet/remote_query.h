/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other machines as a program's options name them (cli/asking.h), and what was wrong with them on
 * standard error.
 */
#ifndef INGERO_FLEET_REMOTE_QUERY_H
#define INGERO_FLEET_REMOTE_QUERY_H

#include "lib/cli/asking.h"
#include "lib/fleet/fleet.h"

/* What the options say goes into *how, whose other members stay as they are; what asked points to
 * is borrowed. */
void remote_query(struct fleet_options *how, const struct cli_asking *asked);

/* how: what no option says (who asks, when it ends, the token is that of the options or of the
 * environment). */
int remote_query_open(struct fleet **out, const struct cli_asking *asked, struct fleet_options how,
		      struct err *e);

/* Behind the question, whose result is rc: clocks are compared when it was answered, and what was
 * wrong is warned of. Returns rc, or what went wrong then. f may be NULL; it stays open. */
int remote_query_end(struct fleet *f, int rc, struct err *e);

#endif
