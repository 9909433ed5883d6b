/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report seen in other ways: its chains as a table, a line each; and process by process.
 */
#ifndef INGERO_REPORT_REPORT_VIEWS_H
#define INGERO_REPORT_REPORT_VIEWS_H

#include "lib/base/buf.h"
#include "lib/report/report.h"

/* A row per chain that is selected: severity, kind, lost, share, id, who. */
void report_view_chains(struct buf *out, const struct report *r, bool color);

/* Every process selected: its chains, then what became of its time; last what concerns the machine.
 */
void report_view_processes(struct buf *out, const struct report *r, bool color);

#endif
