/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a command line as text.
 */
#ifndef INGERO_CLI_QUOTE_H
#define INGERO_CLI_QUOTE_H

#include "lib/base/buf.h"

/* word as a shell would take it back. */
void cli_quote(struct buf *out, const char *word);

#endif
