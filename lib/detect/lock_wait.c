/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock-wait: threads wait for a mutex, for a CPython interpreter's lock or for that of the memory
 * map, which another thread holds. Proven by the futex command and value, by the interpreter's
 * address or by the kernel's own lock, and by who released it. Not this: threads waiting for work
 * on a condition, semaphore or barrier, holders that were themselves kept from running (that is
 * whoever kept them), and what waits for the interpreter while the thread that feeds the device has
 * it. What a holder waits for that is neither a disk, a page nor another lock is its own affair,
 * and told with it.
 */
#include "lib/detect/detect_internal.h"

#include <inttypes.h>

#include "lib/account/finding_details.h"
#include "lib/account/names.h"
#include "lib/world/own_site.h"
#include "lib/world/waiter_call.h"

/* Of the waiting: what a holder waits for now and then does not say why it holds; nor do samples of
 * a moment, of what it computes. */
#define MOST 0.5
#define SEEN 0.1

/* Where the holder was most while others waited, in which state, and for how much of it. */
struct held {
	enum part part;
	uint32_t frame, inner; /* of its own code, and what that called (own_site.h); 0 not known */
	uint32_t site;	       /* frame of its call site, as attrib/peers.h has it */
	uint64_t ns;	       /* 0: nothing is known */
	uint32_t process;
};

static struct held held_in(const struct loss_view *f)
{
	struct held best = { 0 };

	for (unsigned i = 0; f->who && i < CULPRIT_PLACES; i++) {
		const struct culprit_place *at = &f->who->at[i];
		struct own_site own = own_site_of(f->c->w, at->stack);
		struct held x = { at->part,  own.frame,
				  own.inner, name_site_frame(f->c->w, at->stack),
				  0,	     f->who->process };

		for (unsigned k = 0; k < CULPRIT_PLACES; k++) {
			const struct culprit_place *same = &f->who->at[k];

			if (same->ns && same->part == x.part &&
			    own_site_of(f->c->w, same->stack).frame == x.frame)
				x.ns += same->ns;
		}
		if (at->ns && x.ns > best.ns && (x.frame || x.part != PART_SELF) &&
		    (double)x.ns >= (x.part == PART_SELF ? SEEN : MOST) * (double)f->lost_ns)
			best = x;
	}
	return best;
}

/* "was in tokenize (data.py:31)", "slept in retry (store.py:12)" */
static void held_text(const struct loss_view *f, const struct held *x, struct buf *out)
{
	const char *was = x->part == PART_SELF ? "was" : detect_was(x->part);

	buf_puts(out, was ? was : "waited");
	if (x->part == PART_SOCKET)
		cause_peers_text(&f->c->peers, x->process, x->site, out);
	if (x->frame) {
		buf_puts(out, " in ");
		name_frame(out, f->c->w, x->frame);
	}
}

static void print_summary(const struct loss_view *f, struct buf *out)
{
	static const char *const locks[] = { [LOCK_OTHER] = "a lock",
					     [LOCK_GIL] = "Python's interpreter lock (GIL)",
					     [LOCK_MAP] = "the memory map's lock (mmap_lock)" };
	struct held at = held_in(f);

	buf_printf(out, "%s held %s that %s waited for, ", f->culprit,
		   locks[f->who ? f->who->lock : LOCK_OTHER], f->victim);
	detect_amount(f, out);
	detect_where(f, out);
	if (at.ns) {
		buf_puts(out, "; the holder ");
		held_text(f, &at, out);
	}
}

static void add_evidence(const struct loss_view *f, struct finding *to)
{
	struct held at = held_in(f);
	struct buf what = { 0 };

	if (!at.ns)
		return;
	buf_puts(&what, "of the waiting, as far as it was seen, the holder ");
	held_text(f, &at, &what);
	details_add_number(to, details_text(to, &what), (double)at.ns, "ns");
}

static void add_recommendations(const struct loss_view *f, struct finding *to)
{
	const struct world_process *holder =
		world_get_process(f->c->w, f->who ? f->who->process : f->loss->process);

	if (f->who && f->who->lock == LOCK_GIL)
		detect_recommend_interpreter(f, to);
	else
		detect_recommend(
			f, to,
			f->who && f->who->lock == LOCK_MAP
				? waiter_call_advice(WAITER_MAPS)
				: details_print(
					  to,
					  "Hold the lock for less time in %s: move its %s out "
					  "of the critical section",
					  f->culprit,
					  held_in(f).part != PART_SELF ? "waiting" : "work"),
			details_print(to,
				      "sudo gdb -p %" PRIu32 " -batch -ex 'thread apply all bt'",
				      holder ? holder->tgid : f->victim_pid),
			0,
			"from nothing, if the work must stay inside, to all of the wait; "
			"the command shows what the holder does");
}

const struct loss_detector detect_lock_wait = { .kind = "lock-wait",
						.family = LOSS_LOCK,
						.summary = print_summary,
						.recommend = add_recommendations,
						.evidence = add_evidence };
