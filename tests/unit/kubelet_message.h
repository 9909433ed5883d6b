/* SPDX-License-Identifier: Apache-2.0 */
/* A kubelet's list of pods, written field by field: for tests of what reads it. */
#ifndef INGERO_TESTS_UNIT_KUBELET_MESSAGE_H
#define INGERO_TESTS_UNIT_KUBELET_MESSAGE_H

#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"

static inline void message_number(struct buf *b, uint64_t n)
{
	for (; n > 127; n >>= 7)
		buf_putc(b, (char)(n | 0x80));
	buf_putc(b, (char)n);
}

static inline void message_field(struct buf *b, unsigned number, struct bytes text)
{
	message_number(b, number << 3 | 2);
	message_number(b, text.n);
	buf_add(b, text.p, text.n);
}

/* A container of one resource with up to two ids, NULL none; appended as field 3 of a pod. */
static inline void message_container(struct buf *pod, const char *name, const char *resource,
				     const char *one, const char *two)
{
	struct buf c = { 0 }, d = { 0 };

	message_field(&c, 1, bytes_of(name));
	message_field(&d, 1, bytes_of(resource));
	message_field(&d, 2, bytes_of(one));
	if (two)
		message_field(&d, 2, bytes_of(two));
	message_field(&d, 3, (struct bytes){ "\x0a\x02\x08\x01", 4 }); /* on NUMA node 1 */
	message_field(&c, 2, buf_bytes(&d));
	message_number(&c, 3 << 3); /* a CPU of its own */
	message_number(&c, 300);
	message_field(pod, 3, buf_bytes(&c));
	buf_free(&c);
	buf_free(&d);
}

/* containers: what message_container appended. */
static inline void message_pod(struct buf *b, const char *namespace, const char *name,
			       const struct buf *containers)
{
	struct buf pod = { 0 };

	message_field(&pod, 1, bytes_of(name));
	message_field(&pod, 2, bytes_of(namespace));
	if (containers->n)
		buf_add(&pod, containers->p, containers->n);
	message_field(b, 1, buf_bytes(&pod));
	buf_free(&pod);
}

#endif
