/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-idle: the device had nothing to do, because the thread that would have given it work
 * computed, slept, or waited for somebody. Reports those intervals of a track that lie in gaps of
 * the device (lib/gpustate/gaps.h) and belong to no other kind: what was taken from the thread, or
 * from one that it waited for, is a finding of that kind. Not this: time inside calls, the short
 * gaps of a sync-storm, waits for somebody to ask for something, processes that never submit work,
 * and a device that is never seen without work.
 */
#include "lib/detect/kinds.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/fmt.h"
#include "lib/base/shell.h"
#include "lib/account/finding_details.h"
#include "lib/account/loss_gaps.h"
#include "lib/account/loss_places.h"
#include "lib/account/names.h"
#include "lib/account/sampling.h"
#include "lib/account/waiter_call.h"
#include "lib/stat/pace.h"
#include "lib/tracks/track_names.h"
#include "lib/world/event_loop.h"

/* Of the time without work: what has less is one of many small things. */
#define MIN_OF_IDLE    0.20
#define MIN_SHARE_SELF 0.02 /* what a step has to do between two others is less */
/* Gaps this short on average are those few lines, too, on a CPU whose caches others use: measured,
 * 60 us then take 120 to 145. They are reported where they are a larger part of the time, as in a
 * loop of short steps. */
#define SHORT_SELF_NS	250000
#define MIN_SHARE_SHORT 0.05
#define MIN_STALL_NS	1000000000 /* shorter ones are a step that the recording cut off */
/* No turn of a loop that waits for the next one by a clock takes so long. */
#define LONG_TURN_NS 1000000000
/* CPU samples of so much of its own code say where that is. */
#define MIN_SAMPLED 0.1
/* A line with less of it is not the only one worth a look. */
#define MAIN_SHARE 0.6

static enum part state_of(const struct loss *x)
{
	return (enum part)(x->sort & LOSS_STATE);
}

static bool is_own_code(const struct loss *x)
{
	return state_of(x) == PART_SELF && !(x->sort & LOSS_BESIDE);
}

/* ---- whether it is reported ---- */

/* Most of it lies in a wait that had not ended. */
static bool is_mostly_unended(const struct loss *x)
{
	return x->of.idle.unended_ns > x->ns / 2;
}

/* The process has a finding of kind hang. */
static bool is_stuck(const struct cause *c, uint32_t process)
{
	return c->ended && process < c->tally.processes.n && c->tally.processes.v[process].stuck;
}

static double min_share(const struct loss *x)
{
	if (!is_own_code(x))
		return 0;
	return x->ns < x->count * SHORT_SELF_NS ? MIN_SHARE_SHORT : MIN_SHARE_SELF;
}

static bool is_significant(const struct cause *c, const struct loss *x, uint64_t count,
			   double share)
{
	const struct loss_gaps *p = loss_gaps_of(c, x->process);
	bool at_most = x->sort & LOSS_AT_MOST;

	if (share < min_share(x) || (double)x->ns < MIN_OF_IDLE * (double)p->ns[at_most])
		return false;
	/* Whether nobody ever waits for the device is known in the end, and what the program
	 * computes meanwhile says nothing then: the device works. */
	if (at_most && !c->lost_time.partial && (!c->ended || p->ns[0] || is_own_code(x)))
		return false;
	/* How long one that had not ended would have lasted is not known: few of them are the steps
	 * cut off, and a long one is enough, as the program stands still. */
	if (is_mostly_unended(x) && is_stuck(c, x->process))
		return false;
	if (is_mostly_unended(x) && count < c->opt.min_count && !x->revision)
		return c->ended && x->of.idle.unended_ns >= MIN_STALL_NS;
	/* Whether sleeps, and waits that run out, keep a pace takes a while to be known: until then
	 * they are no incident. */
	if (!c->ended && state_of(x) == PART_SLEEP && !(x->sort & LOSS_PACED) &&
	    !x->of.idle.added_ns)
		return false;
	if (!c->ended && x->sort & LOSS_RAN_OUT && count < PACE_LEAST &&
	    x->longest_ns < LONG_TURN_NS)
		return false;
	return cause_often(c, count, x->ns,
			   c->ended ? cause_wall_ns(c) : (uint64_t)TALLY_PANES * TALLY_PANE_NS);
}

/* Sleeps that are known to be added to the work count; those that may keep a pace are not grave,
 * unless they are another thread's that was waited for; those that do are no incident. Nor are
 * waits of which it is not known whether somebody was asked. */
static uint32_t get_severity(const struct loss *x, double share)
{
	bool beside = x->sort & LOSS_BESIDE;
	uint32_t all = cause_severity(share), added;

	if (x->sort & LOSS_PACED || (x->sort & LOSS_OUTSIDE && !beside))
		return 1;
	if (state_of(x) != PART_SLEEP || beside || all <= 2)
		return all;
	added = x->ns ? cause_severity(share * (double)x->of.idle.added_ns / (double)x->ns) : 0;
	return added > 2 ? added : 2;
}

/* ---- where it was ---- */

struct idle_line {
	uint32_t frame; /* 0 not known */
	uint32_t stack;
	double share; /* of those that say where */
	bool sampled; /* found there on the CPU */
};

static bool is_same_function(const struct cause *c, uint32_t a, uint32_t b)
{
	const struct world_frame *x = world_get_frame(c->w, a), *y = world_get_frame(c->w, b);
	const struct world_symbol *s = world_get_symbol(c->w, a), *t = world_get_symbol(c->w, b);

	if (a == b)
		return true;
	if (!x || !y || x->kind != y->kind)
		return false;
	if (x->kind == FRAME_PYTHON)
		return x->file == y->file && x->name == y->name;
	return s && t && x->module == y->module && s->name == t->name;
}

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
static struct idle_line find_line(const struct loss_view *f)
{
	struct where_place v[LOSS_PLACES];
	unsigned n = loss_places(f->c, f->loss, v);
	uint64_t found = 0, most = 0, all;
	struct idle_line best = { 0 };

	for (unsigned i = 0; i < n; i++)
		found += v[i].sampled_ns;
	best.sampled =
		is_own_code(f->loss) && (double)found >= MIN_SAMPLED * (double)f->loss->ns && found;
	all = best.sampled ? found : f->loss->ns;
	for (unsigned i = 0; i < n; i++) {
		uint32_t frame = frame_of(f, v[i].stack);
		uint64_t ns = 0, line = 0;

		for (unsigned k = 0; k < n && frame; k++) {
			uint32_t other = frame_of(f, v[k].stack);
			uint64_t more = weight_of(&v[k], best.sampled);

			if (!other || !is_same_function(f->c, frame, other))
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
	enum part part = state_of(x);

	if (x->sort & LOSS_EVENT_LOOP)
		return x->sort & LOSS_RAN_OUT || part == PART_SLEEP
			       ? "its event loop waiting for a timer"
			       : "its event loop waiting for a socket or descriptors";
	if (x->sort & LOSS_WRITES)
		return part == PART_SOCKET ? "sending to a socket" : "writing to a pipe or file";
	return texts[part] ? texts[part] : "blocked in the kernel";
}

/* Neither waits nor samples say what the thread did. */
static bool is_unknown(const struct loss_view *f, const struct idle_line *line)
{
	return is_own_code(f->loss) && cause_blind(f->c) && !line->sampled;
}

/* The calls around it are those that happened to be recorded: they tell nothing. */
static bool has_line(const struct loss_view *f, const struct idle_line *line)
{
	return line->frame && (line->sampled || !is_own_code(f->loss) || !f->c->lost_time.partial);
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
	const char *was = detect_was(state_of(x));

	buf_puts(out, "waiting ");
	if (line->frame) {
		buf_puts(out, "in ");
		name_frame(out, f->c->w, line->frame);
		print_share(line, out);
		buf_putc(out, ' ');
	}
	buf_printf(out, "for %s, which %s", f->culprit, was ? was : "did something else");
	if (state_of(x) == PART_SOCKET)
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
	buf_puts(out, doing_text(f->loss));
	if (state_of(f->loss) == PART_SOCKET)
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
	if (is_own_code(f->loss) && !line->sampled) {
		print_between(f, line, out);
		return;
	}
	buf_puts(out, f->loss->sort & LOSS_EVENT_LOOP ? " before " : " in ");
	if (line->sampled)
		track_names_print_met(out, f->c->w, line->stack, line->frame);
	else
		name_frame(out, f->c->w, line->frame);
	print_share(line, out);
}

static void print_doing(const struct loss_view *f, struct buf *out)
{
	struct idle_line line = find_line(f);
	bool beside = f->loss->sort & LOSS_BESIDE && f->who;

	if (beside)
		print_beside(f, &line, out);
	else if (is_unknown(f, &line))
		buf_puts(out, "what its thread did then is not recorded");
	else
		print_own(f, &line, out);
	if (f->loss->sort & LOSS_PACED)
		buf_puts(out, beside ? ", to keep a pace" : ", which keeps a pace");
	if (f->loss->sort & LOSS_OUTSIDE && !f->who)
		buf_puts(out, ", from outside; whether it had asked is not known");
}

/* Who prepares batches has some in store when it ends. */
#define IN_STORE_NS 30000000000

/* It waits for ever, and a child of the process was killed before, or when less than half of the
 * wait was over: who ends the recording ends children, too. NULL otherwise. */
static const struct cause_killed_one *killed_child(const struct loss_view *f)
{
	const struct loss *x = f->loss;

	return is_mostly_unended(x) && state_of(x) != PART_SELF && state_of(x) != PART_SLEEP
		       ? cause_killed_child(&f->c->killed, f->c->w, x->process,
					    x->of.idle.unended_since_ns - IN_STORE_NS,
					    x->last_ns - (int64_t)(x->of.idle.unended_ns / 2))
		       : NULL;
}

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
	const struct cause_killed_one *child = killed_child(f);

	const struct loss_gaps *p = loss_gaps_of(f->c, f->loss->process);

	buf_printf(out, "%s left %s without work for ", f->victim,
		   p->gpus ? "its GPUs" : "the GPU");
	detect_amount(f, out);
	buf_puts(out, is_mostly_unended(f->loss) ? " until the end: " : ": ");
	print_doing(f, out);
	if (child)
		print_killed(f->c, child, out);
}

static void add_evidence(const struct loss_view *f, struct finding *to)
{
	const struct loss_gaps *p = loss_gaps_of(f->c, f->loss->process);
	struct idle_line line = find_line(f);
	struct buf text = { 0 };

	print_doing(f, &text);
	to->culprit.text = details_take(to, &text);
	buf_free(&text);
	if (!f->who)
		to->culprit.kind = bytes_of(is_unknown(f, &line) ? "none" : "code");
	details_add_number(to, "longest stretch", (double)f->loss->longest_ns, "ns");
	details_add_number(to, "time without work in all",
			   (double)p->ns[f->loss->sort & LOSS_AT_MOST ? 1 : 0], "ns");
	if (f->c->lost_time.partial)
		details_add_number(to, "share of the calls that was recorded",
				   100 * cause_recorded(f->c), "%");
}

/* ---- what to do ---- */

#define ONLY_SHOWS "it only shows what to look at"

static void recommend_code(const struct loss_view *f, struct finding *to,
			   const struct idle_line *line)
{
	if (is_unknown(f, line)) {
		detect_recommend(f, to, "Record what threads wait for, too: it takes root",
				 details_print(to, "sudo ingero-record -p %" PRIu32, f->victim_pid),
				 0, "from nothing to all of the gaps");
		return;
	}
	detect_recommend_code(
		f, to,
		"Do it while the device works: in worker processes or another thread, or between "
		"the launches of a step and its wait",
		name_python(f->c->w, line->stack)
			? "DataLoader(..., num_workers=4, pin_memory=True, prefetch_factor=4)"
			: "launch(now, stream); prepare(next); cudaStreamSynchronize(stream);",
		"from nothing, if the device's work depends on it, to all of the gaps");
	if (!line->sampled)
		details_add_fix(to, "See which lines they are: sample where it computes", "shell",
				sampling_command(f->c, f->victim_pid, to), 0, 0, ONLY_SHOWS);
}

/* A wait that had not ended, or that nobody ended before its time ran out. */
static void recommend_ended(const struct loss_view *f, struct finding *to)
{
	if (killed_child(f))
		detect_recommend(
			f, to,
			"Find out why that child ended: what it said last, and what the kernel did",
			"sudo dmesg -T | grep -iE 'killed process|segfault'", 0,
			"all of it, if that is whom the wait is for");
	else if (is_mostly_unended(f->loss))
		detect_recommend(
			f, to, "Find out who was to end that wait, and whether it still can",
			details_print(to,
				      "sudo gdb -p %" PRIu32 " -batch -ex 'thread apply all bt'",
				      f->victim_pid),
			0,
			"all of it, if it would never have ended; the command shows where all "
			"threads stand");
	else
		detect_recommend(
			f, to,
			"Find out who was to end that wait: nobody did before its time ran out. If "
			"it only keeps a pace, it is a sleep",
			details_print(
				to,
				"sudo strace -f -k -e trace=futex,poll,ppoll,select,epoll_wait "
				"-p %" PRIu32,
				f->victim_pid),
			0,
			"from nothing, if the pace is wanted, to all of the wait; the command "
			"shows who waits");
}

static void recommend_socket(const struct loss_view *f, struct finding *to,
			     const struct idle_line *line, uint32_t pid)
{
	bool beside = f->loss->sort & LOSS_BESIDE;
	uint32_t process = beside && f->who ? f->who->process : f->loss->process,
		 frame = beside ? f->loss->of.idle.line.frame : line->frame, server = 0;
	const char *peer = state_of(f->loss) == PART_SOCKET
				   ? cause_peers_top(&f->c->peers, process, frame, &server)
				   : NULL;
	struct buf command = { 0 };

	buf_puts(&command, peer ? "ss -tunpi dst " : "ss -tunpi | grep pid=");
	if (peer)
		shell_word(&command, bytes_of(peer));
	else
		buf_printf(&command, "%" PRIu32 ",", pid);
	detect_recommend(
		f, to,
		"Ask for the data before the device runs out of work, several requests at a time",
		details_text(to, &command), 0,
		"from nothing, if each request depends on the device, to all of the wait");
	if (server)
		details_add_fix(to, "See what the server does meanwhile", "shell",
				sampling_command_elsewhere(f->c, server, to), 0, 0, ONLY_SHOWS);
}

static void recommend_workers(const struct loss_view *f, struct finding *to,
			      const struct idle_line *line, uint32_t worker)
{
	detect_recommend(f, to, waiter_call_advice(waiter_call_of(f->c->w, line->stack)),
			 worker ? sampling_command(f->c, worker, to)
				: details_print(to, "sudo cat /proc/%" PRIu32 "/stack",
						f->victim_pid),
			 0, "from nothing, if the work cannot be done ahead, to all of the wait");
}

static void recommend_write(const struct loss_view *f, struct finding *to)
{
	if (state_of(f->loss) == PART_SOCKET)
		detect_recommend(
			f, to, "Send less, or from another thread: who receives does not keep up",
			details_print(to, "ss -tnpim | grep -A1 pid=%" PRIu32 ",", f->victim_pid),
			0,
			"from nothing, if it must be there before the next step, to all of the "
			"wait; the command shows what is not taken yet");
	else
		detect_recommend(
			f, to,
			"Write less, or from another thread: who reads it (a terminal, a pipe, a "
			"log shipper) does not keep up",
			details_print(to, "sudo ls -l /proc/%" PRIu32 "/fd", f->victim_pid), 0,
			"from nothing, if it must be out before the next step, to all of the "
			"wait; the command shows where it goes");
}

static void recommend_sleep(const struct loss_view *f, struct finding *to, uint32_t pid)
{
	const char *command = details_print(
		to, "sudo strace -f -k -e trace=nanosleep,clock_nanosleep -p %" PRIu32, pid);

	if (f->loss->sort & LOSS_PACED)
		detect_recommend(f, to,
				 "Raise its rate, or leave it where something outside asks for it: "
				 "whatever else gets faster, it only sleeps longer",
				 command, 0,
				 "nothing, if the pace is wanted; the command shows the sleeps");
	else
		detect_recommend(
			f, to,
			f->loss->sort & LOSS_BESIDE
				? "Let it do its work when there is some, instead of sleeping"
				: "Wait for what the sleep waits for, instead of sleeping",
			command, 0,
			"from nothing, if the sleep is wanted, to all of it; the command "
			"shows who sleeps");
}

static void recommend_wait(const struct loss_view *f, struct finding *to,
			   const struct idle_line *line)
{
	const struct world_process *w = f->who ? world_get_process(f->c->w, f->who->process) : NULL;
	uint32_t worker = w ? w->tgid : 0, pid = worker ? worker : f->victim_pid;
	bool beside = f->loss->sort & LOSS_BESIDE;

	switch (state_of(f->loss)) {
	case PART_SLEEP:
		recommend_sleep(f, to, pid);
		break;
	case PART_SOCKET:
	case PART_POLL:
		/* Another process ended it, not the network: what was polled is a pipe to it, or
		 * like one. */
		if (worker && !beside && worker != f->victim_pid && state_of(f->loss) == PART_POLL)
			recommend_workers(f, to, line, worker);
		else
			recommend_socket(f, to, line, pid);
		break;
	case PART_SELF:
	case PART_FD:
	case PART_IDLE:
	case PART_DEVICE:
		recommend_workers(f, to, line, worker);
		break;
	default:
		detect_recommend(f, to, "Do it from another thread, while the device works",
				 details_print(to, "cat /proc/%" PRIu32 "/wchan", pid), 0,
				 "from nothing, if the device's work depends on it, to all of it");
		break;
	}
}

static void add_recommendations(const struct loss_view *f, struct finding *to)
{
	struct idle_line line = find_line(f);

	if (is_own_code(f->loss))
		recommend_code(f, to, &line);
	else if ((is_mostly_unended(f->loss) && state_of(f->loss) != PART_SLEEP) ||
		 f->loss->sort & LOSS_RAN_OUT)
		recommend_ended(f, to);
	else if (f->loss->sort & LOSS_WRITES)
		recommend_write(f, to);
	else
		recommend_wait(f, to, &line);
}

const struct loss_detector detect_gpu_idle = {
	.kind = "gpu-idle",
	.family = LOSS_IDLE,
	.summary = print_summary,
	.recommend = add_recommendations,
	.evidence = add_evidence,
	.matters = is_significant,
	.severity = get_severity,
	.nobody = "its own code",
	.moment = "the device had nothing to do",
	.counted = "stretches",
};
