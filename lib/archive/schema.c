/* SPDX-License-Identifier: Apache-2.0 */
/* The schema of archives: the text of formats/archive.sql with its comments, which SQLite's own
 * tools show. */
#include "formats/archive.sql.h"
#include "lib/archive/ask.h"

const char *archive_schema(void)
{
	return archive_sql;
}
