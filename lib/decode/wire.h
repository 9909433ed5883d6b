/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring bytes to events: every finished call becomes a struct event in world ids. Needs neither BPF
 * nor root: captured bytes decode the same way anywhere. What is known of threads and stacks is
 * wire_known.h.
 */
#ifndef INGERO_DECODE_WIRE_H
#define INGERO_DECODE_WIRE_H

#include <stddef.h>

#include "bpf/wire.h"
#include "lib/decode/wire_known.h"

/* One record of the event ring, or of the life ring. Unknown kinds and short records are counted,
 * not trusted. */
void wire_decoder_record(struct wire_decoder *wire, const void *p, size_t n);
void wire_decoder_life(struct wire_decoder *wire, const struct wire_life *l);

#endif
