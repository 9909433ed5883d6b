/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run ends where an input's block does, since the next one takes its memory. The ends of rows are
 * the keys of a tree of losers; what else the order knows is asked for where ends are equal.
 */
#include "lib/input/cursor.h"

#include <stdlib.h>

#include "lib/ige/row_order.h"
#include "lib/input/tree.h"
#include "lib/world/event_order.h"

#define RUN 4096 /* rows of a run at most: refs that stay in the nearest cache */

/* Where one input stands, next to what the loop over rows needs. */
struct place {
	const uint64_t *end;
	const uint32_t *at; /* of a grouped block: where the i-th row stands */
	uint64_t base;	    /* key of the block's end_min */
	uint32_t next, n;
};

struct lane {
	struct ige_reader *reader;
	VEC(uint32_t) at, spare;
	bool late, ended;
};

struct input_cursor {
	const struct world *world;
	unsigned n, stale; /* stale: this input has to be brought to its next row; n: none */
	bool built;
	struct input_tree tree;
	struct place *places;
	struct lane *lanes;
	struct input_rows *inputs;
	uint64_t *keys; /* of the first rows */
	uint32_t refs[IGE_EVENTS_MAX];
};

static uint32_t row_of(const struct place *p, uint32_t i)
{
	return p->at ? p->at[i] : i;
}

static struct event row_event(const struct input_cursor *c, uint32_t lane)
{
	const struct input_rows *in = &c->inputs[lane];
	const struct ige_arrays *a = &in->arrays;
	uint32_t row = row_of(&c->places[lane], c->places[lane].next);
	uint64_t ctx = a->column[IGE_CTX][row];
	struct event ev = { .end_ns = a->header.end_min + (int64_t)a->column[IGE_END][row] };

	if (ctx < in->dict->kind[IGE_D_CTX].ids.n)
		ev.ctx = in->dict->kind[IGE_D_CTX].ids.v[ctx];
	ev.depth = a->column[IGE_DEPTH] ? (uint16_t)a->column[IGE_DEPTH][row] : 0;
	return ev;
}

static bool is_lane_before(const void *arg, uint32_t a, uint32_t b)
{
	const struct input_cursor *c = arg;
	struct event x = row_event(c, a), y = row_event(c, b);
	int order = world_event_order(c->world, &x, &y);

	return order ? order < 0 : a < b;
}

static uint64_t key_of(const struct input_cursor *c, uint32_t lane)
{
	const struct place *p = &c->places[lane];

	return c->lanes[lane].ended ? INPUT_TREE_ENDED : p->base + p->end[row_of(p, p->next)];
}

/* Rows of a grouped block in the order of events. */
static int sort_rows(struct lane *l, struct place *p, const struct ige_arrays *a, struct err *e)
{
	p->at = NULL;
	if (!(a->header.flags & IGE_GROUPED))
		return 0;
	if (!vec_reserve(&l->at, a->n) || !vec_reserve(&l->spare, a->n))
		return err_nomem(e);
	for (uint32_t i = 0; i < a->n; i++)
		l->at.v[i] = i;
	if (a->column[IGE_ORDER])
		ige_order_by(l->at.v, l->spare.v, a->n, a->column[IGE_ORDER]);
	ige_order_by(l->at.v, l->spare.v, a->n, a->column[IGE_END]);
	p->at = l->at.v;
	return 0;
}

/* Moves the lane to its next block with rows, if there is one. */
static int read_next_block(struct input_cursor *c, uint32_t lane, struct err *e)
{
	struct lane *l = &c->lanes[lane];
	struct place *p = &c->places[lane];
	struct input_rows *in = &c->inputs[lane];
	struct ige_block b;
	int rc;

	while ((rc = ige_reader_block(l->reader, &b, e)) > 0) {
		const struct ige_arrays *a = ige_reader_arrays(l->reader);

		if (!a || !a->n)
			continue;
		in->arrays = *a;
		in->dict = ige_reader_dict(l->reader);
		l->late = a->header.flags & IGE_LATE;
		*p = (struct place){ .end = a->column[IGE_END],
				     .base = input_tree_key(a->header.end_min),
				     .n = a->n };
		return sort_rows(l, p, a, e);
	}
	l->ended = rc == 0;
	return rc;
}

/* A whole late block is a run of its own. */
static void late_run(struct input_cursor *c, uint32_t lane, struct input_run *run)
{
	struct place *p = &c->places[lane];

	for (uint32_t i = 0; i < p->n; i++)
		c->refs[i] = lane << 16 | row_of(p, i);
	*run = (struct input_run){ c->refs, p->n, c->inputs, true };
	p->next = p->n;
	c->lanes[lane].late = false;
}

/* Moves stale inputs to their next rows. 1: *run filled with late rows; 0: the inputs are at rows,
 * or have ended. */
static int advance_stale_lanes(struct input_cursor *c, struct input_run *run, struct err *e)
{
	while (c->stale < c->n) {
		uint32_t lane = c->stale;
		int rc;

		if (!c->lanes[lane].ended && c->places[lane].next == c->places[lane].n) {
			rc = read_next_block(c, lane, e);
			if (rc < 0)
				return rc;
		}
		if (!c->lanes[lane].ended && c->lanes[lane].late) {
			late_run(c, lane, run);
			return 1;
		}
		if (c->built) {
			input_tree_replace(&c->tree, key_of(c, lane));
			c->stale = c->n;
		} else if (++c->stale == c->n) {
			for (uint32_t i = 0; i < c->n; i++)
				c->keys[i] = key_of(c, i);
			input_tree_build(&c->tree, c->keys, c->n);
			c->built = true;
		}
	}
	return 0;
}

int input_cursor_next(struct input_cursor *c, struct input_run *run, struct err *e)
{
	unsigned n = 0;
	int rc = advance_stale_lanes(c, run, e);

	if (rc)
		return rc;
	while (n < RUN && input_tree_first_key(&c->tree) != INPUT_TREE_ENDED) {
		uint32_t lane = input_tree_first(&c->tree), row;
		struct place *p = &c->places[lane];

		c->refs[n++] = lane << 16 | row_of(p, p->next);
		if (++p->next == p->n) {
			c->stale = lane;
			break;
		}
		row = row_of(p, p->next);
		input_tree_replace(&c->tree, p->base + p->end[row]);
	}
	*run = (struct input_run){ c->refs, n, c->inputs, false };
	return n > 0;
}

int input_cursor_open(struct input_cursor **out, const struct world *w,
		      struct ige_reader *const *readers, unsigned n, struct err *e)
{
	struct input_cursor *c;

	*out = NULL;
	if (n > INPUT_CURSOR_MAX)
		return err_set(e, ERR_LIMIT, "%u inputs at once; at most %u", n, INPUT_CURSOR_MAX);
	c = calloc(1, sizeof(*c));
	if (!c)
		return err_nomem(e);
	c->world = w;
	c->n = n;
	c->tree.before = is_lane_before;
	c->tree.arg = c;
	c->places = calloc(n + 1, sizeof(*c->places));
	c->lanes = calloc(n + 1, sizeof(*c->lanes));
	c->inputs = calloc(n + 1, sizeof(*c->inputs));
	c->keys = calloc(n + 1, sizeof(*c->keys));
	if (!c->places || !c->lanes || !c->inputs || !c->keys || !input_tree_init(&c->tree, n)) {
		input_cursor_free(c);
		return err_nomem(e);
	}
	for (unsigned i = 0; i < n; i++) {
		c->lanes[i].reader = readers[i];
		ige_reader_want(readers[i], IGE_WANT_OWN | IGE_WANT(IGE_ORDER));
	}
	c->built = n == 0;
	for (uint32_t i = 0; n == 0 && i < c->tree.leaves; i++)
		c->tree.node[i].key = INPUT_TREE_ENDED;
	*out = c;
	return 0;
}

void input_cursor_free(struct input_cursor *c)
{
	if (!c)
		return;
	input_tree_free(&c->tree);
	for (unsigned i = 0; c->lanes && i < c->n; i++) {
		vec_free(&c->lanes[i].at);
		vec_free(&c->lanes[i].spare);
	}
	free(c->places);
	free(c->lanes);
	free(c->inputs);
	free(c->keys);
	free(c);
}
