/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer to a question in SQL as text: JSON (formats/query.schema.json) and CSV as the rows
 * come, a table once all are there. Text from the database is made harmless in tables, and valid in
 * JSON.
 */
#ifndef INGERO_ARCHIVE_ANSWER_H
#define INGERO_ARCHIVE_ANSWER_H

#include <stdbool.h>

#include "lib/archive/ask.h"
#include "lib/base/buf.h"
#include "lib/base/jsonw.h"

enum answer_form { ANSWER_TABLE, ANSWER_JSON, ANSWER_CSV };

struct answer;

/* Takes what is there, now and then; the buffer is emptied afterwards. */
typedef int answer_put(const struct buf *text, struct err *e);

/* color and columns: of the terminal that a table is for, 0 columns: none. NULL: out of memory. */
struct answer *answer_new(enum answer_form form, bool color, unsigned columns, answer_put *put);
/* For archive_ask_run; owned by the answer. */
struct archive_answer *answer_taker(struct answer *a);
/* Writes a value as JSON: an integer that a double cannot hold is text, a blob hexadecimal. */
void answer_value_json(struct jsonw *j, const struct archive_value *v);
/* All rows were given, or there are more (truncated). */
int answer_end(struct answer *a, bool truncated, struct err *e);
void answer_free(struct answer *a);

#endif
