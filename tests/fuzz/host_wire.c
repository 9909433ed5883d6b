/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: what crosses from the kernel beside calls (threads, files, sockets, block I/O,
 * memory, segments sent again) as records of any length and content, and lines of the kernel log.
 * The first byte says which. Records are each a length in 2 bytes and their bytes, handed over in
 * memory of just their size.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/host/xid.h"
#include "lib/decode/host_wire.h"
#include "lib/decode/wire.h"

struct fuzz_owner {
	struct world *world;
	uint64_t records;
};

static void fuzz_event(void *ctx, const struct event *ev)
{
	const struct fuzz_owner *o = ctx;
	const struct op_def *def = op_builtin(ev->op);

	/* Calls carry op and columns as the recorder itself told the kernel side: they are not
	 * looked up for each. */
	if (def && !(def->flags & OP_CALL) && ev->present >> def->ncols)
		abort();
	if (!world_get_ctx(o->world, ev->ctx))
		abort();
}

static void fuzz_record(void *ctx, struct record *r)
{
	struct fuzz_owner *o = ctx;

	/* Ids stand for what is said: told once, and never without. */
	if (r->kind == RECORD_FILE	 ? !REC_HAS(r, FILE, id)
	    : r->kind == RECORD_SOCKET	 ? !REC_HAS(r, SOCKET, id)
	    : r->kind == RECORD_READY	 ? !REC_HAS(r, READY, thread)
	    : r->kind == RECORD_PRIORITY ? !REC_HAS(r, PRIORITY, nice)
					 : r->kind != RECORD_PEER || !REC_HAS(r, PEER, socket))
		abort();
	o->records++;
}

static uint32_t fuzz_socket(void *ctx, uint64_t inode)
{
	(void)ctx;
	return (uint32_t)inode % 4;
}

static void fuzz_ring(const uint8_t *p, size_t n)
{
	struct fuzz_owner o = { .world = world_new() };
	const struct wire_decoder_owner owner = {
		.ctx = &o, .event = fuzz_event, .record = fuzz_record, .socket = fuzz_socket
	};
	struct wire_decoder *wire;
	struct err e = { 0 };

	if (!o.world ||
	    wire_decoder_new(&wire, o.world, world_node(o.world, &(struct world_node){ .boot = 1 }),
			     &owner, &e))
		abort();
	while (n >= 2) {
		size_t length = (size_t)p[0] | (size_t)p[1] << 8;
		void *record;

		p += 2;
		n -= 2;
		length = length < n ? length : n;
		record = malloc(length ? length : 1);
		if (!record)
			abort();
		memcpy(record, p, length);
		wire_decoder_record(wire, record, length);
		free(record);
		p += length;
		n -= length;
	}
	if (wire_decoder_others(wire)->retransmits == 0 && wire_decoder_others(wire)->segments)
		abort();
	wire_decoder_free(wire);
	world_free(o.world);
}

static void fuzz_line(const uint8_t *p, size_t n)
{
	char *line = malloc(n ? n : 1);
	struct host_xid xid;

	if (!line)
		abort();
	memcpy(line, p, n);
	if (!host_xid_parse((struct bytes){ line, n }, &xid) && xid.pid)
		abort();
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	if (n == 0)
		return 0;
	if (p[0] & 1)
		fuzz_line(p + 1, n - 1);
	else
		fuzz_ring(p + 1, n - 1);
	return 0;
}
