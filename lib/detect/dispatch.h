/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatches attributed spans to the ledger, the call classes and the detectors.
 */
#ifndef INGERO_DETECT_DISPATCH_H
#define INGERO_DETECT_DISPATCH_H

struct cause;

/* Connects its line_sink: from now on spans are dispatched. */
void analysis_listener_init(struct cause *c);

/* Out of memory: disconnects all listeners, because the ledger may be inconsistent. The item that
 * is being read fails at its end. */
void cause_gives_up(struct cause *c);

#endif
