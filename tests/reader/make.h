/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings for tests, written to standard output; all return an exit status. */
#ifndef INGERO_TESTS_READER_MAKE_H
#define INGERO_TESTS_READER_MAKE_H

#include <stdbool.h>
#include <stdint.h>

int make_fixture(uint32_t n, uint32_t block_events);

/* Any op, column, record and definition, several segments, LATE blocks. */
int make_mixed(uint32_t which, uint32_t n);

/* Records of every kind, no events. */
int make_records(uint32_t which);

/* The example of formats/ige.md. */
int make_example(void);

/* The recording in path once more. */
int make_pack(const char *path, bool archive, uint32_t block_events);
/* The same, with nothing late in it. */
int make_sorted(const char *path);
/* The same with an index, in blocks of 20 events. */
int make_indexed(const char *path);

#endif
