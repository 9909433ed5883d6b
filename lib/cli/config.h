/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero.yaml: options that a person does not want to type each time. A flat subset of YAML: "key:
 * value", lists
 * ("- item" lines or "[a, b]"), and sections of one level. A key is the long name of an option; in
 * a section named after a program ("record:") it is for that program alone, outside for every
 * program that has such an option. What is said on the command line wins. The older agent's keys
 * agent.node and fleet.nodes are read; its other sections are passed by.
 */
#ifndef INGERO_CLI_CONFIG_H
#define INGERO_CLI_CONFIG_H

#include "lib/base/bytes.h"
#include "lib/base/err.h"

/* A configuration is not a program: a larger file is refused. */
#define CLI_CONFIG_MAX 65536u

/* One "key: value", or one item of a list (each on its own, first true for the first). Texts end
 * with a zero byte, are borrowed during the call and may be kept as long as the room
 * cli_config_parse was given. */
struct cli_config_entry {
	char *section; /* "" outside */
	char *key, *value;
	unsigned line;
};
/* Negative ends the parse with that result. */
typedef int cli_config_fn(void *ctx, const struct cli_config_entry *entry, struct err *e);

/* text[n] must be a zero byte; the text is cut up in place. ERR_USAGE tells the line. */
int cli_config_parse(char *text, size_t n, cli_config_fn *fn, void *ctx, struct err *e);

/*
 * The text of the first that exists of $INGERO_CONFIG, ./ingero.yaml, /etc/ingero/ingero.yaml and
 * ~/.config/ingero/ingero.yaml, the home being that of the user behind sudo; *text is NULL when
 * there is none, else to be kept as long as values from it are used. As root only a file counts
 * that root or that user owns and nobody else may write; for others ./ingero.yaml only where root
 * or they own it and not everybody may write it. Files that do not count are skipped with a
 * warning. ERR_CANNOT when $INGERO_CONFIG names a file that cannot be read.
 */
int cli_config_find(char **text, size_t *n, char *path, size_t path_size, struct err *e);

#endif
