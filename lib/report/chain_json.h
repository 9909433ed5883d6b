/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CHAIN or ANALYSIS record as one line of JSON.
 */
#ifndef INGERO_REPORT_CHAIN_JSON_H
#define INGERO_REPORT_CHAIN_JSON_H

#include "lib/base/buf.h"
#include "lib/event/record.h"

void chain_json_line(struct buf *out, const struct record *r);

#endif
