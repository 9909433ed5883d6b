/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for locks across the waits of a thread: those on one lock that follow each other closely
 * are one, whose time is charged once it is known who had the lock; and where in its program the
 * holder was meanwhile.
 */
#ifndef INGERO_ATTRIB_LOCKS_H
#define INGERO_ATTRIB_LOCKS_H

#include "lib/attrib/blame.h"

/* r: what blame_offcpu made of a wait of th, whatever for, in order; gets what is known now of
 * earlier ones. stack: of that wait. scratch: overwritten. */
void locks_waited(const struct blame *b, struct line_thread *th, uint32_t stack,
		  struct blame_result *r, struct parts *scratch);

#endif
