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
#include "lib/base/shell.h"
#include "lib/account/finding_details.h"
#include "lib/account/idle_text.h"
#include "lib/account/loss_queue.h"
#include "lib/account/loss_early.h"
#include "lib/account/loss_gaps.h"
#include "lib/account/meanwhile.h"
#include "lib/account/names.h"
#include "lib/account/sampling.h"
#include "lib/account/work_advice.h"
#include "lib/world/event_loop.h"
#include "lib/world/forks.h"
#include "lib/world/known_work.h"
#include "lib/world/waiter_call.h"

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

/* Who prepares batches has some in store when it ends. */
#define IN_STORE_NS 30000000000

/* It waits for ever, and a child of the process was killed before, or when less than half of the
 * wait was over: who ends the recording ends children, too. NULL otherwise. */
static const struct cause_killed_one *killed_child(const struct loss_view *f)
{
	const struct loss *x = f->loss;

	return idle_is_unended(x) && idle_state(x) != PART_SELF && idle_state(x) != PART_SLEEP
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

/* ---- what to do ---- */

#define ONLY_SHOWS "it only shows what to look at"

static void recommend_code(const struct loss_view *f, struct finding *to,
			   const struct idle_line *line)
{
	enum known_work work = idle_work(f->loss);
	struct work_advice advice;

	if (idle_is_unknown(f, line)) {
		detect_recommend(f, to, "Record what threads wait for, too: it takes root",
				 details_print(to, "sudo ingero-record -p %" PRIu32, f->victim_pid),
				 0, "from nothing to all of the gaps");
		return;
	}
	if (work == KNOWN_WORK_FAULTS && world_forks(f->c->w, f->loss->process)) {
		detect_recommend(
			f, to,
			"It forks, and what it shares with a child is copied when it first writes "
			"to it: fork less often, or from a small process that was started first "
			"(multiprocessing: forkserver)",
			details_print(to, "sudo ps --ppid %" PRIu32, f->victim_pid), 0,
			"nearly all of it, if these faults are such copies; new memory that is "
			"kept and filled again needs no clearing, either");
		return;
	}
	if (!work && known_work_of(f->c->w, line->stack) != KNOWN_WORK_MOVES)
		work = known_work_of(f->c->w, line->stack);
	advice = work_advice_of(work, name_python(f->c->w, line->stack));
	detect_recommend_code(
		f, to, advice.action, advice.code,
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
	else if (idle_is_unended(f->loss))
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
			details_print(to,
				      "sudo strace -f -k -e "
				      "trace=futex,poll,ppoll,select,epoll_wait -p %" PRIu32,
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
	const char *peer = idle_state(f->loss) == PART_SOCKET
				   ? cause_peers_top(&f->c->peers, process, frame, &server)
				   : NULL;
	struct buf command = { 0 };

	buf_puts(&command, peer ? "ss -tunpi dst " : "ss -tunpi | grep pid=");
	if (peer)
		shell_word(&command, bytes_of(peer));
	else
		buf_printf(&command, "%" PRIu32 ",", pid);
	if (cause_peers_is_name_server(peer))
		detect_recommend(
			f, to,
			"Keep the connection, or the address: each time a name is looked up anew. "
			"Let this machine keep them (systemd-resolved, dnsmasq), and look at the "
			"name server: it answers late, or not",
			details_text(to, &command), 0, "nearly all of it, where names are kept");
	else if (idle_is_delayed_ack(f->loss))
		detect_recommend(
			f, to,
			"Set TCP_NODELAY where it is sent, or send each message in one write: "
			"answers come 40 ms late, as long as an acknowledgement is delayed that "
			"the sender waits for (Nagle's algorithm)",
			details_text(to, &command), 0,
			"nearly all of it, if that is what it is; the command shows who sends");
	else
		detect_recommend(
			f, to,
			"Ask for the data before the device runs out of work, several requests "
			"at a time",
			details_text(to, &command), 0,
			"from nothing, if each request depends on the device, to all of the wait");
	if (server)
		details_add_fix(to, "See what the server does meanwhile", "shell",
				sampling_command_peer(f->c, f->loss->process, server, to), 0, 0,
				ONLY_SHOWS);
}

static void recommend_workers(const struct loss_view *f, struct finding *to,
			      const struct idle_line *line, uint32_t worker)
{
	if (detect_has_interpreter(f)) {
		detect_recommend_interpreter(f, to);
		return;
	}
	detect_recommend(f, to, waiter_call_advice(waiter_call_of(f->c->w, line->stack)),
			 worker ? sampling_command(f->c, worker, to)
				: details_print(to, "sudo cat /proc/%" PRIu32 "/stack",
						f->victim_pid),
			 0, "from nothing, if the work cannot be done ahead, to all of the wait");
}

static void recommend_write(const struct loss_view *f, struct finding *to)
{
	bool socket = idle_state(f->loss) == PART_SOCKET;

	detect_recommend(
		f, to,
		socket ? "Send less, or from a thread and a queue of its own: it is taken slowly"
		       : "Write less, or from another thread: who reads it does not keep up",
		details_print(to,
			      socket ? "ss -tnpim | grep -A1 pid=%" PRIu32 ","
				     : "sudo ls -l /proc/%" PRIu32 "/fd",
			      f->victim_pid),
		0,
		"from nothing, if it must be out before the next step, to all of the wait; the "
		"command shows where it goes");
}

/* What to write instead of the sleep. */
static const char *code_instead(const struct loss_view *f, const struct idle_line *line,
				enum waiter_call call, bool elsewhere)
{
	bool python = name_python(f->c->w, line->stack);

	if (call == WAITER_RETRIES)
		return "PRAGMA journal_mode=WAL;";
	if (loss_polls(f->loss))
		return python ? "os.read(ready, 1)  # a pipe that the other one writes to"
			      : "poll(&ready, 1, -1);";
	if (!python)
		return "pthread_cond_wait(&ready, &mutex);";
	return elsewhere ? work_advice_of(KNOWN_WORK_OTHER, true).code
			 : "ready.wait()  # a threading.Event; or queue.get()";
}

#define WOKEN_INSTEAD                                                                       \
	"Make what it polls for faster; and be woken by it instead of sleeping: by a pipe " \
	"or a socket, of files by inotify"

/* line: where it sleeps, if that is known. */
static void recommend_sleep(const struct loss_view *f, struct finding *to,
			    const struct idle_line *line, uint32_t pid)
{
	bool paced = f->loss->sort & LOSS_PACED, beside = f->loss->sort & LOSS_BESIDE,
	     polls = loss_polls(f->loss), elsewhere = f->who && f->who->process != f->loss->process;
	enum waiter_call call = waiter_call_of(f->c->w, line->stack);
	const char *action =
		paced ? "Raise its rate, or leave it where something outside asks for it: whatever "
			"else gets faster, it only sleeps longer"
		: call == WAITER_RETRIES ? waiter_call_advice(call)
		: polls			 ? WOKEN_INSTEAD
		: beside && elsewhere
			? "Ask it ahead, from another thread, or let it answer without sleeping"
		: beside ? "Let it do its work when there is some, instead of sleeping"
			 : "Wait for what the sleep waits for, instead of sleeping";
	const char *basis =
		paced	? "nothing, if the pace is wanted"
		: polls ? "from nothing to the last sleep of each poll: what it polls for "
			  "comes no sooner by that"
			: "from nothing, if the sleep is wanted, to all of it";

	if (beside ? f->loss->of.idle.line.frame : line->frame)
		detect_recommend_code(f, to, action, code_instead(f, line, call, elsewhere), basis);
	else
		detect_recommend(
			f, to, action,
			details_print(
				to,
				"sudo strace -f -k -e trace=nanosleep,clock_nanosleep -p %" PRIu32,
				pid),
			0, details_print(to, "%s; the command shows who sleeps", basis));
}

static void recommend_wait(const struct loss_view *f, struct finding *to,
			   const struct idle_line *line)
{
	uint32_t worker = f->who ? world_process_pid(f->c->w, f->who->process) : 0,
		 pid = worker ? worker : f->victim_pid;
	bool beside = f->loss->sort & LOSS_BESIDE;

	switch (idle_state(f->loss)) {
	case PART_SLEEP:
		recommend_sleep(f, to, line, pid);
		if (loss_polls(f->loss))
			meanwhile_recommend(f, to);
		break;
	case PART_SOCKET:
	case PART_POLL:
		/* Another process ended it, not the network: what was polled is a pipe to it, or
		 * like one. */
		if (worker && !beside && worker != f->victim_pid &&
		    idle_state(f->loss) == PART_POLL)
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
	struct idle_line line = idle_line_find(f);

	loss_queue_recommend(f, to);
	if (idle_is_own_code(f->loss))
		recommend_code(f, to, &line);
	else if ((idle_is_unended(f->loss) && idle_state(f->loss) != PART_SLEEP) ||
		 f->loss->sort & LOSS_RAN_OUT)
		recommend_ended(f, to);
	else if (f->loss->sort & LOSS_WRITES)
		recommend_write(f, to);
	else if (event_loop_task(f->c->w, line.stack) && !(f->loss->sort & LOSS_EVENT_LOOP))
		detect_recommend_code(f, to, "Await it: all tasks of the event loop wait for it",
				      "await asyncio.to_thread(ask)  # or an asynchronous client",
				      "from nothing, if there are no other tasks, to all of it");
	else
		recommend_wait(f, to, &line);
}

static bool is_whole(const struct cause *c, const struct loss *x)
{
	(void)c;
	return x->of.idle.whole;
}

#define IDLE                                                                             \
	.family = LOSS_IDLE, .summary = print_summary, .recommend = add_recommendations, \
	.evidence = add_evidence, .matters = is_significant, .severity = get_severity,   \
	.nobody = "its own code", .counted = "stretches"

const struct loss_detector detect_step_stall = {
	.kind = "step-stall", IDLE, .is = is_whole, .moment = "a step stood still"
};

const struct loss_detector detect_gpu_idle = { .kind = "gpu-idle",
					       IDLE,
					       .moment = "the device had nothing to do" };
