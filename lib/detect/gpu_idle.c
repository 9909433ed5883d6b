/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step-stall: the steps of a loop waited for something that is no work of the job, and for the most
 * part it is not known whether the device had work meanwhile. gpu-idle: the device had nothing to
 * do, because the thread that would have given it work computed, slept, or waited for somebody.
 * Reports those intervals of a track that lie in gaps of the device (lib/gpustate/gaps.h) and
 * belong to no other kind: what was taken from the thread, or from one that it waited for, is a
 * finding of that kind. Not this: time inside calls, the short gaps of a sync-storm, waits for
 * somebody to ask for something, processes that never submit work, and a device that is never seen
 * without work.
 */
#include "lib/detect/detect_internal.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/fmt.h"
#include "lib/account/finding_details.h"
#include "lib/account/idle_text.h"
#include "lib/account/loss_queue.h"
#include "lib/account/loss_early.h"
#include "lib/account/loss_gaps.h"
#include "lib/account/names.h"
#include "lib/advice/idle_advice.h"
#include "lib/world/known_work.h"

/* Of the time without work: what has less may be one of many small things. */
#define MIN_OF_IDLE    0.20
#define MIN_SHARE_SELF 0.02 /* what a step has to do between two others is less */
/* Gaps this short on average are those few lines, too, on a CPU whose caches others use: measured,
 * 60 us then take 120 to 145. They are reported where they are a larger part of the time, as in a
 * loop of short steps. */
#define SHORT_SELF_NS	250000
#define MIN_SHARE_SHORT 0.05
#define MIN_STALL_NS	1000000000 /* shorter ones are a step that the recording cut off */
/* Waits in steps, whatever the device did: of the steps, and what a replay without them gains. */
#define MIN_STEP_STALL 0.05
#define MIN_ONCE       0.1
#define MIN_GAIN       0.2
/* No turn of a loop that waits for the next one by a clock takes so long. */
#define LONG_TURN_NS 1000000000

/* ---- whether it is reported ---- */

/* The process has a finding of kind hang. */
static bool is_stuck(const struct cause *c, uint32_t process)
{
	return c->ended && process < c->tally.processes.n && c->tally.processes.v[process].stuck;
}

static double min_share(const struct loss *x)
{
	if (!idle_is_own_code(x))
		return 0;
	return x->ns < x->count * SHORT_SELF_NS ? MIN_SHARE_SHORT : MIN_SHARE_SELF;
}

/* Code that a good step may have is not grave. Sleeps that are known to be added to the work count;
 * those that may keep a pace are not grave, unless they are another thread's that was waited for;
 * those that do are no incident. Nor are waits of which it is not known whether somebody was asked.
 */
static uint32_t get_severity(const struct loss *x, double share)
{
	bool beside = x->sort & LOSS_BESIDE;
	uint32_t all = cause_severity(share * loss_later_share(x)), added;

	if (x->sort & LOSS_PACED || (x->sort & LOSS_OUTSIDE && !beside))
		return 1;
	if (x->of.idle.partly && all > 2)
		return 2;
	if (idle_state(x) != PART_SLEEP || beside || all <= 2)
		return all;
	added = x->ns ? cause_severity(share * (double)x->of.idle.added_ns / (double)x->ns) : 0;
	return added > 2 ? added : 2;
}

/* Whether a step would be shorter without it, by one end or the other: it may wait for the device
 * instead. */
static bool is_gained(const struct cause *c, const struct loss *x)
{
	const struct loss_gain *g = gains_of(c, x);
	const int64_t *ns = g ? g->of.spans_ns : NULL;
	double least = g ? MIN_GAIN * (double)g->of.spans_path_ns : 0;

	return !g || (double)ns[REPLAY_CAUTIOUS] >= least || (double)ns[REPLAY_HOPEFUL] >= least;
}

/* What is imported or compiled is so once. Code of its own may be any part of a good step. */
static double min_stall(const struct loss *x)
{
	return idle_work(x) == KNOWN_WORK_IMPORTS || idle_work(x) == KNOWN_WORK_COMPILES ? MIN_ONCE
	       : idle_is_own_code(x) && !idle_work(x) ? STEP_STALL_OWN
						      : MIN_STEP_STALL;
}

/* A wait that is a good part of the steps is worth a look beside a larger one. What a step computes
 * besides is so as a large part of what is idle only. */
static bool is_one_of_many(const struct loss *x, double share)
{
	return share < MIN_STEP_STALL || idle_is_own_code(x);
}

static bool is_significant(const struct cause *c, const struct loss *x, uint64_t count,
			   double share)
{
	const struct loss_gaps *p = loss_gaps_of(c, x->process);
	bool at_most = x->sort & LOSS_AT_MOST;

	/* A device that nobody waits for may work meanwhile. */
	if (x->of.idle.whole && p->ns[1] && !p->ns[0])
		return false;
	if (c->ended)
		share *= loss_later_share(x);
	if (x->of.idle.whole)
		return share >= min_stall(x) && get_severity(x, share) > 1 && is_gained(c, x);
	if (share < min_share(x) ||
	    (is_one_of_many(x, share) && (double)x->ns < MIN_OF_IDLE * (double)p->ns[at_most]))
		return false;
	/* Whether nobody ever waits for the device is known in the end, and what the program
	 * computes meanwhile says nothing then: the device works. */
	if (at_most && !c->lost_time.partial && (!c->ended || p->ns[0] || idle_is_own_code(x)))
		return false;
	/* How long one that had not ended would have lasted is not known: few of them are the steps
	 * cut off, and a long one is enough, as the program stands still. */
	if (idle_is_unended(x) && is_stuck(c, x->process))
		return false;
	if (idle_is_unended(x) && count < c->opt.min_count && !x->revision)
		return c->ended && x->of.idle.unended_ns >= MIN_STALL_NS;
	/* Whether sleeps, and waits that run out, keep a pace takes a while to be known: until then
	 * they are no incident. */
	if (!c->ended && idle_state(x) == PART_SLEEP && !(x->sort & LOSS_PACED) &&
	    !x->of.idle.added_ns)
		return false;
	if (!c->ended && x->sort & LOSS_RAN_OUT && count < PACE_LEAST &&
	    x->longest_ns < LONG_TURN_NS)
		return false;
	return cause_often(c, count, x->ns,
			   c->ended ? cause_wall_ns(c) : (uint64_t)TALLY_PANES * TALLY_PANE_NS);
}

/* ---- what is said ---- */

static void print_killed(const struct cause *c, const struct cause_killed_one *child,
			 struct buf *out)
{
	buf_puts(out, "; its child ");
	name_victim(out, c->w, &c->tally, child->process);
	buf_printf(out, " ended %s before, ", fmt_ns((uint64_t)(c->end_ns - child->time_ns)).s);
	name_end(out, child->status);
}

static void print_summary(const struct loss_view *f, struct buf *out)
{
	const struct cause_killed_one *child = idle_killed_child(f);
	const struct loss_gaps *p = loss_gaps_of(f->c, f->loss->process);
	struct idle_line line = idle_line_find(f);

	if (f->loss->of.idle.whole)
		buf_printf(out, "%s %s ", f->victim,
			   idle_is_own_code(f->loss) ? "spent" : "waited");
	else
		buf_printf(out, "%s left %s without work for ", f->victim,
			   p->gpus ? "its GPUs" : "the GPU");
	detect_amount(f, out);
	buf_puts(out, idle_is_unended(f->loss) ? " until the end: " : ": ");
	idle_text_print(f, &line, out);
	loss_queue_print(f, out);
	if (child)
		print_killed(f->c, child, out);
}

static void add_evidence(const struct loss_view *f, struct finding *to)
{
	const struct loss_gaps *p = loss_gaps_of(f->c, f->loss->process);
	struct idle_line line = idle_line_find(f);
	struct buf text = { 0 };

	idle_text_print(f, &line, &text);
	to->culprit.text = details_take(to, &text);
	buf_free(&text);
	if (!f->who)
		to->culprit.kind = bytes_of(idle_is_unknown(f, &line) ? "none" : "code");
	details_add_number(to, "longest stretch", (double)f->loss->longest_ns, "ns");
	if (f->loss->of.idle.whole && f->loss->idle_ns)
		details_add_number(to, "of it, while the GPU is known to have had no work",
				   (double)f->loss->idle_ns, "ns");
	details_add_number(to, "time without work in all",
			   (double)p->ns[f->loss->sort & LOSS_AT_MOST ? 1 : 0], "ns");
	if (f->c->lost_time.partial)
		details_add_number(to, "share of the calls that was recorded",
				   100 * cause_recorded(f->c), "%");
}

static bool is_whole(const struct cause *c, const struct loss *x)
{
	(void)c;
	return x->of.idle.whole;
}

#define IDLE                                                                             \
	.family = LOSS_IDLE, .summary = print_summary, .recommend = idle_advice_add, \
	.evidence = add_evidence, .matters = is_significant, .severity = get_severity,   \
	.nobody = "its own code", .counted = "stretches"

const struct loss_detector detect_step_stall = {
	.kind = "step-stall", IDLE, .is = is_whole, .moment = "a step stood still"
};

const struct loss_detector detect_gpu_idle = { .kind = "gpu-idle",
					       IDLE,
					       .moment = "the device had nothing to do" };
