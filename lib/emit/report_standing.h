/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that waited, and waited still when recording ended, with their stacks. */
#ifndef INGERO_EMIT_REPORT_STANDING_H
#define INGERO_EMIT_REPORT_STANDING_H

#include "lib/base/buf.h"
#include "lib/base/json.h"
#include "lib/emit/report.h"

/* Those of the processes shown that did nearly nothing else: each place once, with who waits there, the rarest first. Returns
 * how many processes that are; 0: nothing was said. */
unsigned report_standing(struct buf *out, const struct report *r);

/* Whether that process (an element of the analysis record's "processes") is one of them. */
bool report_stands(const struct report *r, struct json process);

/* What else shows where a process's threads are. */
void report_standing_commands(struct buf *out, double pid);

#endif
