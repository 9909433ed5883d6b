/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who moved what on the device that a disk-stall waited for: the process itself, and those that are
 * not recorded, where they moved more.
 */
#ifndef INGERO_ACCOUNT_DISK_CROWD_H
#define INGERO_ACCOUNT_DISK_CROWD_H

#include "lib/account/loss_detector.h"

/* All block I/O of the victim on the culprit device, of any where that is not known. */
struct cause_disk disk_crowd_own(const struct loss_view *f);

/* "; other processes wrote 1.2 GiB there meanwhile; most on all disks moved dd (pid 77)": on which
 * device a process did is not known. Or nothing. */
void disk_crowd_print(const struct loss_view *f, struct buf *out);

/* A fix that the one that moved most is in, or none. */
void disk_crowd_recommend(const struct loss_view *f, struct finding *to);

/* What others moved meanwhile; they need not have been in the way. */
void disk_crowd_evidence(const struct loss_view *f, struct finding *to);

#endif
