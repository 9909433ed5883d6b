/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text on standard output that is drawn over in place on a terminal, and what other programs say
 * meanwhile: that comes through a descriptor and is put above, so that neither writes into the
 * other.
 */
#ifndef INGERO_CLI_REDRAW_H
#define INGERO_CLI_REDRAW_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

struct cli_redraw {
	bool terminal;	/* standard output is one */
	int notices;	/* what is said there goes to standard error; -1: nobody says anything */
	unsigned lines; /* on the terminal, to be drawn over */
};

void cli_redraw_init(struct cli_redraw *r, int notices);

/* text and foot in the place of what was drawn before; of text only what the screen holds above the
 * foot (it is changed). Elsewhere than on a terminal they are just written. */
int cli_redraw(struct cli_redraw *r, struct buf *text, const struct buf *foot, struct err *e);

/* Passes on what others said, without waiting; where nothing is drawn any more. */
void cli_redraw_notices(const struct cli_redraw *r);

/* Takes away what was drawn, and passes on all that others say until nobody can say more. */
int cli_redraw_end(struct cli_redraw *r, struct err *e);

#endif
