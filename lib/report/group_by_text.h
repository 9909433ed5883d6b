/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows by a key: a table for people, and a member of stat's JSON value.
 */
#ifndef INGERO_REPORT_GROUP_BY_TEXT_H
#define INGERO_REPORT_GROUP_BY_TEXT_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/base/jsonw.h"
#include "lib/event/groups.h"
#include "lib/event/ops.h"
#include "lib/world/world.h"

/* What a row is called, for people: appended. Texts of its node, key and name. */
void by_title(struct buf *out, enum by_key key, enum by_kind kind, struct bytes node,
	      struct bytes id, struct bytes name);

/* s->by; top: rows shown, 0 all. True: quantiles over few calls were marked. */
bool by_text(struct buf *out, const struct world *w, const struct ops_summary *s, unsigned top,
	     bool color, unsigned columns);
/* The member "by". */
void by_json(struct jsonw *j, const struct world *w, const struct ops_summary *s);

#endif
