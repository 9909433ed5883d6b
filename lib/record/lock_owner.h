/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who owns the mutex that a thread sleeps on, as the lock's memory says: the owner field of a
 * pthread_mutex_t, or the owner in the futex word itself (priority inheritance, robust, musl). Read
 * from outside while the thread sleeps; it does not notice. What does not look like such a lock, or
 * has changed meanwhile, has no owner that is known.
 */
#ifndef INGERO_RECORD_LOCK_OWNER_H
#define INGERO_RECORD_LOCK_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"

enum lock_kind { LOCK_NONE, LOCK_MUTEX, LOCK_ROBUST, LOCK_PI };

/* What stands in memory from the futex word on. */
#define LOCK_WORDS 5 /* up to the kind of a pthread_mutex_t */

struct lock_owner {
	enum lock_kind kind;
	bool shared;  /* between processes, by its kind; false where the kind is unknown */
	uint32_t tid; /* as the lock has it: in the pid namespace of its process */
	/* A live thread of that number: of the process, of one that it descends from, of any with
	 * shared. 0: there is none. */
	uint32_t thread, process;
	char comm[64]; /* of that thread */
};

/* Whether threads wait for a lock of these with this command (without flags) and value: cheap, to
 * be asked before reading. */
bool lock_owner_asked(uint32_t op, uint32_t value);

/* The owner as these words have it, seen by who waits in futex(2) with this command (without flags)
 * and value. False: they are no lock of these, or nobody's. */
bool lock_owner_parse(const uint32_t word[LOCK_WORDS], uint32_t op, uint32_t value,
		      struct lock_owner *out);

/* Of the lock at address that the thread sleeps on. False: not known. Needs the right to read the
 * process's memory. */
bool lock_owner_read(uint32_t tgid, uint32_t tid, uint64_t address, uint32_t op, uint32_t value,
		     struct lock_owner *out);

/* "mutex", "robust mutex", "pi mutex". */
struct bytes lock_owner_kind(enum lock_kind kind);

#endif
