/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any columns as an EVENTS block, grouped or not, of a segment with some sites and
 * threads. Events are of this world and inside their block's times; of a grouped block in order.
 */
#include "lib/ige/events.h"
#include "tests/fuzz/block.h"

/* Definitions a block can refer to: what a writer makes of a few events of every op. */
static void define(struct ige_dict_reader *d, struct world *w)
{
	struct ige_dict_writer writer;
	struct ige_builder b = { 0 };
	struct buf out = { 0 };
	uint64_t seq = 0;
	unsigned n;
	const struct op_def *ops = op_builtin_all(&n);

	ige_dict_writer_init(&writer, w);
	for (uint32_t i = 0; i < 3; i++) {
		struct world_thread thread = { .tid = 100 + i };
		struct world_ctx ctx = { .thread = world_thread(w, &thread) };

		ige_dict_id(&writer, WORLD_CTX, world_ctx(w, &ctx));
	}
	for (unsigned i = 0; i < n; i++)
		for (uint32_t present = 0; present < 2; present++) {
			struct event ev = { .op = ops[i].id,
					    .present =
						    present ? 0xffff >> (16 - ops[i].ncols) : 0 };
			uint32_t args;

			ige_dict_site(&writer, &ev, ige_dict_op(&writer, ev.op), &args);
		}
	if (ige_schema_seal(w, &b, &seq, &out, NULL) ||
	    ige_dict_seal(&writer, &b, &seq, &out, NULL))
		abort();
	for (size_t at = 0; at < out.n;) {
		struct ige_view v = { .bytes = (const unsigned char *)out.p + at };

		if (ige_header_unpack(&v.header, v.bytes, NULL) || ige_dict_take(d, &v, NULL))
			abort();
		at += v.header.length;
	}
	ige_builder_free(&b);
	ige_dict_writer_free(&writer);
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static struct world *w;
	static struct ige_dict_reader d;
	struct ige_decoder decoder = { .dict = &d };
	struct buf out = { 0 };
	struct ige_view v;
	bool partial;

	if (!w) {
		w = world_new();
		ige_dict_reader_init(&d, w);
		define(&d, w);
	}
	if (fuzz_block(&v, &out, IGE_EVENTS, p, n)) {
		int rc = ige_decode_events(&decoder, &v, &partial, NULL);

		if (!rc && decoder.events.n > v.header.n)
			abort();
		for (size_t i = 0; !rc && i < decoder.events.n; i++) {
			const struct event *ev = &decoder.events.v[i];
			const struct op_def *def = world_op(w, ev->op);

			if (!def || ev->present >> def->ncols ||
			    ev->ctx > world_count(w, WORLD_CTX) || ev->end_ns < v.header.end_min ||
			    ev->end_ns > v.header.end_max || event_start(ev) < v.header.start_min)
				abort();
			if (v.header.flags & IGE_GROUPED && i && ev->end_ns < ev[-1].end_ns)
				abort();
		}
		free((void *)v.bytes);
	}
	buf_free(&out);
	ige_decoder_free(&decoder);
	return 0;
}
