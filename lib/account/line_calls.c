/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the calls that lines make in the steps of a loop. */
#include "lib/account/line_calls.h"

#include "lib/account/analysis_state.h"
#include "lib/base/hash.h"
#include "lib/event/op.h"
#include "lib/world/known_work.h"

/* Calls may be recorded a small part of the time only. */
#define CALLS_LEAST 3
#define CALLS_STEPS 32 /* at least one in so many steps */
#define READS_STEP  4  /* in a step: one or two, as of the loss, are what many loops have */

/* A line of Python, a function of others. */
static uint64_t line_key(const struct cause *c, uint32_t anchor, uint32_t frame)
{
	const struct world_frame *f = world_get_frame(c->w, frame);
	const struct world_symbol *symbol =
		f && f->kind == FRAME_NATIVE ? world_get_symbol(c->w, frame) : NULL;

	return hash_u64((uint64_t)anchor << 32 | (symbol ? symbol->name : frame)) ^ !symbol;
}

/* Each ends with one wait for the device, which may be two pieces of the path: in the call, and for
 * the device. */
static bool is_read(const struct cause *c, const struct track_part *p)
{
	const struct op_def *op = op_builtin(p->op);

	return op && op->flags & OP_SYNC && known_work_of(c->w, p->stack) == KNOWN_WORK_READS;
}

/* As many as make a line one that reads, in the steps while waits were recorded. */
static uint64_t many_reads(const struct cause *c, const struct track *t)
{
	uint32_t node = world_process_node(c->w, cause_process_of(c, t->anchor));
	int64_t from_ns = t->loop->first_ns, to_ns = t->loop->last_ns;
	double all = (double)(to_ns - from_ns),
	       paused = (double)paused_ns(&c->paused, node, TIER_WAITS, from_ns, to_ns);

	return all > paused ? (uint64_t)(READS_STEP * (double)t->loop->estimate *
					 (1 - paused / all))
			    : 0;
}

/* Adds to a key's count; a key that has reached least is put into found. False: out of memory. */
static bool count_calls(struct map *counts, struct map *found, uint64_t key, uint64_t more,
			uint64_t least)
{
	uint64_t n = 0;

	map_get(counts, key, &n);
	n += more;
	return map_put(counts, key, n) && (n < least || map_put(found, key, 1));
}

bool line_calls_note(struct line_calls *s, const struct cause *c, const struct track *t,
		     const struct track_parts *parts)
{
	uint64_t least = t->loop->estimate / CALLS_STEPS, many = many_reads(c, t);
	struct map calls = { 0 }, reads = { 0 };
	bool ok = true;

	least = least > CALLS_LEAST ? least : CALLS_LEAST;
	many = many > least ? many : least;
	for (size_t i = 0; ok && i < parts->v.n; i++) {
		const struct track_part *p = &parts->v.v[i];
		uint64_t key = line_key(c, t->anchor, p->line);

		if (p->leaf != t->anchor || !p->line ||
		    (p->class != PATH_CALL && p->class != PATH_DEVICE))
			continue;
		ok = count_calls(&calls, &s->calls, key, p->pieces, least) &&
		     (!is_read(c, p) || count_calls(&reads, &s->reads, key, p->pieces, many));
	}
	map_free(&calls);
	map_free(&reads);
	return ok;
}

bool line_calls_makes(const struct line_calls *s, const struct cause *c, uint32_t anchor,
		      const struct track_part *p)
{
	return map_get(&s->calls, line_key(c, anchor, p->line), NULL);
}

bool line_calls_reads(const struct line_calls *s, const struct cause *c, uint32_t anchor,
		      const struct track_part *p)
{
	return map_get(&s->reads, line_key(c, anchor, p->line), NULL);
}

void line_calls_free(struct line_calls *s)
{
	map_free(&s->calls);
	map_free(&s->reads);
}
