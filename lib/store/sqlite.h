/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An SQLite archive as a format of ingero-export.
 */
#ifndef INGERO_STORE_SQLITE_H
#define INGERO_STORE_SQLITE_H

#include "lib/emit/format.h"

/* Writes to emit_options.fd, a file; nothing goes through the buffer. */
extern const struct emit_format store_sqlite;

#endif
