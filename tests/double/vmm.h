/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual memory management of the double's device: memory without addresses (cuMemCreate),
 * addresses without memory (cuMemAddressReserve) and what brings them together (cuMemMap,
 * cuMemSetAccess). Handles and addresses that are not from here are accepted and do nothing.
 */
#ifndef TESTS_DOUBLE_VMM_H
#define TESTS_DOUBLE_VMM_H

#include <stddef.h>
#include <stdint.h>

#define VMM_GRANULARITY (2u << 20)

int vmm_create(uint64_t *handle, size_t bytes);
int vmm_release(uint64_t handle);
int vmm_reserve(uint64_t *p, size_t bytes);
int vmm_free(uint64_t p);
int vmm_map(uint64_t p, size_t bytes, size_t offset, uint64_t handle);
int vmm_unmap(uint64_t p, size_t bytes);
int vmm_set_access(uint64_t p, size_t bytes);

#endif
