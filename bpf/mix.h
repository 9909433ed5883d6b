// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The hash that names stacks and code objects. */
#ifndef INGERO_BPF_MIX_H
#define INGERO_BPF_MIX_H

#include <linux/types.h>

static inline __attribute__((always_inline)) __u64 mix(__u64 h, __u64 v)
{
	h ^= v;
	h *= 0x9fb21c651e98df25ull;
	return h ^ h >> 32;
}

#endif
