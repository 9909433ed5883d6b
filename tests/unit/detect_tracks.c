/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks of programs made by hand: their phases, and the phrases of their causes.
 */
#include "tests/tap.h"

#include "lib/base/buf.h"
#include "lib/tracks/causes.h"
#include "lib/tracks/single_stall.h"
#include "lib/tracks/reason.h"
#include "lib/tracks/track.h"
#include "tests/unit/tracks_play.h"

static uint32_t stack_at(struct stage *s, const char *function, unsigned line)
{
	struct world_frame f = { .kind = FRAME_PYTHON, .offset = line };
	uint32_t frame;

	f.name = world_string(s->w, bytes_of(function));
	f.file = world_string(s->w, bytes_of("run.py"));
	frame = world_frame(s->w, &f);
	return world_stack(s->w, &frame, 1);
}

static struct event *wait_for(struct stage *s, struct actor a, unsigned object, int64_t start,
			      int64_t end, struct actor waker)
{
	struct event *ev = stage_offcpu(s, a, 0, start, end, 0, 0);

	stage_set(ev, COL_OBJECT_KIND, object);
	stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
	stage_set(ev, COL_WAKER, waker.thread);
	return ev;
}

/* There is a cause of another thread with that phrase and time. */
static void has_culprit_reason(struct path_tracks *t, uint32_t thread, const char *want,
			       uint64_t want_ns)
{
	struct track_parts parts = { 0 };
	struct path_causes causes = { 0 };
	uint64_t ns = 0;

	if (!path_tracks_parts(t, track_of(t, thread), WINDOW_START, &parts) ||
	    !path_causes_make(&causes, path_tracks_names(t), thread, &parts))
		abort();
	for (size_t i = 0; i < causes.v.n; i++) {
		struct buf out = { 0 };

		reason_print(&out, path_tracks_names(t), &causes.v.v[i]);
		if (strcmp(buf_text(&out), want) == 0)
			ns += causes.v.v[i].ns;
		buf_free(&out);
	}
	is_u64(ns, want_ns, "%s", want);
	path_causes_free(&causes);
	vec_free(&parts.v);
}

/* Somebody freezes the thread, then one that it waits for: who let them go on is no culprit. */
static void frozen(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 10, 11, 1, "work"),
		     sh = stage_actor(&s, 20, 20, 1, "sh");
	struct path_tracks *t;

	wait_for(&s, b, OBJECT_FD, 0, 1 * MS, a);
	wait_for(&s, a, OBJECT_FREEZER, 10 * MS, 50 * MS, sh)->stack = stack_at(&s, "burn", 43);
	stage_set(wait_for(&s, a, OBJECT_FD, 60 * MS, 100 * MS, b), COL_WAKING_NS, 0);
	wait_for(&s, b, OBJECT_STOP, 65 * MS, 90 * MS, sh);
	t = play(&s);
	has_reason(t, a.thread, WINDOW_START, PATH_FROZEN,
		   "is frozen with its cgroup in burn (run.py:43) until sh (pid 20) let it go on");
	has_reason(t, a.thread, WINDOW_START, PATH_STOPPED,
		   "waits for work (tid 11 of pid 10), which was stopped by a signal");
	path_tracks_free(t);
	stage_free(&s);
}

/* A disk that another thread waits for is no name of that thread. */
static void disk(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 10, 11, 1, "work");
	struct path_tracks *t;
	struct event *ev;

	wait_for(&s, b, OBJECT_FD, 0, 1 * MS, a);
	wait_for(&s, a, OBJECT_DISK, 2 * MS, 9 * MS, a);
	stage_set(wait_for(&s, a, OBJECT_FD, 10 * MS, 100 * MS, b), COL_WAKING_NS, 0);
	ev = stage_offcpu(&s, b, 0, 15 * MS, 90 * MS, 0, 0);
	stage_set(ev, COL_OBJECT_KIND, OBJECT_DISK);
	stage_set(ev, COL_OBJECT, 7 << 20 | 1);
	stage_set(ev, COL_WAKER_KIND, WAKER_HARDIRQ);
	t = play(&s);
	has_reason(t, a.thread, WINDOW_START, PATH_DISK,
		   "waits for work (tid 11 of pid 10), which waited for disk 7:1");
	path_tracks_free(t);
	stage_free(&s);
}

/* Whether anybody ended a wait that is nobody's. */
static void timed_out(void)
{
	static const struct {
		unsigned object, waker;
		enum path_class class;
		const char *text;
	} all[] = {
		{ OBJECT_FUTEX, WAKER_TIMER, PATH_BLOCKED,
		  "waits until its time-out, woken by nobody, in take (run.py:9)" },
		{ OBJECT_FUTEX, WAKER_HARDIRQ, PATH_BLOCKED, "waits in take (run.py:9)" },
		{ OBJECT_POLL, WAKER_TIMER, PATH_OUTSIDE,
		  "waits for a socket or descriptors until its time-out, woken by nobody, in take "
		  "(run.py:9)" },
		{ OBJECT_POLL, WAKER_SOFTIRQ, PATH_OUTSIDE,
		  "waits for a socket or descriptors in take (run.py:9)" },
		{ OBJECT_TIMER, WAKER_TIMER, PATH_SLEEP, "sleeps in take (run.py:9)" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct stage s = stage_new();
		struct actor a = stage_actor(&s, 10, 10, 1, "main");
		struct event *ev = stage_offcpu(&s, a, 0, 10 * MS, 30 * MS, 0, 0);
		struct path_tracks *t;

		ev->stack = stack_at(&s, "take", 9);
		stage_set(ev, COL_FUTEX_OP, 0);
		stage_set(ev, COL_FUTEX_VAL, 0);
		stage_set(ev, COL_OBJECT_KIND, all[i].object);
		stage_set(ev, COL_WAKER_KIND, all[i].waker);
		t = play(&s);
		has_reason(t, a.thread, WINDOW_START, all[i].class, all[i].text);
		path_tracks_free(t);
		stage_free(&s);
	}
}

/* A thread that main needs has the CPU that main was ready for: it is not waited for. */
static void occupied(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 10, 11, 1, "work");
	struct path_tracks *t;

	wait_for(&s, a, OBJECT_TIMER, 0, 1 * MS, a);
	wait_for(&s, b, OBJECT_TIMER, 0, 1 * MS, b);
	for (int64_t i = 1; i < 4; i++)
		stage_set(wait_for(&s, a, OBJECT_FD, 10 * i * MS, (10 * i + 1) * MS, b),
			  COL_WAKING_NS, 0);
	stage_offcpu(&s, a, 0, 60 * MS, 80 * MS, 20 * MS, 0);
	stage_occupied(&s, b, 0, 60 * MS, 80 * MS);
	wait_for(&s, b, OBJECT_TIMER, 80 * MS, 95 * MS, b);
	t = play(&s);
	has_reason(t, a.thread, WINDOW_START, PATH_OWN, "on the CPU");
	has_culprit_reason(t, a.thread,
			   "waits for a CPU of work (tid 11 of pid 10), which was on the CPU",
			   20 * MS);
	has_culprit_reason(t, a.thread, "waits for work (tid 11 of pid 10), which was on the CPU",
			   3 * MS);
	path_tracks_free(t);
	stage_free(&s);
}

/* Ranks are alike: the one that a rank waits for is named, and not that rank itself. */
static void ranks(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "rank"), b = stage_actor(&s, 11, 11, 1, "rank"),
		     c = stage_actor(&s, 12, 12, 1, "rank");
	struct path_tracks *t;

	wait_for(&s, a, OBJECT_FD, 0, 1 * MS, b);
	wait_for(&s, b, OBJECT_FD, 0, 2 * MS, a);
	wait_for(&s, c, OBJECT_FD, 0, 3 * MS, a);
	stage_set(wait_for(&s, a, OBJECT_FD, 10 * MS, 20 * MS, b), COL_WAKING_NS, 0);
	stage_set(wait_for(&s, a, OBJECT_FD, 30 * MS, 80 * MS, c), COL_WAKING_NS, 0);
	wait_for(&s, b, OBJECT_TIMER, 85 * MS, 90 * MS, b);
	wait_for(&s, c, OBJECT_TIMER, 85 * MS, 90 * MS, c);
	stage_set(wait_for(&s, b, OBJECT_FD, 91 * MS, 95 * MS, a), COL_WAKING_NS, 0);
	wait_for(&s, a, OBJECT_TIMER, 96 * MS, 97 * MS, a);
	t = play(&s);
	has_reason(t, b.thread, WINDOW_START, PATH_OWN, "on the CPU");
	has_reason(t, a.thread, WINDOW_START, PATH_OWN,
		   "waits for rank (pid 12) (83%) and 1 more like it, which was on the CPU");
	path_tracks_free(t);
	stage_free(&s);
}

/* A wait inside a call has no stack of its own: it is where the call is. */
static void inside_call(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 11, 11, 1, "rank");
	struct event *ev;
	struct path_tracks *t;

	wait_for(&s, b, OBJECT_FD, 0, 1 * MS, a);
	ev = stage_offcpu(&s, a, 1, 12 * MS, 30 * MS, 0, 0);
	stage_set(ev, COL_OBJECT_KIND, OBJECT_POLL);
	stage_set(ev, COL_WAKER_KIND, WAKER_HARDIRQ);
	stage_call(&s, a, OP_CUDA_STREAM_SYNC, 0, 10 * MS, 31 * MS)->stack =
		stack_at(&s, "train_step", 14);
	t = play(&s);
	has_reason(
		t, a.thread, WINDOW_START, PATH_DEVICE,
		"waits for the device in cudaStreamSynchronize called from train_step (run.py:14)");
	path_tracks_free(t);
	stage_free(&s);
}

/* Who takes the CPU is a process, and its like: not each of the threads that it makes. */
static void takers(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), other;
	struct path_tracks *t;

	wait_for(&s, a, OBJECT_TIMER, 0, 1 * MS, a);
	for (uint32_t i = 0; i < 8; i++) {
		int64_t at = 10 * MS * (i + 1);

		other = stage_actor(&s, 20 + i % 2, 200 + i, 10, "pt_worker");
		stage_offcpu(&s, a, 0, at, at + 5 * MS, 5 * MS, 0);
		stage_occupied(&s, other, 0, at, at + 5 * MS);
	}
	other = stage_actor(&s, 30, 30, 1, "cc1");
	stage_offcpu(&s, a, 0, 100 * MS, 107 * MS, 7 * MS, 0);
	stage_occupied(&s, other, 0, 100 * MS, 107 * MS);
	t = play(&s);
	has_reason(t, a.thread, WINDOW_START, PATH_TAKEN,
		   "pt_worker (pid 20) and 1 more like it had the CPU");
	path_tracks_free(t);
	stage_free(&s);
	s = stage_new();
	a = stage_actor(&s, 10, 10, 1, "main");
	wait_for(&s, a, OBJECT_TIMER, 0, 1 * MS, a);
	for (uint32_t i = 0; i < 2; i++) {
		other = stage_actor(&s, 10, 11 + i, 1, "main");
		stage_offcpu(&s, a, 0, (10 + 10 * i) * MS, (15 + 10 * i) * MS, 5 * MS, 0);
		stage_occupied(&s, other, 0, (10 + 10 * i) * MS, (15 + 10 * i) * MS);
	}
	t = play(&s);
	has_reason(t, a.thread, WINDOW_START, PATH_TAKEN,
		   "other threads of main (pid 10) had the CPU");
	path_tracks_free(t);
	stage_free(&s);
}

/* A CPU sample that finds it in sched_yield, called from pop (run.py:9). */
static void yields_at(struct stage *s, struct actor a, int64_t at)
{
	struct world_frame f = { .kind = FRAME_NATIVE, .offset = 7 };
	struct world_symbol symbol = { .name = world_string(s->w, bytes_of("sched_yield")) };
	uint32_t frames[2];

	frames[0] = world_frame(s->w, &f);
	world_symbol(s->w, frames[0], &symbol);
	f = (struct world_frame){ .kind = FRAME_PYTHON, .offset = 9 };
	f.name = world_string(s->w, bytes_of("pop"));
	f.file = world_string(s->w, bytes_of("run.py"));
	frames[1] = world_frame(s->w, &f);
	stage_event(s, OP_CPU_SAMPLE, a.ctx, 0, at, at)->stack = world_stack(s->w, frames, 2);
}

/* Who spins with sched_yield hands the CPU on: whoever has it then took nothing. Where that is,
 * samples say. */
static void yields(void)
{
	static const struct {
		uint32_t taker; /* its process */
		uint64_t syscall;
		bool sampled, in_sync;
		enum path_class class;
		const char *text;
	} all[] = {
		{ 20, 24, true, false, PATH_YIELD, "yields its CPU in pop (run.py:9)" },
		{ 20, 124, true, false, PATH_YIELD, "yields its CPU in pop (run.py:9)" },
		{ 10, 24, true, false, PATH_YIELD, "yields its CPU in pop (run.py:9)" },
		{ 20, 24, false, false, PATH_YIELD, "yields its CPU" },
		{ 20, 228, true, false, PATH_TAKEN, "taker (pid 20) had the CPU" },
		{ 10, 228, true, false, PATH_TAKEN, "taker (tid 21 of pid 10) had the CPU" },
		{ 20, 24, true, true, PATH_TAKEN, "taker (pid 20) had the CPU" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct stage s = stage_new();
		struct actor a = stage_actor(&s, 10, 10, 1, "main"),
			     b = stage_actor(&s, all[i].taker, 21, 1, "taker");
		struct path_tracks *t;

		wait_for(&s, a, OBJECT_TIMER, 0, 1 * MS, a);
		wait_for(&s, b, OBJECT_TIMER, 0, 1 * MS, b);
		stage_call(&s, a, OP_CUDA_LAUNCH, 0, 2 * MS, 3 * MS)->stack =
			stack_at(&s, "launch", 7);
		if (all[i].sampled)
			yields_at(&s, a, 9 * MS);
		/* Samples are looked at once it is known to yield. */
		stage_set(stage_offcpu(&s, a, 0, 5 * MS, 5 * MS + 1, 1, 0), COL_SYSCALL,
			  all[i].syscall);
		for (int64_t k = 1; k < 5; k++) {
			int64_t at = 10 * k * MS;

			stage_set(stage_offcpu(&s, a, all[i].in_sync, at, at + 5 * MS, 5 * MS, 0),
				  COL_SYSCALL, all[i].syscall);
			stage_occupied(&s, b, 0, at, at + 5 * MS);
			if (all[i].in_sync)
				stage_call(&s, a, OP_CUDA_STREAM_SYNC, 0, at - 1 * MS, at + 6 * MS);
		}
		t = play(&s);
		has_reason(t, a.thread, WINDOW_START, all[i].class, all[i].text);
		path_tracks_free(t);
		stage_free(&s);
	}
}

/* One launch takes longer than all others together. */
static void once(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main");
	uint32_t at = stack_at(&s, "launch", 7);
	struct path_tracks *t;

	wait_for(&s, a, OBJECT_TIMER, 0, 1 * MS, a);
	for (int64_t i = 0; i < 20; i++)
		stage_call(&s, a, OP_CUDA_LAUNCH, 0, (10 + 2 * i) * MS, (11 + 2 * i) * MS)->stack =
			at;
	stage_call(&s, a, OP_CUDA_LAUNCH, 0, 60 * MS, 310 * MS)->stack = at;
	t = play(&s);
	has_reason(t, a.thread, WINDOW_START, PATH_CALL,
		   "on the CPU in cudaLaunchKernel called from launch (run.py:7), 250 ms of it at "
		   "once");
	path_tracks_free(t);
	stage_free(&s);
}

/* The first cause of that class: what its longest stretch is called, and how long it is. */
static uint64_t longest_of(struct path_tracks *t, uint32_t thread, enum path_class class,
			   struct buf *out)
{
	struct track_parts parts = { 0 };
	struct path_causes causes = { 0 };
	uint64_t ns = 0;

	if (!path_tracks_parts(t, track_of(t, thread), WINDOW_START, &parts) ||
	    !path_causes_make(&causes, path_tracks_names(t), thread, &parts))
		abort();
	for (size_t i = 0; i < causes.v.n && !ns; i++) {
		if (causes.v.v[i].class != class)
			continue;
		ns = causes.v.v[i].longest_ns;
		once_print(out, path_tracks_names(t), path_tracks_firsts(t), thread,
			   &causes.v.v[i]);
	}
	path_causes_free(&causes);
	vec_free(&parts.v);
	return ns;
}

/* The second kernel's first launch is slow, and others take the CPU meanwhile. */
static void first_launch(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"),
		     other = stage_actor(&s, 20, 20, 1, "cc1");
	uint32_t at = stack_at(&s, "launch", 7), often = stack_at(&s, "often", 9);
	struct buf out = { 0 };
	struct path_tracks *t;
	struct event *ev;

	wait_for(&s, a, OBJECT_TIMER, 0, 1 * MS, a);
	for (int64_t i = 0; i < 200; i++) {
		ev = stage_call(&s, a, OP_CUDA_LAUNCH, 0, (10 + 2 * i) * MS, (11 + 2 * i) * MS);
		ev->stack = i % 10 ? often : at;
		stage_set(ev, COL_FUNC, 100);
	}
	for (int64_t i = 0; i < 5; i++) {
		stage_offcpu(&s, a, 1, (510 + 40 * i) * MS, (520 + 40 * i) * MS, 10 * MS, 0);
		stage_occupied(&s, other, 0, (510 + 40 * i) * MS, (520 + 40 * i) * MS);
	}
	ev = stage_call(&s, a, OP_CUDA_LAUNCH, 0, 500 * MS, 700 * MS);
	ev->stack = at;
	stage_set(ev, COL_FUNC, 200);
	ev = stage_call(&s, a, OP_CUDA_LAUNCH, 0, 710 * MS, 850 * MS);
	ev->stack = at;
	stage_set(ev, COL_FUNC, 200);
	t = play(&s);
	ok(longest_of(t, a.thread, PATH_CALL, &out) == 150 * MS,
	   "a stretch goes on behind waits for a CPU, which are not in it");
	is_str(buf_text(&out),
	       "on the CPU in cudaLaunchKernel called from launch (run.py:7), the first recorded "
	       "launch of its kernel",
	       "and has its own line");
	buf_free(&out);
	path_tracks_free(t);
	stage_free(&s);
}

/* Of calls that are slow in a program without steps. */
static bool is_repeated(struct path_tracks *t, uint32_t thread, struct buf *out)
{
	struct track_parts parts = { 0 };
	struct path_causes causes = { 0 };
	bool told = false;

	if (!path_tracks_parts(t, track_of(t, thread), WINDOW_START, &parts) ||
	    !path_causes_make(&causes, path_tracks_names(t), thread, &parts))
		abort();
	for (size_t i = 0; i < causes.v.n; i++) {
		if (causes.v.v[i].class != PATH_CALL ||
		    !repeated_is_told(&causes.v.v[i], causes.ns, 1 * MS))
			continue;
		told = true;
		repeated_print(out, path_tracks_names(t), &causes.v.v[i]);
	}
	path_causes_free(&causes);
	vec_free(&parts.v);
	return told;
}

/* Modules are loaded n times, for so long each, among launches at the same line. */
static void loads(unsigned n, int64_t ns, const char *want)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main");
	uint32_t at = stack_at(&s, "compile", 10), other = stack_at(&s, "launch", 7);
	struct buf out = { 0 };
	struct path_tracks *t;

	wait_for(&s, a, OBJECT_TIMER, 0, 1 * MS, a);
	for (int64_t i = 0; i < 400; i++) {
		int64_t from = (10 + 10 * i) * MS;

		if (i % 25 == 0 && i / 25 < n)
			stage_call(&s, a, OP_CU_MODULE_LOAD_DATA, 0, from, from + ns)->stack = at;
		else if (i % 25 > 4)
			stage_call(&s, a, OP_CUDA_LAUNCH, 0, from, from + 1 * MS)->stack =
				i % 2 ? at : other;
	}
	t = play(&s);
	is_int(is_repeated(t, a.thread, &out), want != NULL, "%u times %.0f ms", n,
	       (double)ns / 1e6);
	is_str(buf_text(&out), want ? want : "", "in a sentence");
	buf_free(&out);
	path_tracks_free(t);
	stage_free(&s);
}

static void repeated(void)
{
	loads(16, 20 * MS,
	      "16 times 20.0 ms on the CPU in cuModuleLoadData called from compile (run.py:10), "
	      "320 ms "
	      "in all");
	loads(16, 9 * MS, NULL);
	loads(3, 40 * MS, NULL);
}

/* Iterations of an inner loop are taken for steps until the outer loop is known. */
static void restarted(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main");
	uint32_t inner[] = { stage_python(&s, 13, 20), stage_python(&s, 13, 21) },
		 first = stage_python(&s, 12, 0), last = stage_python(&s, 14, 0);
	int64_t t = 1000 * MS;
	struct path_tracks *tracks;
	uint64_t between = 0, steps = 0;
	size_t at;

	for (int i = 0; i < 60; i++, t += 5 * MS) {
		stage_call(&s, a, OP_CUDA_LAUNCH, 0, t - 20 * US, t - 10 * US)->stack = first;
		for (int k = 0; k < (i ? 200 : 300) * 12; k++, t += 10 * US)
			stage_call(&s, a, OP_CUDA_LAUNCH, 0, t, t + 2 * US)->stack =
				inner[k % 12 >= 6];
		stage_call(&s, a, OP_CUDA_STREAM_SYNC, 0, t, t + 4 * MS)->stack = last;
	}
	tracks = play(&s);
	at = track_of(tracks, a.thread);
	for (unsigned k = 0; k < path_tracks_get(tracks, at).nphases; k++) {
		struct track_phase phase = path_tracks_get(tracks, at).phases[k];

		between += phase.window == WINDOW_BETWEEN ? phase.ns : 0;
		steps += phase.window == WINDOW_STEPS ? phase.ns : 0;
	}
	is_u64(between, 0, "nothing is between the steps of a loop that was found late");
	ok(steps >= (uint64_t)(t - 1000 * MS) / 10 * 9, "its steps are all of it");
	path_tracks_free(tracks);
	stage_free(&s);
}

int main(void)
{
	repeated();
	restarted();
	first_launch();
	once();
	takers();
	yields();
	inside_call();
	ranks();
	frozen();
	timed_out();
	occupied();
	disk();
	return done_testing();
}
