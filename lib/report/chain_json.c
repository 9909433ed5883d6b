/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a finding as JSON: its body is JSON already and is copied as it is; the columns around it
 * become members. */
#include "lib/report/chain_json.h"

#include "lib/base/jsonw.h"

void chain_json_line(struct buf *out, const struct record *r)
{
	struct jsonw j;

	jsonw_init(&j, out, false);
	jsonw_object_begin(&j);
	jsonw_key(&j, "record");
	if (r->kind == RECORD_ANALYSIS) {
		jsonw_str(&j, "analysis");
		jsonw_key(&j, "body");
		jsonw_raw(&j, r->u.ANALYSIS.body);
	} else {
		jsonw_str(&j, "chain");
		jsonw_key(&j, "id");
		jsonw_bytes(&j, r->u.CHAIN.id);
		jsonw_key(&j, "match");
		jsonw_bytes(&j, r->u.CHAIN.match);
		jsonw_key_u64(&j, "revision", r->u.CHAIN.revision);
		jsonw_key(&j, "kind");
		jsonw_bytes(&j, r->u.CHAIN.kind);
		jsonw_key_u64(&j, "severity", r->u.CHAIN.severity);
		jsonw_key_u64(&j, "count", r->u.CHAIN.count);
		jsonw_key_u64(&j, "lost_ns", r->u.CHAIN.lost_ns);
		jsonw_key(&j, "summary");
		jsonw_bytes(&j, r->u.CHAIN.summary);
		jsonw_key(&j, "body");
		jsonw_raw(&j, r->u.CHAIN.body);
	}
	jsonw_object_end(&j);
	buf_putc(out, '\n');
}
