/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who asks a server in a replay: it is not seen whose request ends its wait, but who waits for an
 * answer of it since then has asked.
 */
#include "lib/path/replay_internal.h"

/* Between a request that arrives and the wait for its answer that begins: some are made of several
 * packets. */
#define ASKED_NS 1000000

/* The server was asked then, not earlier than t can have asked it. */
static bool has_asked(const struct replay_thread *by, const struct segment *wait, int64_t from_ns,
		      int64_t act_ns)
{
	return (wait->flags & (SEGMENT_DEMAND | SEGMENT_REPLY)) == SEGMENT_REPLY && by->asked_ns &&
	       by->asked_ns >= from_ns - ASKED_NS && by->asked_ns <= from_ns + ASKED_NS &&
	       by->asked_ns <= act_ns;
}

void replay_answers(struct replay_thread *by, const struct replay_thread *t,
		    const struct segment *wait, int64_t from_ns, int64_t act_ns)
{
	if (!has_asked(by, wait, from_ns, act_ns))
		return;
	for (enum replay_end e = 0; e < REPLAY_ENDS; e++)
		for (unsigned i = 0; i < REPLAY_LANES; i++)
			by->d.ns[e][i] += t->d.ns[e][i];
	by->asked_ns = 0;
}
