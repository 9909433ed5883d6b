/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other machines as a program's options name them (cli/asking.h), and what was wrong with them on standard error.
 */
#ifndef INGERO_SERVE_ASKING_H
#define INGERO_SERVE_ASKING_H

#include "lib/cli/asking.h"
#include "lib/serve/fleet.h"

/* What the options say goes into *how, whose other members stay as they are; what asked points to is borrowed. */
void serve_asking(struct serve_fleet_options *how, const struct cli_asking *asked);

/* how: what no option says (who asks, when it ends, the token is that of the options or of the environment). */
int serve_asking_open(struct serve_fleet **out, const struct cli_asking *asked,
		      struct serve_fleet_options how, struct err *e);

/* Behind the question, whose result is rc: clocks are compared when it was answered, and what was wrong is warned of. Returns rc, or what
 * went wrong then. f may be NULL; it stays open. */
int serve_asking_end(struct serve_fleet *f, int rc, struct err *e);

#endif
