/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues finished blocks of a writer until worker threads have compressed them. What is put goes to
 * the sink and into the index, on the writer's own thread; a large block of rows is given to the
 * team first, and all that comes behind it waits for it. Which bytes come out does not depend on
 * who made them.
 */
#include <stdlib.h>

#include "lib/ige/writer_internal.h"

static int put_now(struct ige_writer *wr, enum ige_put_kind kind, struct buf *out, uint32_t events,
		   uint64_t ops, struct err *e)
{
	int rc;

	/* If the sink drops the block after that, the index disagrees with the file, and readers
	 * ignore the index. */
	rc = wr->opt.index && !ige_index_add(&wr->index, out->p, out->n, ops) ? err_nomem(e) : 0;
	if (!rc)
		rc = wr->sink->put(wr->sink, kind, out->p, out->n, events, e);
	wr->broken |= rc != 0;
	wr->segment_bytes += out->n;
	if (kind == IGE_PUT_EVENTS)
		wr->event_bytes += out->n;
	buf_reset(out);
	return rc;
}

static void seal_task(struct ige_task *task)
{
	struct ige_later *l = (struct ige_later *)task;

	l->rc = ige_block_job_seal(&l->bale, &l->builder, &l->header, &l->out, &l->why);
}

int ige_writer_put_oldest(struct ige_writer *wr, struct err *e)
{
	struct ige_later *l = &wr->later[wr->later_first];

	ige_worker_pool_await(wr->opt.team, &l->task);
	wr->later_first = (wr->later_first + 1) % IGE_LATER_MAX;
	wr->nlater--;
	if (l->rc) {
		wr->broken = true;
		if (e)
			*e = l->why;
		return l->rc;
	}
	return put_now(wr, l->kind, &l->out, l->events, l->ops, e);
}

int ige_writer_settle(struct ige_writer *wr, struct err *e)
{
	int rc = 0;

	while (wr->nlater && !rc && !wr->broken)
		rc = ige_writer_put_oldest(wr, e);
	return rc;
}

uint64_t ige_writer_waiting(const struct ige_writer *wr, uint64_t *event_bytes)
{
	uint64_t bytes = 0;

	*event_bytes = 0;
	for (unsigned i = 0; i < wr->nlater; i++) {
		const struct ige_later *l = &wr->later[(wr->later_first + i) % IGE_LATER_MAX];

		bytes += l->bound;
		*event_bytes += l->kind == IGE_PUT_EVENTS ? l->bound : 0;
	}
	return bytes;
}

/* The place of the next that waits. */
static int next_place(struct ige_writer *wr, struct ige_later **l, struct err *e)
{
	int rc = wr->nlater == IGE_LATER_MAX ? ige_writer_put_oldest(wr, e) : 0;

	*l = &wr->later[(wr->later_first + wr->nlater) % IGE_LATER_MAX];
	return rc;
}

int ige_writer_put(struct ige_writer *wr, enum ige_put_kind kind, uint32_t events, uint64_t ops,
		   struct err *e)
{
	struct ige_later *l;
	struct buf own;
	int rc;

	if (wr->out.failed)
		return err_nomem(e);
	if (!wr->out.n)
		return 0;
	if (!wr->nlater)
		return put_now(wr, kind, &wr->out, events, ops, e);
	rc = next_place(wr, &l, e);
	if (rc)
		return rc;
	own = l->out;
	l->out = wr->out;
	wr->out = own;
	l->kind = kind;
	l->events = events;
	l->ops = ops;
	l->bound = l->out.n;
	l->rc = 0;
	wr->nlater++;
	return 0;
}

int ige_writer_make_later(struct ige_writer *wr, const struct ige_header *h, uint32_t events,
			  struct err *e)
{
	struct ige_later *l;
	int rc;

	if (wr->opt.archive || !ige_worker_pool_helps(wr->opt.team, events))
		return 0;
	if (!wr->later)
		wr->later = calloc(IGE_LATER_MAX, sizeof(*wr->later));
	if (!wr->later)
		return err_nomem(e);
	rc = next_place(wr, &l, e);
	if (rc)
		return rc;
	l->header = *h;
	if (!ige_block_job_bind(&l->bale, &wr->rows, &l->header))
		return err_nomem(e);
	l->bound = ige_block_job_bound(&l->bale);
	l->kind = IGE_PUT_EVENTS;
	l->events = events;
	l->ops = wr->row_ops;
	l->task.run = seal_task;
	wr->nlater++;
	ige_worker_pool_ask(wr->opt.team, &l->task);
	return 1;
}

void ige_writer_later_free(struct ige_writer *wr)
{
	for (unsigned i = 0; wr->later && i < IGE_LATER_MAX; i++) {
		struct ige_later *l = &wr->later[i];

		ige_worker_pool_await(wr->opt.team, &l->task);
		ige_block_job_free(&l->bale);
		ige_builder_free(&l->builder);
		buf_free(&l->out);
	}
	free(wr->later);
}
