/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of what is known of objects that threads wait for, of a process, and where a thread stands.
 */
#ifndef INGERO_PATH_UNENDED_FACTS_H
#define INGERO_PATH_UNENDED_FACTS_H

#include <stdint.h>

struct unended_thread;

uint64_t unended_object_key(uint32_t process, unsigned kind, uint64_t object);
uint64_t unended_pipe_key(uint32_t process, uint32_t fd, unsigned write);

/* It stands in its last wait, as if that had not ended. */
void unended_restore(struct unended_thread *th);

#endif
