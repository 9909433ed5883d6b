/* SPDX-License-Identifier: Apache-2.0 */
/* An analysis holds when the recording ended cleanly behind it and nothing of it is damaged, as in
 * query/chains.c. */
#include "lib/query/stored_findings.h"

#include "lib/ige/block.h"
#include "lib/ige/columns.h"

static int add_record(struct query_chains *a, const struct world *w, const struct record *r,
		      struct err *e)
{
	int rc = query_chains_add_record(a, w, r, e);

	return rc > 0 ? chain_list_add(&a->list, r, e) : rc;
}

static void pass_events(struct query_chains *a, const struct ige_arrays *arrays)
{
	a->events += arrays->n;
	a->lost += arrays->header.lost;
	if (arrays->n && arrays->header.end_max > a->end_ns)
		a->end_ns = arrays->header.end_max;
}

int query_chains_read_stored(struct input *in, const struct world *w,
			     const struct query_stored_findings_options *want,
			     struct query_chains *out, bool *is, struct err *e)
{
	struct ige_reader *r = input_one(in, 0);
	const struct ige_report *report;
	struct stream_item item;
	struct ige_block block;
	bool clean = false;
	int rc = 0;

	*out = (struct query_chains){ 0 };
	*is = false;
	if (!r || input_one(in, 1))
		return 0;
	ige_reader_want(r, IGE_WANT_NO_STACKS);
	while (!rc && (rc = ige_reader_block(r, &block, e)) > 0) {
		const struct ige_arrays *arrays = ige_reader_arrays(r);

		/* Behind the end only its index follows. */
		clean = block.last ||
			(clean && (block.type == IGE_INDEX || block.type == IGE_TRAILER));
		rc = want->between ? want->between(want->ctx, in, e) : 0;
		if (arrays)
			pass_events(out, arrays);
		while (!rc && (rc = ige_reader_items(r, &item, e)) > 0)
			rc = item.kind == STREAM_RECORD ? add_record(out, w, item.record, e) : 0;
	}
	report = ige_reader_report(r);
	if (!rc && clean && query_chains_is_complete(&out->list, out->events) && out->has_start &&
	    !report->damaged_blocks && !report->skipped_bytes && !report->truncated) {
		out->found_analyzed = *is = true;
		chain_list_sort(&out->list);
		return 0;
	}
	query_chains_clear(out);
	return rc;
}
