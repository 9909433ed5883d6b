/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains somebody asked for: by machine and by the calls they are about. The analysis itself is of everything: a
 * cause does not change with who looks at it.
 */
#ifndef INGERO_ASK_CHOSEN_H
#define INGERO_ASK_CHOSEN_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/event/chain.h"

struct ask_chosen {
	const char *const *nodes; /* names of machines; nnodes 0: all */
	size_t nnodes;
	const char *const *patterns; /* as select_name takes them; npatterns 0: all */
	size_t npatterns;
};

/* Hide the chains that are not asked for. ERR_USAGE: a name that no known op has. */
int ask_choose(const struct chain_list *list, const struct ask_chosen *by, struct err *e);

#endif
