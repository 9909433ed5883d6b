/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the line, for the files of this room that make spans (line.c) and that answer
 * questions about it (line_known.c).
 */
#ifndef INGERO_ATTRIB_LINE_INTERNAL_H
#define INGERO_ATTRIB_LINE_INTERNAL_H

#include "lib/base/vec.h"
#include "lib/attrib/blame.h"
#include "lib/attrib/line.h"
#include "lib/attrib/losses.h"
#include "lib/attrib/occupancy.h"
#include "lib/attrib/thread.h"

struct line {
	const struct world *w;
	struct line_sink *sink;
	struct threads threads;
	struct occupancy occupancy;
	struct culprits culprits;
	struct losses losses;
	struct blame blame;
	struct line_totals totals;
	VEC(struct leaving {
		uint32_t thread;
		int64_t exit_ns;
	})
	leaving;				    /* threads that ended, in order */
	size_t left;				    /* of these, the first so many were dropped */
	struct parts inner, orphans, leaf, between; /* scratch: empty between events */
	struct blame_result offcpu;
	struct line_piece on_cpu; /* scratch: of between; who and when are filled in */
	struct line_piece plain;  /* scratch: of inner; the same */
	struct line_op {
		const struct op_def *def;
		enum {
			ANEW,
			CALL,
			ON_THREAD,
			OTHER
		} what; /* ANEW: not looked up yet, or not known */
	} ops[1 << 16];
};

#endif
