/* SPDX-License-Identifier: Apache-2.0 */
/* Says what a program did while its device had nothing to do, or in the waits of its steps. */
#include "lib/account/idle_text.h"

#include "lib/account/loss_gaps.h"
#include "lib/account/loss_places.h"
#include "lib/account/meanwhile.h"
#include "lib/account/names.h"
#include "lib/tracks/reason.h"
#include "lib/tracks/track_names.h"
#include "lib/world/event_loop.h"
#include "lib/world/frame_parts.h"

/* CPU samples of so much of its own code say where that is. */
#define MIN_SAMPLED 0.1
/* A line with less of it is not the only one worth a look. */
#define MAIN_SHARE 0.9

enum part idle_state(const struct loss *x)
{
	return (enum part)(x->sort & LOSS_STATE);
}

enum known_work idle_work(const struct loss *x)
{
	return (enum known_work)(x->sort >> LOSS_WORK_SHIFT);
}

bool idle_is_own_code(const struct loss *x)
{
	return idle_state(x) == PART_SELF && !(x->sort & LOSS_BESIDE);
}

bool idle_is_unended(const struct loss *x)
{
	return x->of.idle.unended_ns > x->ns / 2;
}

/* ---- where it was ---- */

static uint32_t frame_of(const struct loss_view *f, uint32_t stack)
{
	uint32_t task = f->loss->sort & LOSS_EVENT_LOOP ? event_loop_task(f->c->w, stack) : 0;

	return task ? task : name_site_frame(f->c->w, stack);
}

/* What counts of a place. */
static uint64_t weight_of(const struct where_place *p, bool sampled)
{
	return sampled ? p->sampled_ns : p->lost_ns;
}

/* The function with most of it, and its line with most of that. */
struct idle_line idle_line_find(const struct loss_view *f)
{
	struct where_place v[LOSS_PLACES];
	unsigned n = loss_places(f->c, f->loss, v);
	uint64_t found = 0, most = 0, all;
	struct idle_line best = { 0 };

	for (unsigned i = 0; i < n; i++)
		found += v[i].sampled_ns;
	best.sampled = idle_is_own_code(f->loss) &&
		       (double)found >= MIN_SAMPLED * (double)f->loss->ns && found;
	all = best.sampled ? found : f->loss->ns;
	for (unsigned i = 0; i < n; i++) {
		uint32_t frame = frame_of(f, v[i].stack);
		uint64_t ns = 0, line = 0;

		for (unsigned k = 0; k < n && frame; k++) {
			uint32_t other = frame_of(f, v[k].stack);
			uint64_t more = weight_of(&v[k], best.sampled);

			if (!other || !place_same_function(f->c->w, frame, other))
				continue;
			ns += more;
			line = more > line ? more : line;
		}
		if (ns <= most || weight_of(&v[i], best.sampled) < line)
			continue;
		most = ns;
		best.frame = frame;
		best.stack = v[i].stack;
	}
	best.share = all ? (double)most / (double)all : 0;
	return best;
}

/* ---- what is said ---- */

static const char *doing_text(const struct loss *x)
{
	static const char *const texts[PART_COUNT] = {
		[PART_SELF] = "its own code",
		[PART_SLEEP] = "a sleep",
		[PART_SOCKET] = "waiting for a socket",
		[PART_POLL] = "waiting in poll",
		[PART_IDLE] = "waiting for another thread",
		[PART_FD] = "waiting for a pipe or file",
		[PART_CHILD] = "waiting for a child process",
	};
	enum part part = idle_state(x);

	if (known_work_text(idle_work(x)))
		return known_work_text(idle_work(x));
	if (loss_polls(x))
		return "polling";
	if (x->sort & LOSS_EVENT_LOOP)
		return x->sort & LOSS_RAN_OUT || part == PART_SLEEP
			       ? "its event loop waiting for a timer"
			       : "its event loop waiting for a socket or descriptors";
	if (x->sort & LOSS_WRITES)
		return part == PART_SOCKET ? "sending to a socket" : "writing to a pipe or file";
	return texts[part] ? texts[part] : "blocked in the kernel";
}

bool idle_is_unknown(const struct loss_view *f, const struct idle_line *line)
{
	return idle_is_own_code(f->loss) && cause_blind(f->c) && !line->sampled;
}

/* The calls around it are those that happened to be recorded: they tell nothing. */
static bool has_line(const struct loss_view *f, const struct idle_line *line)
{
	return line->frame &&
	       (line->sampled || !idle_is_own_code(f->loss) || !f->c->lost_time.partial);
}

static void print_share(const struct idle_line *line, struct buf *out)
{
	if (line->share < MAIN_SHARE)
		buf_printf(out, " (%.0f%%) and elsewhere", line->share * 100);
}

/* "waiting for loader (pid 200), which slept in fetch (data.py:31)" */
static void print_beside(const struct loss_view *f, const struct idle_line *line, struct buf *out)
{
	const struct loss *x = f->loss;
	const char *was = loss_polls(x) ? "polled" : detect_was(idle_state(x));

	buf_puts(out, "waiting ");
	if (line->frame) {
		buf_puts(out, "in ");
		name_frame(out, f->c->w, line->frame);
		print_share(line, out);
		buf_putc(out, ' ');
	}
	buf_printf(out, "for %s, which %s", f->culprit, was ? was : "did something else");
	if (idle_state(x) == PART_SOCKET)
		cause_peers_text(&f->c->peers, f->who ? f->who->process : 0, x->of.idle.line.frame,
				 out);
	if (x->of.idle.line.frame) {
		buf_puts(out, " in ");
		name_frame(out, f->c->w, x->of.idle.line.frame);
	}
}

/* " between read_loss (train.py:80) and copy_batch (train.py:31)", or " after ..." */
static void print_between(const struct loss_view *f, const struct idle_line *line, struct buf *out)
{
	const struct loss_gaps *p = loss_gaps_of(f->c, f->loss->process);
	uint32_t since = name_site_frame(f->c->w, p->between.since_stack),
		 until = name_site_frame(f->c->w, p->between.until_stack);

	if (since == line->frame && until) {
		buf_puts(out, " between ");
		name_frame(out, f->c->w, since);
		buf_puts(out, " and ");
		name_frame(out, f->c->w, until);
		return;
	}
	buf_puts(out, " after ");
	name_frame(out, f->c->w, line->frame);
	print_share(line, out);
}

/* "a sleep in fetch (train.py:31)", "waiting for a pipe or file, ended by pt_data_worker, in ...",
 * "waiting for a socket to 192.0.2.1:80 in ..." */
static void print_own(const struct loss_view *f, const struct idle_line *line, struct buf *out)
{
	bool before;

	buf_puts(out, doing_text(f->loss));
	if (idle_state(f->loss) == PART_SOCKET)
		cause_peers_text(&f->c->peers, f->loss->process, line->frame, out);
	if (f->who) {
		buf_puts(out, ", ended by ");
		name_culprit(out, f->c->w, &f->c->tally, f->who);
		buf_putc(out, ',');
	} else if (f->loss->sort & LOSS_RAN_OUT && !(f->loss->sort & LOSS_EVENT_LOOP)) {
		buf_puts(out, ", until its time ran out,");
	}
	if (!has_line(f, line))
		return;
	if (idle_is_own_code(f->loss) && !line->sampled) {
		print_between(f, line, out);
		return;
	}
	before = f->loss->sort & LOSS_EVENT_LOOP && event_loop_task(f->c->w, line->stack);
	buf_puts(out, before ? " before " : " in ");
	if (line->sampled)
		track_names_print_met(out, f->c->w, line->stack, line->frame);
	else
		name_frame(out, f->c->w, line->frame);
	print_share(line, out);
}

void idle_text_print(const struct loss_view *f, const struct idle_line *line, struct buf *out)
{
	bool beside = f->loss->sort & LOSS_BESIDE && f->who;

	if (beside)
		print_beside(f, line, out);
	else if (idle_is_unknown(f, line))
		buf_puts(out, "what its thread did then is not recorded");
	else
		print_own(f, line, out);
	if (loss_polls(f->loss)) {
		reason_print_poll(out, &f->loss->of.idle.poll);
		buf_puts(out, ", for what is not known");
		meanwhile_print(f->c, f->loss, out);
	}
	if (f->loss->sort & LOSS_PACED)
		buf_puts(out, beside ? ", to keep a pace" : ", which keeps a pace");
	if (f->loss->sort & LOSS_OUTSIDE && !f->who)
		buf_puts(out, ", from outside; whether it had asked is not known");
}

/* Of waits for an acknowledgement that TCP delays: so many, so long, and no longer on average or at
 * most. */
#define DELAYED_LEAST	10
#define DELAYED_NS	40e6
#define DELAYED_MOST	1.15
#define DELAYED_LONGEST 1.5

bool idle_is_delayed_ack(const struct loss *x)
{
	double n = (double)x->of.idle.waits, mean = n > 0 ? (double)x->ns / n : 0;

	return n >= DELAYED_LEAST && mean > DELAYED_NS && mean < DELAYED_MOST * DELAYED_NS &&
	       (double)x->longest_ns < DELAYED_LONGEST * DELAYED_NS;
}
