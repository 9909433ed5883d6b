/* SPDX-License-Identifier: Apache-2.0 */
/* Sums what the kernel saw of waits for locks, by who left. */
#include "lib/account/loss_queue.h"

#include <inttypes.h>

#include "lib/account/finding_details.h"
#include "lib/account/names.h"
#include "lib/base/fmt.h"

/* Whether the thread is one of those that the culprit names. */
static bool is_culprit(const struct loss_view *f, uint32_t thread)
{
	const struct world_thread *t = world_get_thread(f->c->w, thread);

	for (uint32_t i = 0; t && i < f->who->npids && i < CULPRIT_PIDS; i++)
		if (f->who->pids[i] == t->tid)
			return true;
	return false;
}

uint64_t loss_queued_ns(const struct loss_view *f)
{
	const struct tally_process *p = tally_process_known(&f->c->tally, f->loss->process);
	uint64_t sum = 0;

	if (!p || !f->who || f->who->kind != CULPRIT_HOLDER || f->who->process != f->loss->process)
		return 0;
	for (size_t i = 0; i < p->threads.n; i++)
		if (is_culprit(f, p->threads.v[i]))
			sum += path_tracks_queued_ns(f->c->tracks, p->threads.v[i]);
	return sum >= f->loss->ns ? sum : 0;
}

void loss_queue_print(const struct loss_view *f, struct buf *out)
{
	uint64_t queued = loss_queued_ns(f);

	if (queued)
		buf_printf(out, "; threads take turns at a lock, others waited %s in all for it",
			   fmt_ns(queued).s);
}

void loss_queue_recommend(const struct loss_view *f, struct finding *to)
{
	struct buf where = { 0 };

	if (!loss_queued_ns(f))
		return;
	if (f->loss->of.idle.line.frame) {
		buf_puts(&where, " in ");
		name_frame(&where, f->c->w, f->loss->of.idle.line.frame);
	}
	detect_recommend(
		f, to,
		details_print(to,
			      "Hold the lock for less time%s, or have several: %s take turns at "
			      "it, and more of them gain nothing",
			      buf_text(&where), f->culprit),
		details_print(to, "sudo gdb -p %" PRIu32 " -batch -ex 'thread apply all bt'",
			      f->victim_pid),
		0,
		"from nothing, if only one can do it at a time, to all of the wait; the command "
		"shows who waits for the lock");
	buf_free(&where);
}
