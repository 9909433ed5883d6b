/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long names cut in the middle, so that those that stand in one column still differ where they did:
 * names of C++ templates are alike for hundreds of characters.
 */
#ifndef INGERO_BASE_SHORTEN_H
#define INGERO_BASE_SHORTEN_H

#include <stdbool.h>

#include "lib/base/buf.h"

struct shorten {
	struct bytes full;
	struct buf text; /* what is shown of it; the caller's to free */
	size_t at;	 /* where in it a piece of its middle begins; 0: none is shown */
};

/* Fills the texts: of max bytes at most (64 at least), unless more is needed for different ones to
 * read differently. */
void shorten_all(struct shorten *v, size_t n, size_t max);
/* One name by itself. */
void shorten_one(struct buf *out, struct bytes full, size_t max);

#endif
