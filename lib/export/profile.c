/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up the weight of calls by stack for the profile formats. Events are counted by numbers
 * (process, op, stack, kernel); names are looked up only at the end, where stacks with equal names
 * become one.
 */
#include "lib/export/profile.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/export/own_time.h"
#include "lib/model/body.h"
#include "lib/model/finding_json.h"
#include "lib/world/frame_parts.h"
#include "lib/world/who.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"

/*
 * Bytes that calls moved, once each: what a call inside another one moves is what that one moves.
 * Events come in the order of their ends, inner calls before outer ones; whether there is an outer
 * one is known when it comes, if it does.
 */

/* Calls of a thread whose enclosing call is still open: beyond this the older ones count as having
 * none. */
#define COPIED_BYTES_HELD 4096

struct copied_bytes_call {
	int64_t start_ns;
	uint64_t bytes;
	uint32_t row; /* the caller's */
	uint16_t depth;
};

struct copied_bytes_thread {
	VEC(struct copied_bytes_call) v;
};

/* Zero-initialised is ready. */
struct copied_bytes {
	struct map threads; /* world thread -> index + 1 */
	VEC(struct copied_bytes_thread) v;
};

/* One more call of a thread that moved bytes, in stream order. Afterwards *inside are the *n calls
 * that were inside it, borrowed until the next call. False: out of memory. */
static bool copied_bytes_add(struct copied_bytes *m, uint32_t thread, const struct event *ev,
			     uint32_t row, uint64_t bytes, const struct copied_bytes_call **inside,
			     size_t *n)
{
	const struct copied_bytes_call call = { event_start(ev), bytes, row, ev->depth };
	struct copied_bytes_thread *t;
	uint64_t at;

	*n = 0;
	if (!map_get(&m->threads, thread, &at)) {
		if (!vec_push(&m->v, (struct copied_bytes_thread){ { 0 } }) ||
		    !map_put(&m->threads, thread, m->v.n))
			return false;
		at = m->v.n;
	}
	t = &m->v.v[at - 1];
	if (t->v.n >= COPIED_BYTES_HELD) {
		t->v.n -= COPIED_BYTES_HELD / 2;
		memmove(t->v.v, t->v.v + COPIED_BYTES_HELD / 2, t->v.n * sizeof(*t->v.v));
	}
	/* Those inside it stand behind it then. */
	if (!vec_reserve(&t->v, 1))
		return false;
	while (t->v.n && t->v.v[t->v.n - 1].depth > call.depth &&
	       t->v.v[t->v.n - 1].start_ns >= call.start_ns) {
		t->v.n--;
		++*n;
	}
	memmove(t->v.v + t->v.n + 1, t->v.v + t->v.n, *n * sizeof(*t->v.v));
	*inside = t->v.v + t->v.n + 1;
	t->v.v[t->v.n++] = call;
	/* Nothing is around the outermost. */
	if (!call.depth)
		t->v.n = 0;
	return true;
}

static void copied_bytes_free(struct copied_bytes *m)
{
	for (size_t i = 0; i < m->v.n; i++)
		vec_free(&m->v.v[i].v);
	map_free(&m->threads);
	vec_free(&m->v);
}

struct row {
	uint32_t process, name, stack; /* world ids */
	uint16_t op;
	uint64_t func;
	uint64_t calls, weight;
};

struct chain_text {
	char *id, *body, *kind;
	uint64_t lost_ns;
};

struct profile_run {
	struct export_ctx em;
	struct own_time own;
	struct copied_bytes moved;
	VEC(struct row) rows;
	struct map by_key; /* hash -> index of a row + 1 */
	VEC(struct chain_text) chains;
	uint64_t events;  /* of the stream, where lost time is wanted */
	double looked_at; /* that analyses were made of */
	bool analyzed;
	struct map frame_ids, stack_ids; /* hash -> index + 1 */
	VEC(uint32_t) path;		 /* of the stack in the making */
	struct profile out;
};

const char *profile_weight_name(enum export_weight weight)
{
	static const char *const names[] = { "time", "calls", "lost time", "bytes" };

	return names[weight];
}

const char *profile_weight_unit(enum export_weight weight)
{
	static const char *const units[] = { "nanoseconds", "count", "nanoseconds", "bytes" };

	return units[weight];
}

struct profile_run *profile_new(const struct export_ctx *em)
{
	struct profile_run *p = calloc(1, sizeof(*p));

	if (p) {
		p->em = *em;
		p->out.first_ns = INT64_MAX;
		p->out.last_ns = INT64_MIN;
	}
	return p;
}

static void chain_free(struct chain_text *c)
{
	free(c->id);
	free(c->body);
	free(c->kind);
}

void profile_free(struct profile_run *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->chains.n; i++)
		chain_free(&p->chains.v[i]);
	own_time_free(&p->own);
	copied_bytes_free(&p->moved);
	vec_free(&p->rows);
	vec_free(&p->chains);
	vec_free(&p->path);
	map_free(&p->by_key);
	map_free(&p->frame_ids);
	map_free(&p->stack_ids);
	vec_free(&p->out.frames);
	vec_free(&p->out.path);
	vec_free(&p->out.stacks);
	free(p);
}

static uint64_t row_key(const struct row *r)
{
	uint64_t h = hash_u64((uint64_t)r->process << 32 | r->stack);

	return hash_u64(hash_u64(h ^ r->func) ^ ((uint64_t)r->op << 32 | r->name));
}

/* Adds r to the row with the same key; *row is its index. */
static bool count_row(struct profile_run *p, const struct row *r, uint32_t *row)
{
	uint64_t key = row_key(r), at;
	struct row *have;

	if (!map_get(&p->by_key, key, &at)) {
		if (!vec_push(&p->rows, *r))
			return false;
		at = p->rows.n;
		if (!map_put(&p->by_key, key, at))
			return false;
		p->rows.v[at - 1].calls = p->rows.v[at - 1].weight = 0;
	}
	*row = (uint32_t)at - 1;
	have = &p->rows.v[at - 1];
	have->calls += r->calls;
	have->weight += r->weight;
	return true;
}

/* Bytes count for the outermost recorded call only: the calls inside it moved the same bytes. */
static bool uncount_inner_copies(struct profile_run *p, uint32_t thread, const struct event *ev,
				 uint32_t row, uint64_t bytes)
{
	const struct copied_bytes_call *inside;
	size_t n;

	if (!copied_bytes_add(&p->moved, thread, ev, row, bytes, &inside, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		p->rows.v[inside[i].row].calls--;
		p->rows.v[inside[i].row].weight -= inside[i].bytes;
	}
	return true;
}

static bool count_event(struct profile_run *p, const struct event *ev)
{
	const struct op_def *op = world_op(p->em.w, ev->op);
	struct who who = who_of(p->em.w, ev->ctx, ev->end_ns);
	struct row r = { .process = who.process_id,
			 .name = who.process_name,
			 .stack = ev->stack,
			 .op = ev->op,
			 .calls = 1 };
	bool call = op && op->flags & OP_CALL, bytes = p->em.opt.weight == EXPORT_BYTES;
	uint64_t own = ev->dur_ns;
	uint32_t row;

	if (call && who.ctx && !bytes && !own_time_call(&p->own, who.ctx->thread, ev, &own))
		return false;
	if (!op || (!call && !p->em.opt.chosen))
		return true;
	if (op->flags & OP_LAUNCH)
		event_get(ev, op, COL_FUNC, &r.func);
	r.weight = p->em.opt.weight == EXPORT_COUNT ? 1 : own;
	if (bytes && (!event_get(ev, op, COL_BYTES, &r.weight) || ev->ret))
		return true;
	if (event_start(ev) < p->out.first_ns)
		p->out.first_ns = event_start(ev);
	if (ev->end_ns > p->out.last_ns)
		p->out.last_ns = ev->end_ns;
	if (!count_row(p, &r, &row))
		return false;
	return !bytes || !call || !who.ctx ||
	       uncount_inner_copies(p, who.ctx->thread, ev, row, r.weight);
}

/* Stores a chain; a newer record of the same chain replaces it. */
static bool store_chain(struct profile_run *p, const struct rec_CHAIN *r)
{
	struct chain_text c = { .id = strndup(r->id.p ? r->id.p : "", r->id.n),
				.body = strndup(r->body.p ? r->body.p : "", r->body.n),
				.kind = strndup(r->kind.p ? r->kind.p : "", r->kind.n),
				.lost_ns = r->lost_ns };
	bool kept = c.id && c.body && c.kind;

	for (size_t i = 0; kept && i < p->chains.n; i++) {
		if (strcmp(p->chains.v[i].id, c.id) != 0)
			continue;
		chain_free(&p->chains.v[i]);
		p->chains.v[i] = c;
		return true;
	}
	kept = kept && vec_push(&p->chains, c);
	if (!kept)
		chain_free(&c);
	return kept;
}

/* Each of several recordings may have an ANALYSIS record of its own. */
static void count_analyzed_events(struct profile_run *p, const struct rec_ANALYSIS *r)
{
	struct json body = JSON_NONE, of, lost;

	p->analyzed = true;
	if (!body_read(r->body, &body, BODY_SIZE_MAX, NULL))
		return;
	of = json_get(body, "events");
	lost = json_get(body, "lost_events"); /* also what was there, at times that cannot be */
	p->looked_at += json_double(of, 0) + json_double(lost, 0);
	json_free(of);
	json_free(lost);
	json_free(body);
}

int profile_item(struct profile_run *p, const struct stream_item *it, struct err *e)
{
	bool kept = true;

	if (p->em.opt.weight == EXPORT_LOST) {
		p->events += it->kind == STREAM_EVENTS ? it->n : 0;
		if (it->kind == STREAM_RECORD && it->record->kind == RECORD_ANALYSIS)
			count_analyzed_events(p, &it->record->u.ANALYSIS);
		if (it->kind == STREAM_RECORD && it->record->kind == RECORD_CHAIN)
			kept = store_chain(p, &it->record->u.CHAIN);
		return kept ? 0 : err_nomem(e);
	}
	for (size_t i = 0; kept && it->kind == STREAM_EVENTS && i < it->n; i++)
		kept = count_event(p, &it->events[i]);
	return kept ? 0 : err_nomem(e);
}

/* Appends a frame at the inner end of p->path, the stack being built. */
static bool push_profile_frame(struct profile_run *p, const struct profile_frame *f)
{
	uint64_t key = hash_u64(hash_u64((uint64_t)f->name << 32 | f->file) ^
				hash_u64(f->line ^ (uint64_t)f->module << 40)),
		 at;

	if (!map_get(&p->frame_ids, key, &at)) {
		if (!vec_push(&p->out.frames, *f) || !map_put(&p->frame_ids, key, p->out.frames.n))
			return false;
		at = p->out.frames.n;
	}
	return vec_push(&p->path, (uint32_t)at - 1);
}

static bool push_text(struct profile_run *p, struct bytes text)
{
	struct profile_frame f = { .name = world_string(p->em.w, text) };

	return f.name && push_profile_frame(p, &f);
}

static bool push_frame(struct profile_run *p, uint32_t frame)
{
	struct place place = place_of(p->em.w, frame);
	struct profile_frame f = { .line = place.line };
	struct buf name = { 0 };
	bool pushed;

	place_name(&name, &place);
	f.name = world_string(p->em.w, buf_bytes(&name));
	f.file = place.file.n ? world_string(p->em.w, place.file) : 0;
	f.module = place.module.n ? world_string(p->em.w, place.module) : 0;
	pushed = !name.failed && f.name && push_profile_frame(p, &f);
	buf_free(&name);
	return pushed;
}

/* Counts the stack in p->path, which is complete. */
static bool count_stack(struct profile_run *p, uint64_t calls, uint64_t weight)
{
	uint64_t key = hash_bytes(p->path.v, p->path.n * sizeof(*p->path.v), 0), at;
	struct profile_stack s = { .process = p->path.v[0],
				   .at = (uint32_t)p->out.path.n,
				   .n = (uint32_t)p->path.n };

	if (!map_get(&p->stack_ids, key, &at)) {
		for (size_t i = 0; i < p->path.n; i++)
			if (!vec_push(&p->out.path, p->path.v[i]))
				return false;
		if (!vec_push(&p->out.stacks, s) || !map_put(&p->stack_ids, key, p->out.stacks.n))
			return false;
		at = p->out.stacks.n;
	}
	p->out.stacks.v[at - 1].calls += calls;
	p->out.stacks.v[at - 1].weight += weight;
	p->out.weight += weight;
	return true;
}

/* "node-1: python3 (pid 4711)"; the machine where there are several. */
static bool push_process(struct profile_run *p, uint32_t process, uint32_t name)
{
	const struct world *w = p->em.w;
	const struct world_process *pr = world_get_process(w, process);
	const struct world_node *node = pr ? world_get_node(w, pr->node) : NULL;
	struct bytes comm = world_text(w, name);
	struct buf text = { 0 };
	bool pushed;

	if (node && world_count(w, WORLD_NODE) > 1) {
		struct bytes host = world_text(w, node->name);

		buf_add(&text, host.p, host.n);
		buf_puts(&text, ": ");
	}
	buf_add(&text, comm.n ? comm.p : "?", comm.n ? comm.n : 1);
	if (pr)
		buf_printf(&text, " (pid %" PRIu32 ")", pr->tgid);
	pushed = !text.failed && push_text(p, buf_bytes(&text));
	buf_free(&text);
	return pushed;
}

/* Whether a frame is the call of this name: "cuMemAlloc_v2" is cuMemAlloc. */
static bool is_call_of(const struct profile_run *p, uint32_t frame, const char *name)
{
	struct bytes is = world_text(p->em.w, p->out.frames.v[frame].name);
	size_t n = strlen(name);

	return is.n >= n && !memcmp(is.p, name, n) && (is.n == n || is.p[n] == '_');
}

static bool count_row_stack(struct profile_run *p, const struct row *r)
{
	const struct op_def *op = world_op(p->em.w, r->op);
	uint32_t kernel =
		r->func ? late_names_kernel(p->em.told, r->process, r->func, INT64_MAX) : 0;
	unsigned n = 0;
	const uint32_t *frames = r->stack ? world_get_stack(p->em.w, r->stack, &n) : NULL;
	bool kept;

	p->path.n = 0;
	kept = push_process(p, r->process, r->name);
	for (unsigned i = n; kept && i-- > 0;)
		kept = push_frame(p, frames[i]);
	/* The innermost frame is the call itself where native frames were taken. */
	if (kept && op && !is_call_of(p, p->path.v[p->path.n - 1], op->name))
		kept = push_text(p, bytes_of(op->name));
	if (kept && kernel)
		kept = push_text(p, world_text(p->em.w, kernel));
	return kept && count_stack(p, r->calls, r->weight);
}

/* What a chain lost at one call site: its stack, with the culprit as the innermost frame. */
static bool count_loss_stack(struct profile_run *p, const struct finding *f,
			     const struct finding_site *site, const struct chain_text *c,
			     uint64_t lost_ns)
{
	struct bytes name = f->victim.comm, by = f->culprit.text;
	size_t n = site ? site->stack.n : 0;
	struct buf text = { 0 };
	bool kept;

	p->path.n = 0;
	if (f->node.n && world_count(p->em.w, WORLD_NODE) > 1)
		buf_printf(&text, "%.*s: ", (int)f->node.n, f->node.p);
	buf_printf(&text, "%.*s (pid %" PRIu32 ")", name.n ? (int)name.n : 1, name.n ? name.p : "?",
		   f->victim.pid);
	kept = push_text(p, buf_bytes(&text));
	for (size_t i = n; kept && i-- > 0;)
		kept = push_text(p, site->stack.v[i]);
	if (kept && site && site->op.n && !n)
		kept = push_text(p, site->op);
	buf_reset(&text);
	buf_printf(&text, "[%s] %.*s", c->kind, (int)by.n, by.n ? by.p : "");
	kept = kept && !text.failed && push_text(p, buf_bytes(&text)) && count_stack(p, 1, lost_ns);
	buf_free(&text);
	return kept;
}

static bool count_chain_stacks(struct profile_run *p, const struct chain_text *c)
{
	struct finding f = { 0 };
	bool kept = finding_read_json(&f, bytes_of(c->body), BODY_SIZE_MAX, NULL) != ERR_NOMEM;
	uint64_t told = 0;

	for (size_t i = 0; kept && i < f.sites.n; i++) {
		uint64_t ns = f.sites.v[i].lost_ns;

		if (ns && ns < (uint64_t)1e18) {
			kept = count_loss_stack(p, &f, &f.sites.v[i], c, ns);
			told += ns;
		}
	}
	/* What was lost at places that are not told, or nowhere in particular. */
	if (kept && f.known && c->lost_ns > told)
		kept = count_loss_stack(p, &f, NULL, c, c->lost_ns - told);
	finding_free(&f);
	return kept;
}

struct weighed {
	struct profile_stack s;
	uint64_t process_weight;
};

static int by_weight(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;

	if (x->process_weight != y->process_weight)
		return x->process_weight > y->process_weight ? -1 : 1;
	if (x->s.process != y->s.process)
		return x->s.process < y->s.process ? -1 : 1;
	if (x->s.weight != y->s.weight)
		return x->s.weight > y->s.weight ? -1 : 1;
	return x->s.at < y->s.at ? -1 : x->s.at > y->s.at;
}

static bool sort_stacks(struct profile_run *p)
{
	uint64_t *of = calloc(p->out.frames.n + 1, sizeof(*of));
	struct weighed *v = calloc(p->out.stacks.n + 1, sizeof(*v));

	for (size_t i = 0; of && v && i < p->out.stacks.n; i++)
		of[p->out.stacks.v[i].process] += p->out.stacks.v[i].weight;
	for (size_t i = 0; of && v && i < p->out.stacks.n; i++)
		v[i] = (struct weighed){ p->out.stacks.v[i], of[p->out.stacks.v[i].process] };
	if (of && v)
		qsort(v, p->out.stacks.n, sizeof(*v), by_weight);
	for (size_t i = 0; of && v && i < p->out.stacks.n; i++)
		p->out.stacks.v[i] = v[i].s;
	free(of);
	free(v);
	return of && v;
}

int profile_end(struct profile_run *p, const struct profile **out, struct err *e)
{
	bool kept = true;

	if (p->em.opt.weight == EXPORT_LOST && !p->analyzed)
		return err_set(e, ERR_CANNOT,
			       "nobody has looked for lost time yet: ingero-correlate FILE | "
			       "ingero-export --weight lost");
	if (p->em.opt.weight == EXPORT_LOST && p->looked_at < (double)p->events)
		return err_set(e, ERR_CANNOT,
			       "nobody has looked for lost time in all of it: ingero-merge FILES | "
			       "ingero-correlate | ingero-export --weight lost");
	for (size_t i = 0; kept && i < p->rows.n; i++)
		kept = !p->rows.v[i].calls || count_row_stack(p, &p->rows.v[i]);
	for (size_t i = 0; kept && i < p->chains.n; i++)
		kept = count_chain_stacks(p, &p->chains.v[i]);
	kept = kept && sort_stacks(p);
	*out = &p->out;
	return kept && !world_failed(p->em.w) ? 0 : err_nomem(e);
}

void profile_frame_text(struct buf *out, const struct world *w, const struct profile_frame *f)
{
	struct bytes name = world_text(w, f->name), file = bytes_file_name(world_text(w, f->file));

	buf_add(out, name.p, name.n);
	if (!file.n)
		return;
	buf_printf(out, " (%.*s", (int)file.n, file.p);
	if (f->line)
		buf_printf(out, ":%" PRIu64, f->line);
	buf_putc(out, ')');
}
