/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of programs that serve HTTP, the same in each, and the token that clients must send.
 */
#ifndef INGERO_CLI_SERVER_OPTIONS_H
#define INGERO_CLI_SERVER_OPTIONS_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/cli/options.h"

/* Rows of an option table, for the members tls_cert, tls_key, token_file (const char *), no_tls,
 * no_token (bool) and allow_hosts (list) of the program's struct values. heading: the group. */
/* clang-format off */
#define CLI_SERVING_OPTIONS(heading)                                                             \
	{ .name = "tls-cert",                                                                    \
	  .type = CLI_STRING,                                                                    \
	  .offset = offsetof(struct values, tls_cert),                                           \
	  .arg = "FILE",                                                                         \
	  .group = heading,                                                                      \
	  .help = "Certificate (PEM), with --tls-key [one of its own, for 24 hours]" },          \
	{ .name = "tls-key",                                                                     \
	  .type = CLI_STRING,                                                                    \
	  .offset = offsetof(struct values, tls_key),                                            \
	  .arg = "FILE",                                                                         \
	  .group = heading,                                                                      \
	  .help = "Its private key (PEM)" },                                                     \
	{ .name = "no-tls",                                                                      \
	  .type = CLI_FLAG,                                                                      \
	  .offset = offsetof(struct values, no_tls),                                             \
	  .group = heading,                                                                      \
	  .help = "Plain HTTP" },                                                                \
	{ .name = "allow-host",                                                                  \
	  .type = CLI_LIST,                                                                      \
	  .offset = offsetof(struct values, allow_hosts),                                        \
	  .arg = "HOST[,HOST]",                                                                  \
	  .group = heading,                                                                      \
	  .help = "Answer also who calls it by these names [localhost and its address]" },       \
	{ .name = "token-file",                                                                  \
	  .type = CLI_STRING,                                                                    \
	  .offset = offsetof(struct values, token_file),                                         \
	  .arg = "FILE",                                                                         \
	  .group = heading,                                                                      \
	  .help = "Answer only who has the token in it [$INGERO_TOKEN, else one that is printed]" }, \
	{ .name = "no-token",                                                                    \
	  .type = CLI_FLAG,                                                                      \
	  .offset = offsetof(struct values, no_token),                                           \
	  .group = heading,                                                                      \
	  .help = "Answer everybody who reaches it, every user of this machine too" }
/* clang-format on */

/*
 * The token in file, or without a file that of $INGERO_MCP_BEARER_TOKEN or else $INGERO_TOKEN;
 * *token is the caller's, NULL when nobody set one. The variables are gone from the environment
 * then: processes that are started have no use for them. ERR_CANNOT: the file is not there, or
 * others may read it (its group may); ERR_USAGE: no token is in it, or one that no header can
 * carry.
 */
int cli_token(char **token, const char *file, struct err *e);

/* The token that a server requires of clients: cli_token, else a new one for this run (*made).
 * none: *token is NULL, everybody may ask; ERR_USAGE with a file. */
int cli_serving_token(char **token, const char *file, bool none, bool *made, struct err *e);

/* For a process whose threads take turns at work that needs much memory: what one gave back is
 * there for the next. Before there are threads. */
void cli_serving_memory(void);

/* Where servers keep what took long to find: $XDG_CACHE_HOME/ingero, else ~/.cache/ingero; the
 * caller's. NULL: there is no such place. */
char *cli_kept_folder(void);

#endif
