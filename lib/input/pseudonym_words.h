/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of names that are the same everywhere: the tree of a Linux system, libraries and programs
 * that everybody has, threads of the kernel, and what stands in front of and behind the names of a
 * site.
 */
#ifndef INGERO_INPUT_PSEUDONYM_WORDS_H
#define INGERO_INPUT_PSEUDONYM_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/bytes.h"

bool pseudonym_word_known(struct bytes text);

/* A known word that with a number behind it names a machine or a disk of a site ("node-017",
 * "data2"). */
bool pseudonym_word_names(struct bytes text);

/* They are, or some would not be found; and those that name are known. */
bool pseudonym_words_sorted(void);

/* Bytes in front that say what it is of ("docker-") or 0; never all of it. */
size_t alias_front(struct bytes text);

/* Bytes behind that say what kind of file it is (".py", ".service") or 0; never all of it. */
size_t alias_ending(struct bytes text);

#endif
