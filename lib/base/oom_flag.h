/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that ran out, remembered for the whole process. Text is built without asking after each
 * piece whether there was memory for it; whoever is about to call a result whole asks here.
 */
#ifndef INGERO_BASE_OOM_FLAG_H
#define INGERO_BASE_OOM_FLAG_H

#include <stdbool.h>

/* An allocation has failed, whether or not somebody does without it. Any thread. */
void oom_flag_set(void);
bool oom_flag_is_set(void);

/* What libraries of others that would abort without memory come to instead: oom_flag_end, which
 * they are given, calls it. It must not return. */
void oom_flag_at_last(void (*end)(void));
void oom_flag_end(void *nothing);

#endif
