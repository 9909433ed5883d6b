/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock-wait: threads wait for a mutex that another thread holds. Proven by the futex command and
 * value and by who released it. Not this: threads waiting for work on a condition, semaphore or
 * barrier, and holders that were themselves kept from running (that is whoever kept them).
 */
#include "lib/cause/detect/kinds.h"

#include <inttypes.h>

static bool is(const struct cause *c, const struct tally_group *g)
{
	(void)c;
	return g->part_ns[PART_LOCK] > 0;
}

static void summary(const struct finding *f, struct buf *out)
{
	buf_printf(out, "%s held a lock that %s waited for, ", f->culprit, f->victim);
	detect_amount(f, out);
	detect_where(f, out);
}

static void recommend(const struct finding *f, struct jsonw *j)
{
	struct buf action = { 0 }, command = { 0 };

	buf_printf(&action,
		   "Hold the lock for less time in %s: move its work out of the critical section",
		   f->culprit);
	buf_printf(&command, "gdb -p %" PRIu32 " -batch -ex 'thread apply all bt'", f->victim_pid);
	detect_recommend(f, j, buf_text(&action), buf_text(&command), 0,
			 "from nothing, if the work must stay inside, to all of the wait; the "
			 "command shows what the holder does");
	buf_free(&action);
	buf_free(&command);
}

const struct detector detect_lock_wait = { "lock-wait", FAMILY_LOCK, is, summary, recommend };
