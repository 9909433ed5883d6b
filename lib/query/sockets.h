/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that waited for sockets, and TCP segments that had to be sent again, by where a socket
 * leads: sockets to the same remote end (without one, from the same local end) are one row. Memory
 * is bounded by SOCKETS_MAX sockets; what is beyond is counted together, as a socket of which
 * nothing is known.
 */
#ifndef INGERO_QUERY_SOCKETS_H
#define INGERO_QUERY_SOCKETS_H

#include "lib/event/event.h"
#include "lib/event/section_rows.h"
#include "lib/world/late_names.h"

struct query_socket {
	uint64_t id;
	struct view_socket row;
};

/* Zero-initialised is empty. */
struct query_sockets {
	VEC(struct query_socket) v;
	struct map by; /* id -> index */
};

/* Looks at waits for sockets and at retransmits. False: out of memory. */
bool query_sockets_event(struct query_sockets *s, const struct event *ev, const struct op_def *op);
/* sockets of the view, emptied before. False: out of memory. */
bool query_sockets_rows(const struct query_sockets *s, const struct late_names *late_names,
			struct view *v);
void query_sockets_free(struct query_sockets *s);

#endif
