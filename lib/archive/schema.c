/* SPDX-License-Identifier: Apache-2.0 */
/* The text of formats/archive.sql, comments and all: who looks at an archive with SQLite's own
 * tools reads them there. */
#include "formats/archive.sql.h"
#include "lib/archive/ask.h"

const char *archive_schema(void)
{
	return archive_sql;
}
