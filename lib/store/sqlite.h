/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An SQLite archive as a format of ingero-export.
 */
#ifndef INGERO_STORE_SQLITE_H
#define INGERO_STORE_SQLITE_H

#include "lib/export/format.h"

/* Writes to export_options.fd, a file; nothing goes through the buffer. */
extern const struct export_format store_sqlite;

#endif
