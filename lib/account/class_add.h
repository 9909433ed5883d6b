/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting a call: part of every call's way, and so inside whoever does it.
 */
#ifndef INGERO_ACCOUNT_CLASS_ADD_H
#define INGERO_ACCOUNT_CLASS_ADD_H

#include "lib/account/class.h"

static inline uint8_t class_column(int at)
{
	return at < 0 ? CLASS_NO_COLUMN : (uint8_t)at;
}

/* Where an op not met before keeps what classes look at. NULL: out of memory. */
const struct class_columns *classes_columns_learn(struct classes *c, const struct op_def *op);

/* Another class than that of the site's last call. False: out of memory. */
bool classes_another(struct classes *c, struct cause_site *site, uint32_t process, uint16_t op,
		     uint32_t kind);

/* No call of the class that the host took nothing of was as long. */
void classes_longest(struct classes *c, uint32_t id, uint64_t ns);

/* Of a call of which the host took something. False: out of memory. */
bool classes_add_taken(struct classes *c, struct cause_class *cl, const struct class_columns *col,
		       const struct event *ev, uint64_t host_ns);

/* What of a class's key does not follow from the site, in one number. */
ALWAYS_INLINE uint32_t class_kind(const struct class_columns *col, const struct event *ev,
				  bool first)
{
	uint32_t kind = (uint32_t)first << 24;

	if (col->sized) {
		uint64_t bytes = ev->present >> col->bytes & 1 ? ev->x[col->bytes] : 0;

		if (bytes)
			kind |= 64 - (uint32_t)__builtin_clzll(bytes);
		if (ev->present >> col->direction & 1)
			kind |= (1 + (uint32_t)(ev->x[col->direction] & 7)) << 8;
	}
	if (ev->present >> col->stream & 1) {
		uint64_t handle = ev->x[col->stream];

		/* Nobody can foresee which: a sum, and no branch. */
		kind |= (uint32_t)(STREAM_CLASS_DEFAULT + (handle >= 2) + (handle > 2)) << 16;
	}
	return kind;
}

/* Count a call at the site found for it, of which the host took host_ns; cell: hist_place of its
 * duration. False: out of memory. */
ALWAYS_INLINE bool classes_add(struct classes *c, uint32_t process, const struct event *ev,
			       const struct op_def *op, uint64_t host_ns, uint64_t unknown_ns,
			       uint32_t cell, struct class_of *of)
{
	const struct class_columns *col = op->id < c->columns.n ? &c->columns.v[op->id] : NULL;
	struct cause_site *site = &c->sites.v[of->site_id];
	struct class_plain *plain;
	uint32_t kind;

	if ((!col || !col->known) && !(col = classes_columns_learn(c, op)))
		return false;
	kind = class_kind(col, ev, of->first);
	if ((site->last_kind != kind || site->last_class == UINT32_MAX) &&
	    !classes_another(c, site, process, ev->op, kind))
		return false;
	of->class_id = site->last_class;
	site->n++;
	site->sum_ns += ev->dur_ns;
	site->max_ns = ev->dur_ns > site->max_ns ? ev->dur_ns : site->max_ns;
	if (unknown_ns)
		c->v.v[of->class_id].unknown_ns += unknown_ns;
	if (host_ns)
		return classes_add_taken(c, &c->v.v[of->class_id], col, ev, host_ns);
	plain = &c->plain[of->class_id];
	hist_cell_add(plain->first, ev->dur_ns, cell);
	if (ev->dur_ns > plain->max)
		classes_longest(c, of->class_id, ev->dur_ns);
	return true;
}

#endif
