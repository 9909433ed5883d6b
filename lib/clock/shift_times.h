/* SPDX-License-Identifier: Apache-2.0 */
/* One record on another clock. */
#ifndef INGERO_CLOCK_SHIFT_TIMES_H
#define INGERO_CLOCK_SHIFT_TIMES_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/event/record.h"

/* Every field that is a time, and in the body of a chain the ends by which its evidence is found. r
 * may borrow from body, until its next use. False: out of memory. */
bool shift_record(struct record *r, int64_t by_ns, struct buf *body);

#endif
