/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for locks that the kernel does not know as such. */
#include "lib/path/path_state.h"
#include "lib/world/lock_stack.h"

enum path_lock_stack { LOCK_STACK_NEW, LOCK_STACK_NO, LOCK_STACK_WAITS };

static void note_stack(struct path *p, uint32_t stack, struct segment *wait)
{
	uint8_t *known;

	if (wait->object != OBJECT_FUTEX || wait->flags & SEGMENT_EXCLUSION || !stack)
		return;
	if (!vec_reach(&p->lock_stacks, stack)) {
		p->nomem = true;
		return;
	}
	known = &p->lock_stacks.v[stack];
	if (*known == LOCK_STACK_NEW)
		*known = lock_stack_waits(p->w, stack) ? LOCK_STACK_WAITS : LOCK_STACK_NO;
	if (*known == LOCK_STACK_WAITS)
		wait->flags |= SEGMENT_EXCLUSION | SEGMENT_LOCK;
}

void path_locks_note(struct path *p, const struct event *ev, struct segment *wait)
{
	note_stack(p, ev->stack, wait);
	if (wait->state != SEGMENT_WAITING || segment_lock_of(wait) != SEGMENT_LOCK_OTHER)
		return;
	if (vec_reach(&p->queued, wait->who))
		p->queued.v[wait->who] += ev->dur_ns;
	else
		p->nomem = true;
}

uint64_t path_queued_ns(const struct path *p, uint32_t thread)
{
	return thread < p->queued.n ? p->queued.v[thread] : 0;
}
