/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the calls of all threads that have not returned. The kernel's table is read while calls
 * begin and return: a call listed here may return a moment later, which only makes the floor lower
 * than necessary.
 */
#include "lib/record/open_call_list.h"

#include "lib/base/hash.h"

#define SLACK_NS 100000000 /* a thread preempted between reading the clock and entering the call */

struct looking {
	struct open_call_list *o;
	struct wire_decoder *wire;
	struct ige_writer *wr;
	int64_t now_ns, floor_ns;
	uint64_t hung_ns;
	bool at_end;
	struct err *e;
	int rc;
};

/* The thread of the calls: a known one, or made from who, into made. NULL: neither. */
static const struct decode_thread *thread_of(struct looking *l, const struct wire_open *head,
					     const struct wire_thread *who,
					     struct decode_thread *made)
{
	const struct decode_thread *t = wire_decoder_born(l->wire, head->tid, head->start_ns);

	if (t || !who)
		return t;
	*made = wire_decoder_make(l->wire, who);
	return made;
}

static void write_open(struct looking *l, const struct decode_thread *t,
		       const struct wire_open_call *call)
{
	struct record r = { .kind = RECORD_OPEN };

	REC_SET(&r, OPEN, time_ns, l->now_ns);
	if (t)
		REC_SET(&r, OPEN, thread, t->thread);
	REC_SET(&r, OPEN, op, call->op);
	REC_SET(&r, OPEN, start_ns, (int64_t)call->start_ns);
	REC_SET(&r, OPEN, depth, call->depth);
	if (wire_decoder_stack(l->wire, call->stack))
		REC_SET(&r, OPEN, stack, wire_decoder_stack(l->wire, call->stack));
	if (l->at_end)
		REC_SET(&r, OPEN, at_end, 1);
	if (l->rc == 0)
		l->rc = ige_writer_record(l->wr, &r, l->e);
}

/* From when on it is named. */
static uint64_t limit_of(const struct looking *l, uint32_t op)
{
	uint64_t slow_ns = l->o->slow_ns ? l->o->slow_ns[(uint16_t)op] : UINT64_MAX;

	return slow_ns < l->hung_ns ? slow_ns : l->hung_ns;
}

static void on_open_calls(void *ctx, const struct wire_open *head, const struct wire_thread *who,
			  const struct wire_open_call *calls)
{
	struct looking *l = ctx;
	struct open_call_list *o = l->o;
	struct decode_thread made;

	if (head->off_since && (int64_t)head->off_since < l->floor_ns)
		l->floor_ns = (int64_t)head->off_since;
	for (uint32_t i = 0; i < head->ncalls; i++) {
		uint64_t key = hash_u64(calls[i].start_ns) ^ (uint64_t)head->tid << 8 ^ i, seen = 0;
		bool known = map_get(&o->named, key, &seen), old,
		     named = known && (uint32_t)seen == o->file;

		o->open++;
		old = l->now_ns - (int64_t)calls[i].start_ns >= (int64_t)limit_of(l, calls[i].op);
		if (l->at_end || (old && !named)) {
			write_open(l, thread_of(l, head, who, &made), &calls[i]);
			if (old && !known) {
				o->hung++;
				o->hung_op = (uint16_t)calls[i].op;
				o->hung_limit_ns = limit_of(l, calls[i].op);
			}
			named = true;
		}
		/* Without memory for that it is named again. */
		named = named && map_put(&o->named, key, (uint64_t)o->looks << 32 | o->file);
		if (!named && (int64_t)calls[i].start_ns < l->floor_ns)
			l->floor_ns = (int64_t)calls[i].start_ns;
	}
}

static void on_open_at_end(void *ctx, const struct wire_open *head, const struct wire_thread *who,
			   const struct wire_open_call *calls)
{
	struct looking *l = ctx;
	struct decode_thread made;

	for (uint32_t i = 0; i < head->ncalls; i++)
		if ((int64_t)calls[i].start_ns < l->now_ns)
			write_open(l, thread_of(l, head, who, &made), &calls[i]);
}

int open_call_list_look(struct open_call_list *o, struct probe_session *s,
			struct wire_decoder *wire, struct ige_writer *wr, int64_t now_ns,
			uint64_t hung_ns, bool at_end, int64_t *floor_ns, struct err *e)
{
	struct looking l = { .o = o,
			     .wire = wire,
			     .wr = wr,
			     .now_ns = now_ns,
			     .floor_ns = now_ns - SLACK_NS,
			     .hung_ns = hung_ns,
			     .at_end = at_end,
			     .e = e };
	int rc;

	o->open = 0;
	o->looks++;
	rc = probe_session_open_calls(s, on_open_calls, &l, e);
	if (l.floor_ns > *floor_ns)
		*floor_ns = l.floor_ns;
	return rc ? rc : l.rc;
}

int open_call_list_tell(struct probe_session *s, struct wire_decoder *wire, struct ige_writer *wr,
			int64_t until_ns, struct err *e)
{
	struct looking l = { .wire = wire, .wr = wr, .now_ns = until_ns, .at_end = true, .e = e };
	int rc = probe_session_open_calls(s, on_open_at_end, &l, e);

	return rc ? rc : l.rc;
}

void open_call_list_again(struct open_call_list *o)
{
	struct map open = { 0 };
	uint64_t key, seen;
	size_t at = 0;

	while (map_each(&o->named, &at, &key, &seen))
		if (seen >> 32 == o->looks)
			map_put(&open, key, seen);
	map_free(&o->named);
	o->named = open;
	o->file++;
}

void open_call_list_free(struct open_call_list *o)
{
	map_free(&o->named);
}
