/* SPDX-License-Identifier: Apache-2.0 */
/* What the columns of ops (formats/ops.def) are called in the table events. */
#ifndef INGERO_ARCHIVE_EVENT_COLUMNS_H
#define INGERO_ARCHIVE_EVENT_COLUMNS_H

#include "lib/event/op.h"

const char *archive_column_name(const struct column_def *def);

#endif
