/* SPDX-License-Identifier: Apache-2.0 */
/* Names event columns in the archive: a name that means something else in the table, or to SQL, is
 * replaced. */
#include "lib/archive/event_columns.h"

const char *archive_column_name(const struct column_def *def)
{
	switch (def->id) {
	case COL_COMM:
		return "communicator";
	case COL_RANK:
		return "comm_rank";
	case COL_ORDER:
		return "page_order";
	default:
		return def->name;
	}
}
