/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the line tells goes to the books, to the classes and to who watches.
 */
#ifndef INGERO_DETECT_DISPATCH_H
#define INGERO_DETECT_DISPATCH_H

struct cause;

/* Its line_sink hears from now on. */
void cause_hears(struct cause *c);

/* Memory is exhausted. Nothing more is told to those whose books may be half written: the item that
 * is read fails when all of it is. */
void cause_gives_up(struct cause *c);

#endif
