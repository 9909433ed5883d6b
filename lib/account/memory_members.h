/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What processes hold of a device's memory, as members of the analysis record, and who holds most
 * as evidence.
 */
#ifndef INGERO_ACCOUNT_MEMORY_MEMBERS_H
#define INGERO_ACCOUNT_MEMORY_MEMBERS_H

#include "lib/base/jsonw.h"
#include "lib/account/fact.h"

/* The "memory" member. */
void cause_memory_json(const struct cause *c, struct jsonw *j);

/* The call sites that held most when the process held most (or now) as the fact's sites. */
void cause_memory_holders(const struct cause *c, struct fact *f, bool at_peak);

/* "grow_workspace (train.cpp:91) holds 31.2 GiB" of the first of them; nothing where there is none.
 */
void cause_memory_holder(const struct cause *c, const struct fact *f, struct buf *out);

#endif
