/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OWNER records: the owners of mutexes that threads sleep on for long, or at the end of a file.
 * Waits are collected while the list of sleeping threads is read from the kernel; the owners are
 * read after the whole list.
 */
#include "lib/host/clock.h"
#include "lib/record/lock_owner.h"
#include "lib/record/recorder_internal.h"

#define LOCKS_MAX 256 /* read in one look: each takes a few files of /proc */

void recorder_keep_lock(struct recorder *r, const struct wire_offcpu *wait)
{
	/* What no lock of these is waited for with is seen by its value: conditions, semaphores. */
	if (wait->object_kind == OBJECT_FUTEX && wait->flags & OFFCPU_FUTEX &&
	    lock_owner_asked(wait->futex_op, wait->futex_val) && r->waits.locks.n < LOCKS_MAX)
		vec_push(&r->waits.locks, *wait);
}

static int write_owner(struct recorder *r, const struct wire_offcpu *wait, struct err *e)
{
	const struct decode_thread *t = wire_decoder_thread(r->wire, wait->tid), *owner;
	struct record rec = { .kind = RECORD_OWNER };
	struct lock_owner o;

	if (!t || !t->ctx ||
	    !lock_owner_read(t->tgid, t->tid, wait->object, wait->futex_op, wait->futex_val, &o))
		return 0;
	REC_SET(&rec, OWNER, time_ns, r->at_tail ? (int64_t)wait->end_ns : host_clock_mono());
	REC_SET(&rec, OWNER, thread, t->thread);
	REC_SET(&rec, OWNER, since_ns, (int64_t)(wait->end_ns - wait->dur_ns));
	REC_SET(&rec, OWNER, object, wait->object);
	REC_SET(&rec, OWNER, lock, lock_owner_kind(o.kind));
	REC_SET(&rec, OWNER, tid, o.tid);
	if (o.kind == LOCK_MUTEX)
		REC_SET(&rec, OWNER, shared, o.shared);
	if (o.thread) {
		owner = wire_decoder_thread(r->wire, o.thread);
		if (owner && owner->ctx && owner->tgid == o.process)
			REC_SET(&rec, OWNER, owner, owner->thread);
		REC_SET(&rec, OWNER, pid, o.process);
		REC_SET(&rec, OWNER, comm, bytes_of(o.comm));
	}
	return ige_writer_record(r->writer, &rec, e);
}

int recorder_say_owners(struct recorder *r, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->waits.locks.n; i++)
		rc = write_owner(r, &r->waits.locks.v[i], e);
	r->waits.locks.n = 0;
	return rc;
}
