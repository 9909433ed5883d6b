/* SPDX-License-Identifier: Apache-2.0 */
/* Writes device memory, graphs and communicators as JSON. Handles are strings, because they do not
 * fit a JSON number. */
#include "lib/report/report_internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/report/view_json_parts.h"

static void append_handle(struct jsonw *j, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	jsonw_key_str(j, key, text);
}

void view_json_memory(struct jsonw *j, const struct world *w, const struct ops_summary *s)
{
	const struct view *v = s->view;

	jsonw_key_array(j, "memory");
	for (size_t i = 0; i < v->memory.n; i++) {
		const struct view_memory *m = &v->memory.v[i];

		jsonw_object_begin(j);
		view_json_process(j, w, m->process);
		jsonw_key_u64(j, "live_bytes", m->live_bytes);
		jsonw_key_u64(j, "managed_bytes", m->managed_bytes);
		jsonw_key_u64(j, "pinned_bytes", m->pinned_bytes);
		jsonw_key_u64(j, "live", m->n);
		jsonw_key_u64(j, "peak_bytes", m->peak_bytes);
		jsonw_key_i64(j, "peak_ns", m->peak_bytes ? m->peak_ns - s->start_ns : 0);
		jsonw_key_u64(j, "allocations", m->allocations);
		jsonw_key_u64(j, "frees", m->frees);
		jsonw_key_u64(j, "failed", m->failed);
		jsonw_key_u64(j, "unknown_frees", m->unknown_frees);
		jsonw_key_u64(j, "not_kept", m->beyond);
		jsonw_key_bool(j, "ended", m->ended);
		jsonw_key_array(j, "sites");
		for (unsigned k = 0; k < m->nsites; k++) {
			jsonw_object_begin(j);
			view_json_text(j, w, "text", m->sites[k].text);
			jsonw_key_str(j, "op", m->sites[k].op ? m->sites[k].op->name : NULL);
			jsonw_key_u64(j, "live_bytes", m->sites[k].bytes);
			jsonw_key_u64(j, "live", m->sites[k].n);
			jsonw_key_u64(j, "bytes_at_peak", m->sites[k].at_peak_bytes);
			jsonw_key_u64(j, "allocations", m->sites[k].allocations);
			jsonw_object_end(j);
		}
		jsonw_array_end(j);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

void view_json_graphs(struct jsonw *j, const struct world *w, const struct view *v)
{
	jsonw_key_array(j, "graphs");
	for (size_t i = 0; i < v->graphs.n; i++) {
		const struct view_graph *g = &v->graphs.v[i];

		jsonw_object_begin(j);
		view_json_process(j, w, g->process);
		view_json_text(j, w, "text", g->site);
		jsonw_key_str(j, "op", g->op ? g->op->name : NULL);
		jsonw_key_u64(j, "created", g->created);
		jsonw_key_u64(j, "again", g->again);
		jsonw_key_u64(j, "launches", g->launches);
		jsonw_key_u64(j, "alive", g->alive);
		jsonw_key_u64(j, "most_alive", g->most_alive);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

void view_json_comms(struct jsonw *j, const struct world *w, const struct view *v)
{
	jsonw_key_array(j, "communicators");
	for (size_t i = 0; i < v->comms.n; i++) {
		const struct view_comm *c = &v->comms.v[i];

		jsonw_object_begin(j);
		view_json_process(j, w, c->process);
		append_handle(j, "handle", c->handle);
		jsonw_key(j, "rank");
		if (c->has_rank)
			jsonw_u64(j, c->rank);
		else
			jsonw_null(j);
		jsonw_key(j, "ranks");
		if (c->ranks)
			jsonw_u64(j, c->ranks);
		else
			jsonw_null(j);
		jsonw_key_u64(j, "calls", c->calls);
		jsonw_key_u64(j, "bytes", c->bytes);
		jsonw_key_u64(j, "total_ns", c->ns);
		jsonw_key_u64(j, "max_ns", c->max_ns);
		jsonw_key_u64(j, "errors", c->errors);
		jsonw_key_u64(j, "async_errors", c->async_errors);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}
