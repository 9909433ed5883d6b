/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One machine for several processes: those with the same $DOUBLE_SHARED have the same boards, of
 * which each does one thing at a time, and their ranks meet in collectives. Without it all here
 * does nothing.
 */
#ifndef TESTS_DOUBLE_SHARED_H
#define TESTS_DOUBLE_SHARED_H

#include <stdbool.h>
#include <stdint.h>

void shared_start(void); /* reads the environment */

/* Work of ns that could begin at that moment gets its turn on this process's board: *end is when it
 * is done. False: the board is the process's own. */
bool shared_turn(uint64_t from, uint64_t ns, uint64_t *end);

/*
 * Where ranks meet: one communicator per file, for which each rank counts its collectives from 0 on
 * and is at most SHARED_AHEAD of them ahead of any other.
 */
#define SHARED_AHEAD 32
bool shared_meets(void);
/* This rank is ready for its collective at that moment. */
void shared_enter(uint64_t sequence, uint64_t ready);
/* False: not all have entered. wait: until they have. *all: when the last one was ready. */
bool shared_met(uint64_t sequence, uint32_t ranks, bool wait, uint64_t *all);

#endif
