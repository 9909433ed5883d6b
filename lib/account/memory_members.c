/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the device memory that processes hold as members of the analysis record.
 */
#include "lib/account/memory_members.h"

#include <inttypes.h>

#include "lib/base/fmt.h"
#include "lib/account/names.h"

#define SITES_TOLD  10
#define POINTS_TOLD 64

static const char *const kinds[LIVE_KINDS] = { "device", "managed", "pinned" };

static uint64_t at_peak(const struct live_process *p, const struct live_site *s)
{
	return s->peak_seen == p->peaks ? s->at_peak_bytes : s->bytes;
}

static void history_json(const struct cause *c, const struct live_history *h, struct jsonw *j)
{
	unsigned each = (h->n + POINTS_TOLD - 1) / POINTS_TOLD;

	jsonw_key_object(j, "history");
	jsonw_key_i64(j, "first_ns", h->first_span * h->span_ns - c->start_ns);
	jsonw_key_i64(j, "span_ns", h->span_ns * (each ? each : 1));
	jsonw_key_array(j, "most_bytes");
	for (unsigned i = 0; i < h->n; i += each) {
		uint64_t most = 0;

		for (unsigned k = i; k < i + each && k < h->n; k++)
			most = h->v[k].most > most ? h->v[k].most : most;
		jsonw_u64(j, most);
	}
	jsonw_array_end(j);
	jsonw_object_end(j);
}

static void sites_json(const struct cause *c, const struct live_process *p, struct jsonw *j)
{
	struct buf text = { 0 };
	uint32_t v[SITES_TOLD];
	unsigned n = live_top(c->live, p->process, true, v, SITES_TOLD);

	jsonw_key_array(j, "sites");
	for (unsigned i = 0; i < n; i++) {
		const struct live_site *s = &c->live->sites.v[v[i]];
		uint32_t frame = name_site_frame(c->w, s->stack);

		jsonw_object_begin(j);
		name_op(&text, c->w, s->op);
		name_key(j, "op", &text);
		if (frame) {
			name_frame(&text, c->w, frame);
			name_site_caller(&text, c->w, s->stack);
		}
		name_key(j, "text", &text);
		jsonw_key_str(j, "kind", kinds[s->kind]);
		jsonw_key_u64(j, "live_bytes", s->bytes);
		jsonw_key_u64(j, "live", s->n);
		jsonw_key_u64(j, "bytes_at_peak", at_peak(p, s));
		jsonw_key_u64(j, "allocations", s->allocs);
		jsonw_key_u64(j, "allocated_bytes", s->alloc_bytes);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	buf_free(&text);
}

static void process_json(const struct cause *c, const struct live_process *p, struct jsonw *j)
{
	jsonw_object_begin(j);
	name_process_keys(j, c->w, &c->tally, p->process);
	jsonw_key_u64(j, "live_bytes", live_bytes(p));
	jsonw_key_u64(j, "managed_bytes", p->bytes[LIVE_MANAGED]);
	jsonw_key_u64(j, "pinned_bytes", p->bytes[LIVE_PINNED]);
	jsonw_key_u64(j, "live", p->n);
	jsonw_key_u64(j, "peak_bytes", p->peak_bytes);
	jsonw_key_i64(j, "peak_ns", p->peaks ? p->peak_ns - c->start_ns : 0);
	jsonw_key_u64(j, "allocations", p->allocs);
	jsonw_key_u64(j, "frees", p->frees);
	jsonw_key_u64(j, "failed", p->failed);
	jsonw_key_u64(j, "unknown_frees", p->unknown_frees);
	jsonw_key_u64(j, "not_kept", p->beyond);
	jsonw_key_bool(j, "ended", p->ended);
	history_json(c, &p->history, j);
	sites_json(c, p, j);
	jsonw_object_end(j);
}

void cause_memory_json(const struct cause *c, struct jsonw *j)
{
	jsonw_key_array(j, "memory");
	for (size_t i = 0; i < c->live->processes.n && i < LIVE_TOLD; i++)
		process_json(c, c->live->processes.v[i], j);
	jsonw_array_end(j);
}

void cause_memory_holders(const struct cause *c, struct fact *f, bool peak)
{
	const struct live_process *p = live_of(c->live, f->process);
	uint32_t v[FACT_SITES];
	unsigned n = p ? live_top(c->live, f->process, peak, v, FACT_SITES) : 0;

	for (unsigned i = 0; i < n; i++) {
		const struct live_site *s = &c->live->sites.v[v[i]];

		f->sites[i] = (struct where_place){ .subject = f->process,
						    .stack = s->stack,
						    .op = s->op,
						    .count = s->allocs,
						    .bytes = peak ? at_peak(p, s) : s->bytes };
	}
	f->nsites = n;
}

void cause_memory_holder(const struct cause *c, const struct fact *f, struct buf *out)
{
	uint32_t frame;

	if (f->nsites == 0)
		return;
	frame = name_site_frame(c->w, f->sites[0].stack);
	if (frame)
		name_frame(out, c->w, frame);
	else
		name_op(out, c->w, f->sites[0].op);
	buf_printf(out, " holds %s", fmt_bytes(f->sites[0].bytes).s);
}
