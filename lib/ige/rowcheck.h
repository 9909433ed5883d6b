/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold of the rows of an EVENTS block, looked at a column at a time before anything is
 * made of them: whoever reads columns and whoever reads events refuse the same blocks and rows.
 */
#ifndef INGERO_IGE_ROWCHECK_H
#define INGERO_IGE_ROWCHECK_H

#include "lib/ige/dict_reader.h"

/* ERR_DAMAGED when an event lies outside its block's times. end, dur: as stored, n values; NULL:
 * not looked at. */
int ige_check_times(const struct ige_header *h, const uint64_t *end, const uint64_t *dur,
		    uint32_t n, struct err *e);

/* Undefined sites become 0, which dict->sites has, without an op; *dropped counts them. */
int ige_check_sites(struct ige_dict_reader *dict, uint64_t *site, uint32_t n, uint32_t *dropped,
		    struct err *e);

#endif
