/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the members that several JSON sections share. Types are fixed per field: identifiers are
 * strings; a value that does not exist is null, never zero. */
#include "lib/report/view_json_parts.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/base/timetext.h"

void view_json_text(struct jsonw *j, const struct world *w, const char *key, uint32_t string)
{
	jsonw_key(j, key);
	if (string)
		jsonw_bytes(j, world_text(w, string));
	else
		jsonw_null(j);
}

void view_json_device(struct jsonw *j, uint64_t device)
{
	char text[48];

	snprintf(text, sizeof(text), "%" PRIu64 ":%" PRIu64, device >> 20, device & 0xfffff);
	jsonw_str(j, text);
}

void view_json_process(struct jsonw *j, const struct world *w, uint32_t process)
{
	const struct world_process *p = world_get_process(w, process);
	const struct world_node *n = p ? world_get_node(w, p->node) : NULL;

	jsonw_key(j, "pid");
	if (p)
		jsonw_u64(j, p->tgid);
	else
		jsonw_null(j);
	view_json_text(j, w, "node", n ? n->name : 0);
}

void view_json_grew(struct jsonw *j, const struct metric_def *def, double grew)
{
	if (def->counter)
		jsonw_key_double(j, "grew", grew);
	else
		jsonw_key_null(j, "grew");
}

void view_json_estimate(struct jsonw *j, uint64_t counted, const struct estimate *all)
{
	if (all->least)
		jsonw_key_bool(j, "at_least", true);
	if (!all->is)
		return;
	jsonw_key_u64(j, "estimated_count", all->count);
	jsonw_key_u64(j, "estimated_errors", all->errors);
	jsonw_key_u64(j, "estimated_total_ns", all->total_ns);
	jsonw_key_double(j, "covered", (double)counted / (double)all->count);
}

void view_json_when(struct jsonw *j, const struct ops_summary *s, int64_t ns)
{
	char iso[48];

	jsonw_key(j, "time");
	if (s->has_real)
		jsonw_str(j, time_iso(iso, sizeof(iso), ns + s->real_minus_mono_ns));
	else
		jsonw_null(j);
	jsonw_key_i64(j, "t_ns", ns - s->start_ns);
}

void view_json_series(struct jsonw *j, const struct ops_summary *s, const struct series *x,
		      bool sums)
{
	jsonw_key_object(j, "series");
	jsonw_key_i64(j, "t_ns", x->n ? x->first * x->span_ns - s->start_ns : 0);
	jsonw_key_i64(j, "span_ns", x->span_ns);
	jsonw_key_array(j, "counts");
	for (unsigned i = 0; i < x->n; i++)
		jsonw_u64(j, x->v[i].n);
	jsonw_array_end(j);
	if (sums) {
		jsonw_key_array(j, "means");
		for (unsigned i = 0; i < x->n; i++) {
			if (x->v[i].n)
				jsonw_double(j, x->v[i].sum / (double)x->v[i].n);
			else
				jsonw_null(j);
		}
		jsonw_array_end(j);
	}
	jsonw_object_end(j);
}
