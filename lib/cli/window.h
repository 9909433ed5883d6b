/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that say which time is looked at, and which events, the same in every program that
 * has them.
 */
#ifndef INGERO_CLI_WINDOW_H
#define INGERO_CLI_WINDOW_H

#include <stddef.h>

#include "lib/cli/options.h"

/* Rows of an option table, for the members since, until (const char *) and last_ns (uint64_t) of
 * the program's struct values. heading: the group; last_was_given: a bool *. */
/* clang-format off */
#define CLI_WINDOW_OPTIONS(heading, last_was_given)                                \
	{ .name = "since",                                                         \
	  .type = CLI_STRING,                                                      \
	  .offset = offsetof(struct values, since),                                \
	  .arg = "TIME",                                                           \
	  .group = heading,                                                        \
	  .help = "Only from then on: 5m before the end, 15:40, or an ISO time" }, \
	{ .name = "until",                                                         \
	  .type = CLI_STRING,                                                      \
	  .offset = offsetof(struct values, until),                                \
	  .arg = "TIME",                                                           \
	  .group = heading,                                                        \
	  .help = "Only up to then" },                                             \
	{ .name = "last",                                                          \
	  .type = CLI_DURATION,                                                    \
	  .offset = offsetof(struct values, last_ns),                              \
	  .arg = "TIME",                                                           \
	  .group = heading,                                                        \
	  .help = "Only the last part of the recording",                           \
	  .given = last_was_given }

/* Which events: by process (struct values has a list pids), op (names) and time. */
#define CLI_SELECT_OPTIONS(heading, last_was_given)                                           \
	{ .name = "pid",                                                                      \
	  .letter = 'p',                                                                      \
	  .type = CLI_LIST,                                                                   \
	  .offset = offsetof(struct values, pids),                                            \
	  .arg = "PID[,PID]",                                                                 \
	  .group = heading,                                                                   \
	  .help = "Only events of these processes" },                                         \
	{ .name = "event",                                                                    \
	  .letter = 'e',                                                                      \
	  .type = CLI_LIST,                                                                   \
	  .offset = offsetof(struct values, names),                                           \
	  .arg = "OP[,OP]",                                                                   \
	  .group = heading,                                                                   \
	  .help = "Only these: a name, a pattern (cu*Alloc*), a source (cuda), both (driver:cu*)" }, \
	CLI_WINDOW_OPTIONS(heading, last_was_given)
/* clang-format on */

#endif
