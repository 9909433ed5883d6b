/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of /proc and of cgroups that stay open and are read again and again.
 */
#ifndef INGERO_HOST_REREAD_H
#define INGERO_HOST_REREAD_H

#include <stdbool.h>

#include "lib/base/buf.h"

/* All of an open file from its start into room, which is emptied before; false when it cannot be
 * read. */
bool host_reread(int fd, struct buf *room);

#endif
