/* SPDX-License-Identifier: Apache-2.0 */
/* How SQLite opens files: without waiting for anybody. */
#ifndef INGERO_ARCHIVE_OPENING_H
#define INGERO_ARCHIVE_OPENING_H

/* Before the first database of the process that others can replace is opened; again is nothing. */
void archive_opening_bound(void);

#endif
