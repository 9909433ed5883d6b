/* SPDX-License-Identifier: Apache-2.0 */
/* What to do about waits for a disk that an I/O limit causes. */
#ifndef INGERO_ADVICE_DISK_ADVICE_H
#define INGERO_ADVICE_DISK_ADVICE_H

#include "lib/account/loss_detector.h"

/* Adds the fix where an I/O limit held the requests back before the disk. False: none did. */
bool disk_advice_held_back(const struct loss_view *f, struct finding *to);

#endif
