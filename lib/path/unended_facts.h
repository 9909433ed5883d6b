/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of what is known of objects that threads wait for, of a process.
 */
#ifndef INGERO_PATH_UNENDED_FACTS_H
#define INGERO_PATH_UNENDED_FACTS_H

#include <stdint.h>

uint64_t unended_object_key(uint32_t process, unsigned kind, uint64_t object);
uint64_t unended_pipe_key(uint32_t process, uint32_t fd, unsigned write);

#endif
