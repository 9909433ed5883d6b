/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the keys by which `ingero-stat --by` groups (process, line, size, node).
 */
#include "lib/event/groups.h"

#include <string.h>

static const char *const names[] = {
#define BY_NAME(id, name) name,
	BY_KEYS(BY_NAME)
};

const char *by_key_name(enum by_key key)
{
	return names[key];
}

const char *const by_kinds[] = { "known", "none", "unknown", "other", NULL };

const char *by_kind_name(enum by_kind kind)
{
	return by_kinds[kind];
}

bool by_key_find(const char *name, enum by_key *key)
{
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], name) == 0) {
			*key = (enum by_key)i;
			return true;
		}
	}
	return false;
}
