/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a ring map: a page with the reader's position, a page with the writers', then the data
 * twice. A record is a 32-bit length with two flag bits, 4 bytes of the kernel's own, the payload,
 * padded to 8. Invariant: the reader's position only moves past records whose busy bit is clear.
 */
#include "lib/attach/ring.h"

#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#define GIVE_BACK_BYTES (256 * 1024) /* writers see room again at least this often */

int probe_ring_open(struct probe_ring *r, int map_fd, size_t size, struct err *e)
{
	long page = sysconf(_SC_PAGESIZE);
	void *p;

	*r = (struct probe_ring){ .fd = map_fd, .size = size };
	p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (p == MAP_FAILED)
		return err_sys(e, "cannot map the event ring");
	r->consumer = p;
	p = mmap(NULL, page + 2 * size, PROT_READ, MAP_SHARED, map_fd, page);
	if (p == MAP_FAILED) {
		err_sys(e, "cannot map the event ring");
		probe_ring_close(r);
		return ERR_SYS;
	}
	r->producer = p;
	r->data = (const uint8_t *)p + page;
	return 0;
}

void probe_ring_close(struct probe_ring *r)
{
	long page = sysconf(_SC_PAGESIZE);

	if (r->consumer)
		munmap((void *)r->consumer, page);
	if (r->producer)
		munmap((void *)r->producer, page + 2 * r->size);
	*r = (struct probe_ring){ .fd = -1 };
}

unsigned long probe_ring_end(const struct probe_ring *r)
{
	return __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
}

bool probe_ring_drain_to(struct probe_ring *r, unsigned long end, probe_ring_fn *fn, void *ctx)
{
	unsigned long at = *r->consumer, given = at;
	bool all = true;

	while (at < end) {
		const uint8_t *p = r->data + (at & (r->size - 1));
		uint32_t head =
			__atomic_load_n((const uint32_t *)(const void *)p, __ATOMIC_ACQUIRE);
		uint32_t n = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (head & BPF_RINGBUF_BUSY_BIT) {
			all = false;
			break;
		}
		if (!(head & BPF_RINGBUF_DISCARD_BIT))
			fn(ctx, p + BPF_RINGBUF_HDR_SZ, n);
		at += (n + BPF_RINGBUF_HDR_SZ + 7) & ~7ul;
		if (at - given >= GIVE_BACK_BYTES) {
			__atomic_store_n(r->consumer, at, __ATOMIC_RELEASE);
			given = at;
		}
	}
	__atomic_store_n(r->consumer, at, __ATOMIC_RELEASE);
	return all;
}

bool probe_ring_drain(struct probe_ring *r, probe_ring_fn *fn, void *ctx)
{
	return probe_ring_drain_to(r, probe_ring_end(r), fn, ctx);
}
