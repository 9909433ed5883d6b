/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for locks of Python programs, which the kernel does not know as such. */
#include "lib/path/path_state.h"
#include "lib/world/python_lock.h"

enum path_python_lock { PYTHON_LOCK_NEW, PYTHON_LOCK_NO, PYTHON_LOCK_WAITS };

void path_locks_note(struct path *p, uint32_t stack, struct segment *wait)
{
	uint8_t *known;

	if (wait->object != OBJECT_FUTEX || wait->flags & SEGMENT_EXCLUSION || !stack)
		return;
	if (!vec_reach(&p->python_locks, stack)) {
		p->nomem = true;
		return;
	}
	known = &p->python_locks.v[stack];
	if (*known == PYTHON_LOCK_NEW)
		*known = python_lock_waits(p->w, stack) ? PYTHON_LOCK_WAITS : PYTHON_LOCK_NO;
	if (*known == PYTHON_LOCK_WAITS)
		wait->flags |= SEGMENT_EXCLUSION | SEGMENT_LOCK;
}
