/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory SQLite may take for a question: SQLite's own limit is of the whole process, where
 * one question that takes much would be the end of others that take little.
 */
#ifndef INGERO_ARCHIVE_SQLITE_MEMORY_H
#define INGERO_ARCHIVE_SQLITE_MEMORY_H

#include <stdint.h>

/* Before the first database of the process is opened; again is nothing. */
void archive_memory_watch(void);

/* From here on this thread gets no more than so many bytes beyond what it has, of SQLite; 0: as
 * many as there are. */
void archive_memory_allow(uint64_t bytes);

/* The most that this thread held at a time since then. */
uint64_t archive_memory_most(void);

#endif
