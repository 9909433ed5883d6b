/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the tables of base/jsonmap.h are written: a row per member of the struct S, which each file
 * defines around the table of that struct.
 */
#ifndef INGERO_BASE_JSONMAP_TABLE_H
#define INGERO_BASE_JSONMAP_TABLE_H

#include "lib/base/jsoncheck.h"
#include "lib/base/jsonmap.h"

#define JSONMAP_COUNT(array) (unsigned)(sizeof(array) / sizeof((array)[0]))

#define MEMBER(key, type, absent, field)                                                       \
	{                                                                                      \
		key, JSONMAP_##type, JSONMAP_##absent, (uint16_t)offsetof(struct S, field), 0, \
			NULL                                                                   \
	}
#define MEMBER_OF(key, type, field, map)                                                           \
	{                                                                                          \
		key, JSONMAP_##type, JSONMAP_AS_IS, (uint16_t)offsetof(struct S, field), 0, &(map) \
	}
/* One that has a value where a flag says so. */
#define MEMBER_IF(flag, key, type, absent, field, map)                                      \
	{                                                                                   \
		key, JSONMAP_##type, JSONMAP_##absent, (uint16_t)offsetof(struct S, field), \
			(uint16_t)(offsetof(struct S, flag) + 1), map                       \
	}
/* The assertion: json_check_size charges 16 * JSON_SIZE_BYTES for an object, and a list allocates
 * no more room than it has elements. */
#define MAP(name, members)                                                          \
	static const struct jsonmap name = { NULL, members, JSONMAP_COUNT(members), \
					     sizeof(struct S) };                    \
	_Static_assert(sizeof(struct S) <= 16 * JSON_SIZE_BYTES, "an element is too large")

#endif
