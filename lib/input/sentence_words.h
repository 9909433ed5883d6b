/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vocabulary of the analysis: every word that the sentences of findings are made of, and names
 * of JSON members.
 */
#ifndef INGERO_INPUT_SENTENCE_WORDS_H
#define INGERO_INPUT_SENTENCE_WORDS_H

#include <stdbool.h>

#include "lib/base/bytes.h"

/* Whether the analysis writes that word itself. Any number in it is a '#' here: "#th",
 * "/proc/#/task". */
bool sentence_word_known(struct bytes word);

#endif
