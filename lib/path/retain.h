/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps memory bounded: old segments become checkpoints when there are too many, the older the
 * coarser.
 */
#ifndef INGERO_PATH_RETAIN_H
#define INGERO_PATH_RETAIN_H

#include "lib/path/path_state.h"

/* Folds old segments when more than three quarters of opt.segments_max are held, until half are, or
 * nothing is left to fold. */
void retain_some(struct path *p);

#endif
