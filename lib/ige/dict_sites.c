/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the site of an event being written: guessed from the previous event of its thread, else
 * looked up, else minted. The result is the same in each case.
 */
#include "lib/base/wirebytes.h"
#include "lib/ige/dict_writer.h"

static void define_site(struct ige_dict_writer *d, const struct ige_site *s,
			const struct op_def *def, uint32_t id)
{
	struct buf entry = { 0 };

	varint_put(&entry, s->op);
	varint_put(&entry, ige_dict_id(d, WORLD_STACK, s->stack));
	varint_put(&entry, zigzag(s->ret));
	varint_put(&entry, s->args);
	if (s->args) {
		varint_put(&entry, s->present);
		for (unsigned i = 0, k = 0; i < def->ncols; i++) {
			if (s->present >> i & 1)
				varint_put(&entry, s->x[k]);
			k += s->args >> i & 1;
		}
	}
	ige_dict_queue(d, IGE_D_SITE, id, &entry);
	buf_free(&entry);
}

/* What repeats from call to call: kernel, shape, stream, direction, communicator. Pointers and
 * sizes do not; subjects never stand in sites. */
static bool is_repeating(uint16_t column)
{
	switch (column) {
	case COL_FUNC:
	case COL_STREAM:
	case COL_DIRECTION:
	case COL_GRID:
	case COL_BLOCK:
	case COL_SHARED:
	case COL_EXEC:
	case COL_ORDINAL:
	case COL_FLAGS:
	case COL_COMM:
	case COL_DTYPE:
	case COL_REDUCTION:
	case COL_PEER:
	case COL_RANK:
		return true;
	default:
		return false;
	}
}

const struct ige_written_op *ige_dict_learn_op(struct ige_dict_writer *d, uint16_t op)
{
	struct ige_written_op *o = &d->ops[ige_written_at(op)];
	const struct op_def *def = world_op(d->world, op);

	if (!def)
		return NULL;
	d->stale |= !op_builtin(op) && d->foreign != world_foreign(d->world);
	*o = (struct ige_written_op){ .def = def };
	for (unsigned i = 0; i < def->ncols && o->nargs < IGE_SITE_COLUMNS; i++)
		if (is_repeating(def->cols[i])) {
			o->args |= (uint16_t)(1u << i);
			o->arg[o->nargs++] = (uint8_t)i;
		}
	return o;
}

static uint64_t value_of(const struct event *ev, unsigned column)
{
	return ev->present >> column & 1 ? ev->x[column] : 0;
}

static bool is_site_of(const struct ige_site *s, const struct event *ev,
		       const struct ige_written_op *op)
{
	if (s->op != ev->op || s->args != op->args || s->ret != ev->ret || s->stack != ev->stack ||
	    s->present != (ev->present & op->args))
		return false;
	for (unsigned i = 0; i < op->nargs; i++)
		if (s->x[i] != value_of(ev, op->arg[i]))
			return false;
	return true;
}

/* Index of the event's site, new or not; UINT32_MAX: out of memory. */
static uint32_t look_up(struct ige_dict_writer *d, const struct event *ev,
			const struct ige_written_op *op)
{
	struct ige_site s = { .op = ev->op,
			      .args = op->args,
			      .ret = ev->ret,
			      .stack = ev->stack,
			      .present = ev->present & op->args };
	size_t before = d->sites.list.n;
	bool room = before < IGE_SITE_ARGS_MAX || !op->args;
	uint32_t at;

	for (unsigned i = 0; i < op->nargs; i++)
		s.x[i] = value_of(ev, op->arg[i]);
	at = ige_sites_find(&d->sites, &s, room);
	if (at == UINT32_MAX && !room) {
		s = (struct ige_site){ .op = ev->op, .ret = ev->ret, .stack = ev->stack };
		at = ige_sites_find(&d->sites, &s, true);
	}
	if (d->sites.list.n > before)
		define_site(d, &s, op->def, at + 1);
	return at;
}

static struct ige_lane *lane_of(struct ige_dict_writer *d, uint32_t ctx)
{
	while (ctx >= d->lanes.n)
		if (!vec_push(&d->lanes, (struct ige_lane){ 0 }))
			return NULL;
	return &d->lanes.v[ctx];
}

uint32_t ige_dict_site(struct ige_dict_writer *d, const struct event *ev,
		       const struct ige_written_op *op, uint32_t *args)
{
	struct ige_lane *lane = lane_of(d, ev->ctx);
	uint32_t at = UINT32_MAX;

	if (lane && lane->guess && is_site_of(&d->sites.list.v[lane->guess - 1].site, ev, op))
		at = lane->guess - 1;
	else if (lane)
		at = look_up(d, ev, op);
	if (at == UINT32_MAX) {
		d->failed = true;
		*args = 0;
		return 0;
	}
	if (lane->last && d->sites.list.v[lane->last - 1].next != at + 1)
		d->sites.list.v[lane->last - 1].next = at + 1;
	lane->last = at + 1;
	lane->guess = d->sites.list.v[at].next;
	if (lane->guess)
		ige_sites_fetch(&d->sites, lane->guess - 1);
	*args = d->sites.list.v[at].site.args;
	return at + 1;
}
