/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One option's argument from text to its member: the typed half of the option parser.
 */
#ifndef INGERO_CLI_VALUE_H
#define INGERO_CLI_VALUE_H

#include "lib/base/err.h"
#include "lib/cli/options.h"

bool cli_takes_argument(enum cli_type type);

/* Put text (NULL for flags) into the member of values that o names. The error text is about the
 * value only. */
int cli_value_set(const struct cli_option *o, void *values, char *text, struct err *e);

/* "64k", "10g", "1.5m", "4096" -> bytes. */
int cli_size_parse(const char *text, uint64_t *bytes, struct err *e);

#endif
