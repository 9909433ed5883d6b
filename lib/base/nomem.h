/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that ran out, remembered for the whole process. Text is built without asking after each piece whether there was
 * memory for it; whoever is about to call a result whole asks here.
 */
#ifndef INGERO_BASE_NOMEM_H
#define INGERO_BASE_NOMEM_H

#include <stdbool.h>

/* An allocation has failed, whether or not somebody does without it. Any thread. */
void nomem_note(void);
bool nomem_seen(void);

/* What libraries of others that would abort without memory come to instead: nomem_end, which they are given, calls it. It
 * must not return. */
void nomem_at_last(void (*end)(void));
void nomem_end(void *nothing);

#endif
