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
/* In a step. One or two reads, as of the loss, and the tensors of a batch are what many loops have.
 */
#define READS_STEP 4
#define MOVES_STEP 8

/* A line of Python, a function of others. */
static uint64_t line_key(const struct cause *c, uint32_t anchor, uint32_t frame)
{
	const struct world_frame *f = world_get_frame(c->w, frame);
	const struct world_symbol *symbol =
		f && f->kind == FRAME_NATIVE ? world_get_symbol(c->w, frame) : NULL;

	return hash_u64((uint64_t)anchor << 32 | (symbol ? symbol->name : frame)) ^ !symbol;
}

/* A read or a move, OTHER: neither. Each ends with one wait for the device, which may be two pieces
 * of the path: in the call, and for the device. */
static enum known_work single_of(const struct cause *c, const struct track_part *p)
{
	const struct op_def *op = op_builtin(p->op);
	enum known_work work =
		op && op->flags & OP_SYNC ? known_work_of(c->w, p->stack) : KNOWN_WORK_OTHER;

	return work == KNOWN_WORK_READS || work == KNOWN_WORK_MOVES ? work : KNOWN_WORK_OTHER;
}

/* As many as there are of one in each step, in the steps while waits were recorded. */
static double count_while_recorded(const struct cause *c, const struct track *t)
{
	uint32_t node = world_process_node(c->w, cause_process_of(c, t->anchor));
	int64_t from_ns = t->loop->first_ns, to_ns = t->loop->last_ns;
	double all = (double)(to_ns - from_ns),
	       paused = (double)paused_ns(&c->paused, node, TIER_WAITS, from_ns, to_ns);

	return all > paused ? (double)t->loop->estimate * (1 - paused / all) : 0;
}

/* Adds to a key's count; a key that has reached least is put into found, with what. False: out of
 * memory. */
static bool count_calls(struct map *counts, struct map *found, uint64_t key, uint64_t more,
			double least, uint64_t what)
{
	uint64_t n = 0;

	map_get(counts, key, &n);
	n += more;
	return map_put(counts, key, n) && ((double)n < least || map_put(found, key, what));
}

bool line_calls_note(struct line_calls *s, const struct cause *c, const struct track *t,
		     const struct track_parts *parts)
{
	double least = (double)t->loop->estimate / CALLS_STEPS, once = count_while_recorded(c, t);
	struct map calls = { 0 }, singles = { 0 };
	bool ok = true;

	least = least > CALLS_LEAST ? least : CALLS_LEAST;
	for (size_t i = 0; ok && i < parts->v.n; i++) {
		const struct track_part *p = &parts->v.v[i];
		uint64_t key = line_key(c, t->anchor, p->line);
		enum known_work work;
		double many;

		if (p->leaf != t->anchor || !p->line ||
		    (p->class != PATH_CALL && p->class != PATH_DEVICE))
			continue;
		work = single_of(c, p);
		many = once * (work == KNOWN_WORK_READS ? READS_STEP : MOVES_STEP);
		ok = count_calls(&calls, &s->calls, key, p->pieces, least, 1) &&
		     (!work || count_calls(&singles, &s->singles, key, p->pieces,
					   many > least ? many : least, work));
	}
	map_free(&calls);
	map_free(&singles);
	return ok;
}

bool line_calls_makes(const struct line_calls *s, const struct cause *c, uint32_t anchor,
		      const struct track_part *p)
{
	return map_get(&s->calls, line_key(c, anchor, p->line), NULL);
}

enum known_work line_calls_singles(const struct line_calls *s, const struct cause *c,
				   uint32_t anchor, const struct track_part *p)
{
	uint64_t work = KNOWN_WORK_OTHER;

	map_get(&s->singles, line_key(c, anchor, p->line), &work);
	return (enum known_work)work;
}

void line_calls_free(struct line_calls *s)
{
	map_free(&s->calls);
	map_free(&s->singles);
}
