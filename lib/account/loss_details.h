/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finding of lost time, with all its details.
 */
#ifndef INGERO_ACCOUNT_LOSS_DETAILS_H
#define INGERO_ACCOUNT_LOSS_DETAILS_H

#include "lib/account/loss_detector.h"
#include "lib/model/finding.h"

/* All of it but for the columns of its record, which stand there already. */
void loss_fill_details(const struct loss_view *f, const struct loss_detector *d,
		       struct finding *to);

#endif
