/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a block in another order than that of their events: sorting by a column without moving
 * it. Linear in the number of rows whatever the values are.
 */
#ifndef INGERO_IGE_ROW_ORDER_H
#define INGERO_IGE_ROW_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* Sort at[0..n), which holds indices into key, by key; equal ones keep their order. spare has room
 * for n. */
void ige_order_by(uint32_t *at, uint32_t *spare, size_t n, const uint64_t *key);

#endif
