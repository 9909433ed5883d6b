/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of users.
 */
#ifndef INGERO_HOST_USER_H
#define INGERO_HOST_USER_H

#include <stdint.h>

#include "lib/base/buf.h"

/* Appended: the name of the user, "user 1000" where /etc/passwd has none. No other source is asked:
 * one behind a network may not answer, and who records cannot wait. */
void host_user(uint32_t uid, struct buf *out);

#endif
