/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a command line as text.
 */
#ifndef INGERO_BASE_SHELL_H
#define INGERO_BASE_SHELL_H

#include "lib/base/buf.h"
#include "lib/base/bytes.h"

/* The word, appended as a shell would take it back. */
void shell_word(struct buf *out, struct bytes word);

#endif
