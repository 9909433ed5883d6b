/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any columns as a RECORDS block; every text can be read, every subject is one of
 * the world's. */
#include "lib/ige/records.h"
#include "tests/fuzz/block.h"

static void check(const struct world *w, const struct record *r)
{
	const struct record_def *def = record_builtin(r->kind);
	volatile char sink = 0;

	if (!def)
		abort();
	for (unsigned i = 0; i < def->nfields; i++) {
		const struct record_field *f = &def->fields[i];
		const char *at = (const char *)&r->u + f->offset;
		int kind = ige_record_role_kind(f->role);
		struct bytes text;
		uint32_t id;

		if (!record_has(r, f->number))
			continue;
		if (f->type == REC_TEXT) {
			memcpy(&text, at, sizeof(text));
			for (size_t k = 0; k < text.n; k++)
				sink = text.p[k];
		}
		memcpy(&id, at, sizeof(id));
		if (kind >= 0 && id > world_count(w, (enum world_kind)kind))
			abort();
	}
	(void)sink;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct world *w = world_new();
	struct ige_record_list list = { 0 };
	struct ige_dict_reader d;
	struct buf out = { 0 };
	struct ige_view v;
	bool partial;

	if (!w)
		abort();
	ige_dict_reader_init(&d, w);
	if (fuzz_block(&v, &out, IGE_RECORDS, p, n)) {
		if (!ige_records_decode(&list, &v, &d, &partial, NULL))
			for (size_t i = 0; i < list.list.n; i++)
				check(w, &list.list.v[i]);
		free((void *)v.bytes);
	}
	buf_free(&out);
	ige_record_list_free(&list);
	ige_dict_reader_free(&d);
	world_free(w);
	return 0;
}
