/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lost time becomes a CHAIN record.
 */
#ifndef INGERO_ACCOUNT_LOSS_CHAIN_H
#define INGERO_ACCOUNT_LOSS_CHAIN_H

#include "lib/account/loss_detector.h"

/* What a loss is of. */
struct loss_share {
	double share; /* the worst-hit thread's */
	bool steps;   /* of steps; else of wall time */
};

/* Gives the sink the record of this loss as it stands. */
int loss_tell(struct cause *c, const struct loss *x, const struct loss_detector *d,
	      const struct loss_share *share, struct err *e);

#endif
