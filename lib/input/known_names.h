/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dictionary of the names that a recording has given so far and their pseudonyms, to find them
 * again in sentences.
 */
#ifndef INGERO_INPUT_KNOWN_NAMES_H
#define INGERO_INPUT_KNOWN_NAMES_H

#include <stdbool.h>

#include "lib/base/arena.h"
#include "lib/base/bytes.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"

struct known_name {
	struct bytes name, alias;
	uint32_t before; /* index + 1 of the one before with that hash; 0: none */
	bool fixed;	 /* it is itself and stays so */
};

/* Zero-initialised is empty. */
struct known_names {
	VEC(struct known_name) v;
	struct map by_hash; /* of the name -> index + 1 of the newest with it */
	struct map longest; /* hash of how names begin, up to their first bound -> bytes of the
			       longest such */
	struct arena texts;
	bool failed; /* memory was exhausted: it is not whole */
};

/* A name has one pseudonym; one that is itself gives way to another. */
void known_names_add(struct known_names *k, struct bytes name, struct bytes alias);

/* A name that everybody has, whoever else is called so. */
void known_names_fix(struct known_names *k, struct bytes name);

/* The pseudonym of a whole text; p NULL: it is no name that is known. */
struct bytes known_names_find(const struct known_names *k, struct bytes name);

/* How many bytes the longest known name has that stands at text.p[at], and ends at a bound; 0: none
 * does. */
size_t known_names_match(const struct known_names *k, struct bytes text, size_t at,
			 struct bytes *alias);

/* Whether a name may begin or end between these two: letters and digits belong together. */
bool known_names_bound(struct bytes text, size_t at);

void known_names_free(struct known_names *k);

#endif
