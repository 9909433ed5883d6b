/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of programs that ask other machines' dashboards, the same in each.
 */
#ifndef INGERO_CLI_ASKING_H
#define INGERO_CLI_ASKING_H

#include <stddef.h>

#include "lib/cli/options.h"

/* Rows of an option table, for the members fleet (list), token_file, ca_cert (const char *) and skew_ns (uint64_t) of the program's struct
 * values; cli_program.nodes is to point to the list. heading: the group. */
/* clang-format off */
#define CLI_FLEET_OPTIONS(heading)                                                                 \
	{ .name = "nodes",                                                                         \
	  .type = CLI_LIST,                                                                        \
	  .offset = offsetof(struct values, fleet),                                                \
	  .arg = "HOST:PORT[,HOST:PORT]",                                                          \
	  .group = heading,                                                                        \
	  .help = "Ask the dashboards there instead" },                                            \
	{ .name = "token-file",                                                                    \
	  .type = CLI_STRING,                                                                      \
	  .offset = offsetof(struct values, token_file),                                           \
	  .arg = "FILE",                                                                           \
	  .group = heading,                                                                        \
	  .help = "The token they want [$INGERO_TOKEN]" },                                         \
	{ .name = "ca-cert",                                                                       \
	  .type = CLI_STRING,                                                                      \
	  .offset = offsetof(struct values, ca_cert),                                              \
	  .arg = "FILE",                                                                           \
	  .group = heading,                                                                        \
	  .help = "Ask over TLS, and trust these certificates (PEM)" },                            \
	{ .name = "clock-skew-threshold",                                                          \
	  .type = CLI_DURATION,                                                                    \
	  .offset = offsetof(struct values, skew_ns),                                              \
	  .arg = "TIME",                                                                           \
	  .group = heading,                                                                        \
	  .help = "Warn of clocks that are further apart [10ms]" }
/* clang-format on */

#endif
