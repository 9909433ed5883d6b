/* SPDX-License-Identifier: Apache-2.0 */
/* What an operand is, before anything is done for it. */
#ifndef INGERO_INPUT_OPERAND_H
#define INGERO_INPUT_OPERAND_H

#include <stdbool.h>

#include "lib/base/err.h"

/* ERR_CANNOT: it is not there, may not be read, or is a recording of a kind that cannot be read
 * yet, by its first bytes.
 * "-" and pipes are not looked at. */
int input_operand_check(const char *name, struct err *e);

/* Opens it for reading: a regular file at once, a pipe when its writer is there. Negative: an
 * error; of a folder ERR_CANNOT. */
int input_operand_open(const char *name, struct err *e);

/* From here on this process opens regular files alone: a server's recordings can be replaced by
 * whoever writes to their folder. */
void input_operand_files_only(void);

/* Whether n files may be open beside those of a program; the limit is raised as far as it has to
 * be. */
bool input_operand_room(unsigned n);

#endif
