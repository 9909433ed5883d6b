/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock-wait: threads wait for a mutex that another thread holds, or for the lock of a CPython interpreter. Proven by the
 * futex command and value, or by an address that is the interpreter's, and by who released it. Not this: threads waiting
 * for work on a condition, semaphore or barrier, holders that were themselves kept from running (that is whoever kept
 * them), and what waits for the interpreter while the thread that feeds the device has it.
 */
#include "lib/cause/detect/kinds.h"

#include <inttypes.h>

#include "lib/base/human.h"
#include "lib/cause/names.h"

static bool moves_on(const struct cause *c, const struct tally_group *g)
{
	const struct line_culprit *who = culprit_get(c->tally.culprits, g->culprit);
	uint64_t not_lost = 0;

	for (size_t i = 0; i < g->rows.n; i++) {
		const struct tally_row *r = &c->tally.rows.v[g->rows.v[i]];

		not_lost += tally_moves_on(&c->tally, r->thread, who) ? r->ns : 0;
	}
	return not_lost > g->ns / 2;
}

static bool is(const struct cause *c, const struct tally_group *g)
{
	return g->part_ns[PART_LOCK] > 0 && !moves_on(c, g);
}

/* The frame in which the holder was most while others waited, for *ns of it; 0: not known. */
static uint32_t held_in(const struct finding *f, uint64_t *ns)
{
	uint32_t best = 0;

	*ns = 0;
	for (unsigned i = 0; f->who && i < CULPRIT_PLACES; i++) {
		uint32_t frame = name_site_frame(f->c->w, f->who->at[i].stack);
		uint64_t sum = 0;

		for (unsigned k = 0; k < CULPRIT_PLACES; k++) {
			if (f->who->at[k].ns &&
			    name_site_frame(f->c->w, f->who->at[k].stack) == frame)
				sum += f->who->at[k].ns;
		}
		if (f->who->at[i].ns && frame && sum > *ns) {
			best = frame;
			*ns = sum;
		}
	}
	return best;
}

static void summary(const struct finding *f, struct buf *out)
{
	bool gil = f->who && f->who->gil;
	uint64_t ns;
	uint32_t frame = held_in(f, &ns);

	buf_printf(out, "%s held %s that %s waited for, ", f->culprit,
		   gil ? "Python's interpreter lock (GIL)" : "a lock", f->victim);
	detect_amount(f, out);
	detect_where(f, out);
	if (frame) {
		buf_puts(out, "; the holder was in ");
		name_frame(out, f->c->w, frame);
	}
}

static void evidence(const struct finding *f, struct jsonw *j)
{
	struct buf what = { 0 };
	uint64_t ns;
	uint32_t frame = held_in(f, &ns);

	if (!frame)
		return;
	buf_puts(&what, "of the waiting, as far as it was seen, the holder was in ");
	name_frame(&what, f->c->w, frame);
	jsonw_object_begin(j);
	name_key(j, "what", &what);
	jsonw_key_u64(j, "value", ns);
	jsonw_key_str(j, "unit", "ns");
	jsonw_object_end(j);
	buf_free(&what);
}

static void recommend(const struct finding *f, struct jsonw *j)
{
	struct buf action = { 0 }, command = { 0 };

	if (f->who && f->who->gil) {
		buf_printf(&action,
			   "Let %s work in a process of its own, or in code that lets go of the "
			   "interpreter",
			   f->culprit);
		buf_printf(&command, "ingero-record -F 99 -p %" PRIu32 " --duration 10s",
			   f->victim_pid);
		detect_recommend(f, j, buf_text(&action), buf_text(&command), 0,
				 "from nothing, if the thread has to wait for its result, to all "
				 "of the wait; the command shows the holder's lines");
		goto out;
	}
	buf_printf(&action,
		   "Hold the lock for less time in %s: move its work out of the critical section",
		   f->culprit);
	buf_printf(&command, "gdb -p %" PRIu32 " -batch -ex 'thread apply all bt'", f->victim_pid);
	detect_recommend(f, j, buf_text(&action), buf_text(&command), 0,
			 "from nothing, if the work must stay inside, to all of the wait; the "
			 "command shows what the holder does");
out:
	buf_free(&action);
	buf_free(&command);
}

const struct detector detect_lock_wait = { "lock-wait", FAMILY_LOCK, is,
					   summary,	recommend,   evidence };
