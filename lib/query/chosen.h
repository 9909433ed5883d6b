/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains somebody asked for: by machine and by the calls they are about. The analysis itself is of
 * everything: a cause does not change with who looks at it.
 */
#ifndef INGERO_QUERY_CHOSEN_H
#define INGERO_QUERY_CHOSEN_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/event/chain.h"

struct query_chosen {
	const char *const *nodes; /* names of machines; nnodes 0: all */
	size_t nnodes;
	const char *const *patterns; /* as filter_name takes them; npatterns 0: all */
	size_t npatterns;
};

/* Hide the chains that are not asked for. ERR_USAGE: a name that no known op has. */
int query_choose(const struct chain_list *list, const struct query_chosen *by, struct err *e);

#endif
