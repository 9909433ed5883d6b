/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a segment's dictionaries hold, for who writes them (dict_writer.h) and who reads them
 * (dict_reader.h).
 */
#ifndef INGERO_IGE_DICT_H
#define INGERO_IGE_DICT_H

#include "lib/event/event.h"
#include "lib/event/record.h"

/* Column ids of DICT and SCHEMA blocks. The first ones are enum world_kind + 1; numbers are for
 * ever. */
enum ige_dict_kind {
	IGE_D_STRING = 1,
	IGE_D_NODE = 2,
	IGE_D_PROCESS = 3,
	IGE_D_IMAGE = 4,
	IGE_D_THREAD = 5,
	IGE_D_CGROUP = 6,
	IGE_D_GPU = 7,
	IGE_D_MODULE = 8,
	IGE_D_FRAME = 9,
	IGE_D_STACK = 10,
	IGE_D_CTX = 11,
	IGE_D_SYMBOL = 12,
	IGE_D_SITE = 13,
	IGE_D_COLUMN = 14,
	IGE_D_OP = 15,
	IGE_D_KINDS = 16,
};

#define IGE_SITE_ARGS_MAX \
	65536 /* sites with arguments per segment; beyond it arguments are columns */

/* World kind that a record role refers to, or -1. */
int ige_record_role_kind(enum record_role role);

#endif
