/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By what the thread did, or waited for, and whom: each has another thing to do about it.
 */
#include "lib/advice/idle_advice.h"

#include <inttypes.h>

#include "lib/base/shell.h"
#include "lib/account/finding_details.h"
#include "lib/account/idle_text.h"
#include "lib/account/loss_queue.h"
#include "lib/account/meanwhile.h"
#include "lib/account/names.h"
#include "lib/account/sampling.h"
#include "lib/advice/work_advice.h"
#include "lib/world/event_loop.h"
#include "lib/world/forks.h"
#include "lib/world/known_work.h"
#include "lib/tracks/new_processes.h"
#include "lib/world/waiter_call.h"

/* Who prepares batches has some in store when it ends. */
#define IN_STORE_NS 30000000000

const struct cause_killed_one *idle_killed_child(const struct loss_view *f)
{
	const struct loss *x = f->loss;

	return idle_is_unended(x) && idle_state(x) != PART_SELF && idle_state(x) != PART_SLEEP
		       ? cause_killed_child(&f->c->killed, f->c->w, x->process,
					    x->of.idle.unended_since_ns - IN_STORE_NS,
					    x->last_ns - (int64_t)(x->of.idle.unended_ns / 2))
		       : NULL;
}

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
	if (idle_killed_child(f))
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

/* Whether it waits for processes that it starts again and again: they spend their time with what
 * each has to do first. */
static bool are_new(const struct loss_view *f)
{
	return f->who && f->who->young && f->who->npids >= NEW_PROCESSES_TIMES &&
	       new_processes_times(path_tracks_forks(f->c->tracks), f->loss->process) >=
		       NEW_PROCESSES_TIMES;
}

static void recommend_keeping(const struct loss_view *f, struct finding *to, uint32_t worker)
{
	struct bytes name = world_text(
		f->c->w, world_thread_name(f->c->w, f->who->thread, INT64_MAX));
	const char *code = "@functools.cache  # what starts them";

	if (new_processes_is_loader(f->c->w, f->who->thread))
		code = "DataLoader(..., persistent_workers=True)";
	else if (bytes_begin_with(name, "python"))
		code = "pool = multiprocessing.Pool(4)  # once, before the loop";
	detect_recommend_code(f, to,
			      "Keep these processes, or what they find: they are started again "
			      "and again, and each has to load and to open first what it needs",
			      code,
			      "from nothing, if each has new work to begin with, to all of the wait");
	details_add_fix(to, "See what they do meanwhile", "shell",
			sampling_command(f->c, worker, to), 0, 0, ONLY_SHOWS);
}

static void recommend_workers(const struct loss_view *f, struct finding *to,
			      const struct idle_line *line, uint32_t worker)
{
	if (detect_has_interpreter(f)) {
		detect_recommend_interpreter(f, to);
		return;
	}
	if (worker && are_new(f)) {
		recommend_keeping(f, to, worker);
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

void idle_advice_add(const struct loss_view *f, struct finding *to)
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
