/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits of threads for connections that lost segments: they are reported as net-loss
 * (detect/net_loss.c), and not as another kind as well. The newest CAUSE_LOSSY of each thread are
 * kept.
 */
#ifndef INGERO_ACCOUNT_LOSSY_H
#define INGERO_ACCOUNT_LOSSY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"

#define CAUSE_LOSSY 16

struct cause_lossy_thread {
	uint64_t n;
	struct {
		int64_t start_ns, end_ns;
	} v[CAUSE_LOSSY];
};

/* Zero-initialised is empty. By world thread. */
struct cause_lossy {
	VEC(struct cause_lossy_thread) v;
};

void cause_lossy_free(struct cause_lossy *l);

/* The thread waited so. False: out of memory. */
bool cause_lossy_add(struct cause_lossy *l, uint32_t thread, int64_t start_ns, int64_t end_ns);

/* The first of them that ends behind ns. False: there is none. */
bool cause_lossy_next(const struct cause_lossy *l, uint32_t thread, int64_t ns, int64_t *start_ns,
		      int64_t *end_ns);

#endif
