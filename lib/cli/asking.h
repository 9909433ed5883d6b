/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of programs that ask other machines' dashboards, the same in each.
 */
#ifndef INGERO_CLI_ASKING_H
#define INGERO_CLI_ASKING_H

#include <stddef.h>
#include <stdint.h>

#include "lib/cli/options.h"

struct cli_asking {
	struct cli_list nodes; /* freed by who parsed it */
	const char *token_file, *ca_cert;
	uint64_t skew_ns, timeout_ns, answers_max; /* 0: not said */
};

/* Rows of an option table for the member fleet (struct cli_asking) of the program's struct values,
 * all but a timeout; cli_program.nodes is to point to its list. heading: the group; token: the name
 * of the option for a token's file; ca_of_nodes: nobody else is reached over TLS. */
/* clang-format off */
#define CLI_FLEET_OPTIONS_AS(heading, nodes_help, token, token_help, ca_help, ca_of_nodes)         \
	{ .name = "nodes",                                                                         \
	  .type = CLI_LIST,                                                                        \
	  .offset = offsetof(struct values, fleet.nodes),                                          \
	  .arg = "HOST:PORT[,HOST:PORT]",                                                          \
	  .group = heading,                                                                        \
	  .help = nodes_help },                                                                    \
	{ .name = token,                                                                           \
	  .type = CLI_STRING,                                                                      \
	  .offset = offsetof(struct values, fleet.token_file),                                     \
	  .arg = "FILE",                                                                           \
	  .group = heading,                                                                        \
	  .of_nodes = true,                                                                        \
	  .help = token_help },                                                                    \
	{ .name = "ca-cert",                                                                       \
	  .type = CLI_STRING,                                                                      \
	  .offset = offsetof(struct values, fleet.ca_cert),                                        \
	  .arg = "FILE",                                                                           \
	  .group = heading,                                                                        \
	  .of_nodes = ca_of_nodes,                                                                 \
	  .help = ca_help },                                                                       \
	{ .name = "clock-skew-threshold",                                                          \
	  .type = CLI_DURATION,                                                                    \
	  .offset = offsetof(struct values, fleet.skew_ns),                                        \
	  .arg = "TIME",                                                                           \
	  .group = heading,                                                                        \
	  .of_nodes = true,                                                                        \
	  .help = "Warn of clocks that are further apart [10ms]" }
#define CLI_FLEET_OPTIONS(heading)                                                                 \
	CLI_FLEET_OPTIONS_AS(heading, "Ask the dashboards there instead", "token-file",            \
			     "The token they want [$INGERO_TOKEN]",                                \
			     "Ask over TLS, and trust these certificates (PEM)", true)
/* And where what they answer is held in memory. */
#define CLI_FLEET_ANSWERS(heading)                                                                 \
	{ .name = "max-answers",                                                                   \
	  .type = CLI_SIZE,                                                                        \
	  .offset = offsetof(struct values, fleet.answers_max),                                    \
	  .arg = "SIZE",                                                                           \
	  .group = heading,                                                                        \
	  .of_nodes = true,                                                                        \
	  .help = "Memory for the answers of all nodes; the largest are left out [2G]" }
/* clang-format on */

#endif
