/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sentences of findings with pseudonyms. A word is kept only if the analysis writes it itself
 * (lib/input/sentence_words.h) or it is a number; a name that the recording gave
 * (lib/input/known_names.h) becomes its pseudonym; of anything else nothing is kept but a mark.
 */
#ifndef INGERO_INPUT_PSEUDONYM_SENTENCE_H
#define INGERO_INPUT_PSEUDONYM_SENTENCE_H

#include "lib/base/buf.h"
#include "lib/input/known_names.h"

/* What stands for words that may name somebody. */
#define ALIAS_LEFT_OUT "[left out]"

/* The sentence is appended to out. */
void pseudonym_sentence(const struct known_names *names, struct bytes text, struct buf *out);

/* Whether the analysis writes that one word itself, or it is a number. */
bool pseudonym_word_ours(struct bytes word);

#endif
