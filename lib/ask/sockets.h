/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that waited for sockets, and TCP segments that had to be sent again, by where a socket leads: sockets to the same
 * remote end (without one, from the same local end) are one row. Memory is bounded by SOCKETS_MAX sockets; what is beyond
 * is counted together, as a socket of which nothing is known.
 */
#ifndef INGERO_ASK_SOCKETS_H
#define INGERO_ASK_SOCKETS_H

#include "lib/event/event.h"
#include "lib/event/section_rows.h"
#include "lib/world/late_names.h"

struct ask_socket {
	uint64_t id;
	struct view_socket row;
};

/* Zero-initialised is empty. */
struct ask_sockets {
	VEC(struct ask_socket) v;
	struct map by; /* id -> index */
};

/* Looks at waits for sockets and at retransmits. False: out of memory. */
bool ask_sockets_event(struct ask_sockets *s, const struct event *ev, const struct op_def *op);
/* sockets of the view, emptied before. False: out of memory. */
bool ask_sockets_rows(const struct ask_sockets *s, const struct late_names *told, struct view *v);
void ask_sockets_free(struct ask_sockets *s);

#endif
