/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects chains by machine and by the calls they are about. The analysis itself is always of
 * everything, so that a selection does not change what is found.
 */
#ifndef INGERO_QUERY_SELECT_CHAINS_H
#define INGERO_QUERY_SELECT_CHAINS_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/event/chain.h"

struct query_chain_selection {
	const char *const *nodes; /* names of machines; nnodes 0: all */
	size_t nnodes;
	const char *const *patterns; /* as filter_name takes them; npatterns 0: all */
	size_t npatterns;
};

/* Hides the chains that are not selected. ERR_USAGE: a name that no known op has. */
int query_select_chains(const struct chain_list *list, const struct query_chain_selection *by,
			struct err *e);

#endif
