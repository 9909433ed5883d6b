/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: definitions. Any entries as SCHEMA or DICT; every id asked for is one of the
 * world's. */
#include "lib/ige/dict_reader.h"
#include "tests/fuzz/block.h"

static void check(struct ige_dict_reader *d)
{
	for (int kind = 0; kind < WORLD_KINDS; kind++)
		for (uint64_t id = 0; id < 300; id++)
			if (ige_dict_world_id(d, (enum world_kind)kind, id) >
			    world_count(d->world, (enum world_kind)kind))
				abort();
	for (uint64_t id = 0; id < 300; id++) {
		const struct ige_read_site *s = ige_dict_get_site(d, id);

		if (s && (!world_op(d->world, s->op) || s->layout >= d->ops.n ||
			  (s->nargs > IGE_SITE_X && s->at + s->nargs > d->args.n) ||
			  s->nargs > OP_COLUMNS_MAX || s->present >> s->nargs || s->id != id ||
			  s->stack > world_count(d->world, WORLD_STACK)))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct world *w = world_new();
	struct ige_dict_reader d;
	size_t cut = n > 2 ? le_get(p, 2) % n : n;

	if (!w)
		abort();
	ige_dict_reader_init(&d, w);
	/* Two blocks: the second refers to the first. */
	for (int part = 0; part < 2; part++) {
		struct buf out = { 0 };
		struct ige_view v;

		if (fuzz_block(&v, &out, part ? IGE_DICT : IGE_SCHEMA, part ? p + cut : p,
			       part ? n - cut : cut)) {
			ige_dict_take(&d, &v, NULL);
			check(&d);
			free((void *)v.bytes);
		}
		buf_free(&out);
	}
	ige_dict_reader_free(&d);
	world_free(w);
	return 0;
}
