/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finding of a group of lost time, with all its details.
 */
#ifndef INGERO_CAUSE_GROUP_DETAILS_H
#define INGERO_CAUSE_GROUP_DETAILS_H

#include "lib/cause/detect/detect.h"
#include "lib/model/finding.h"

/* All of it but for the columns of its record, which stand there already. */
void group_fill_details(const struct group_view *f, const struct detector *d, struct finding *to);

#endif
