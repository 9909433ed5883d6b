/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text as a cell of CSV (RFC 4180), for spreadsheets, which take some texts for formulas, and for
 * terminals.
 */
#ifndef INGERO_BASE_CSVCELL_H
#define INGERO_BASE_CSVCELL_H

#include "lib/base/buf.h"
#include "lib/base/bytes.h"

/* Quoted where it has to be, or when it is empty and that is asked for. Control characters but tabs
 * and line ends, what is not seen, and bytes that are no UTF-8 are U+FFFD; what would begin a
 * formula and is no number has an apostrophe in front. */
void csv_cell(struct buf *out, struct bytes text, bool quote_empty);

#endif
