/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams in which gpu-idle, sync-storm or launch-bound is found with its exact time, and streams
 * that look like them and stay silent: five seconds of steps each, of some launches, a wait for the
 * device, and something before the next step. What follows the last step has no end: no gap.
 */
#include "tests/tap.h"

#include "lib/gpustate/device.h"
#include "tests/unit/kinds.h"

#define LENGTH (5000 * MS)
#define STEP   (10 * MS)
#define STEPS  (LENGTH / STEP)
#define GAPS   (STEPS - 1)

#define for_steps(t) for (int64_t t = 0; t < LENGTH; t += STEP)

static struct event *call(struct stage *s, struct actor a, uint16_t op, int64_t start, int64_t end,
			  uint64_t stream)
{
	struct event *ev = stage_call(s, a, op, 0, start, end);

	stage_set(ev, COL_STREAM, stream);
	return ev;
}

/* Launches from t on, each of 5 us and as much apart. */
static void launches(struct stage *s, struct actor a, int64_t t, unsigned n, uint64_t stream)
{
	for (unsigned i = 0; i < n; i++)
		call(s, a, OP_CUDA_LAUNCH, t + i * 10 * US, t + i * 10 * US + 5 * US, stream);
}

/* ... and then a wait for all of it that ends at `until`. */
static void work(struct stage *s, struct actor a, int64_t t, unsigned n, int64_t until)
{
	launches(s, a, t, n, 7);
	call(s, a, OP_CUDA_STREAM_SYNC, t + n * 10 * US, until, 7);
}

static struct event *blocked(struct stage *s, struct actor a, int64_t t, int64_t ns,
			     enum event_object kind)
{
	struct event *ev = stage_offcpu(s, a, 0, t, t + ns, 0, 0);

	stage_set(ev, COL_OBJECT_KIND, kind);
	return ev;
}

static void woken(struct event *ev, struct actor by)
{
	stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
	stage_set(ev, COL_WAKER, by.thread);
}

static struct actor on_gpu(struct stage *s, struct actor a, const char *uuid)
{
	struct world_gpu gpu = { .node = s->node, .uuid = world_string(s->w, bytes_of(uuid)) };
	struct world_ctx c = *world_get_ctx(s->w, a.ctx);

	c.gpu = world_gpu(s->w, &gpu);
	a.ctx = world_ctx(s->w, &c);
	return a;
}

/* Every step waits on a socket: whose other end is named, and how sure that is. */
static void whose_socket(struct stage *s, struct actor v)
{
	static const struct {
		unsigned first; /* of ten waits: on the first socket, not on the second */
		bool named;
		const char *told;
		bool both; /* the first socket, and another one to the same address, in turn */
		struct {
			uint32_t pid;
			const char *comm;
		} peer[2]; /* of these two */
	} table[] = {
		{ 10, true, "waiting for a socket to 192.0.2.7:6379", false, { { 0 } } },
		{ 6, true, "waiting for a socket, longest to 192.0.2.7:6379,", false, { { 0 } } },
		{ 3, true, "waiting for a socket, longest to [2001:db8::1]:443,", false, { { 0 } } },
		{ 10, false, NULL, false, { { 0 } } },
		{ 10, true, " to 192.0.2.7:6379 (redis, pid 812)", false, { { 812, "redis" } } },
		{ 6,
		  true,
		  " longest to 192.0.2.7:6379 (redis, pid 812),",
		  true,
		  { { 812, "redis" }, { 812, "redis" } } },
		{ 10, true, " to 192.0.2.7:6379 (api)", true, { { 812, "api" }, { 813, "api" } } },
		{ 10,
		  true,
		  " to 192.0.2.7:6379 (several processes)",
		  true,
		  { { 812, "api" }, { 813, "proxy" } } },
		/* Who another process reaches by that address is not who this one does. */
		{ 10, true, " to 192.0.2.7:6379", false, { { 0 }, { 813, "api" } } },
	};

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		unsigned n = 0;

		if (table[i].named) {
			stage_socket(s, 5, "192.0.2.7:6379");
			stage_socket(s, 6, "[2001:db8::1]:443");
			stage_socket(s, 7, "192.0.2.7:6379");
		}
		for (unsigned k = 0; k < 2; k++) {
			if (table[i].peer[k].pid)
				stage_peer(s, k ? 7 : 5, table[i].peer[k].pid,
					   table[i].peer[k].comm);
		}
		for_steps(t)
		{
			int64_t at = t + 8 * MS + 100 * US;

			unsigned socket = n % 10 >= table[i].first ? 6
					  : table[i].both && n % 2 ? 7
								   : 5;

			n++;
			work(s, v, t, 8, t + 8 * MS);
			blocked(s, v, at, 1800 * US, OBJECT_SOCKET);
			stage_set(stage_event(s, OP_NET_SOCKET, v.ctx, 0, at, at + 1800 * US),
				  COL_SOCKET, socket);
		}
		if (table[i].peer[1].pid && !table[i].both)
			never_says(s, "pid 813", "who has the other end of another connection");
		else if (table[i].told)
			tells(s, "gpu-idle", table[i].told, GAPS * 1800 * US);
		else
			never_says(s, " to ", "a socket that leads nobody knows where");
	}
}

static void idle_by_state(struct stage *s, struct actor v, struct actor worker)
{
	static const struct {
		enum event_object object;
		const char *told;
	} states[] = { { OBJECT_TIMER, "a sleep" },	    { OBJECT_SOCKET, "a socket" },
		       { OBJECT_POLL, "in poll" },	    { OBJECT_FD, "a pipe or file" },
		       { OBJECT_CHILD, "a child process" }, { OBJECT_FUTEX, "another thread" } };

	for_steps(t) work(s, v, t, 8, t + 8 * MS);
	tells(s, "gpu-idle", "its own code", GAPS * 2 * MS);
	for (unsigned i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		for_steps(t)
		{
			work(s, v, t, 8, t + 8 * MS);
			blocked(s, v, t + 8 * MS + 100 * US, 1800 * US, states[i].object);
		}
		tells(s, "gpu-idle", states[i].told, GAPS * 1800 * US);
	}
	whose_socket(s, v);
	for_steps(t)
	{
		work(s, v, t, 8, t + 8 * MS);
		woken(blocked(s, v, t + 8 * MS + 100 * US, 1800 * US, OBJECT_FD), worker);
	}
	tells(s, "gpu-idle", "ended by pt_data_worker", GAPS * 1800 * US);
}

/* The victim waits in every step for a worker, which works, or waits for a third one. */
static void behind_the_wait(struct stage *s, struct actor v, struct actor worker,
			    struct actor third)
{
	static const struct {
		enum event_object worker, third; /* OBJECT_NONE: runs */
		const char *told;
		int64_t each_ns;
	} table[] = {
		{ OBJECT_TIMER, OBJECT_NONE, "pt_data_worker (pid 200), which slept", 1700 * US },
		{ OBJECT_NONE, OBJECT_NONE, "pt_data_worker (pid 200), which ran its own code",
		  1800 * US },
		{ OBJECT_FD, OBJECT_TIMER, "for cache (pid 400), which slept", 1600 * US },
		{ OBJECT_FUTEX, OBJECT_SOCKET, "cache (pid 400), which waited for a socket",
		  1600 * US },
		{ OBJECT_FD, OBJECT_NONE, "cache (pid 400), which ran its own code", 1700 * US },
	};

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		for_steps(t)
		{
			int64_t at = t + 8 * MS + 100 * US;
			struct event *ev;

			work(s, v, t, 8, t + 8 * MS);
			blocked(s, worker, t + MS, 10 * US, OBJECT_TIMER);
			blocked(s, third, t + MS, 10 * US, OBJECT_TIMER);
			if (table[i].third)
				blocked(s, third, at + 50 * US, 1600 * US, table[i].third);
			ev = table[i].worker
				     ? blocked(s, worker, at + 20 * US, 1700 * US, table[i].worker)
				     : NULL;
			if (ev && table[i].worker != OBJECT_TIMER)
				woken(ev, third);
			woken(blocked(s, v, at, 1800 * US, OBJECT_FD), worker);
		}
		told_among(s, "gpu-idle", table[i].told, GAPS * table[i].each_ns);
	}
	/* What is taken from the worker is told as that, and of it no more than what is left. */
	for (unsigned disk = 0; disk < 2; disk++) {
		for_steps(t)
		{
			int64_t at = t + 8 * MS + 100 * US;

			work(s, v, t, 8, t + 8 * MS);
			blocked(s, worker, t + MS, 10 * US, OBJECT_TIMER);
			stage_set(stage_offcpu(s, worker, 0, at + 20 * US, at + 1720 * US,
					       disk ? 0 : 1700 * US, 0),
				  disk ? COL_OBJECT_KIND : COL_CPU_OUT, disk ? OBJECT_DISK : 0);
			stage_occupied(s, third, 0, at + 20 * US, at + 1720 * US);
			woken(blocked(s, v, at, 1800 * US, OBJECT_FD), worker);
		}
		tells(s, disk ? "disk-stall" : "cpu-preempted",
		      "; all of it in pt_data_worker (pid 200), which it", STEPS * 1700 * US);
	}
	/* Nothing is known of who ended the wait. */
	for_steps(t)
	{
		work(s, v, t, 8, t + 8 * MS);
		woken(blocked(s, v, t + 8 * MS + 100 * US, 1800 * US, OBJECT_FD), worker);
	}
	never_says(s, "which", "of a process that is not followed");
	for_steps(t)
	{
		work(s, v, t, 8, t + 8 * MS);
		woken(blocked(s, worker, t + MS, 7120 * US, OBJECT_FD), v);
		woken(blocked(s, v, t + 8 * MS + 100 * US, 1800 * US, OBJECT_FD), worker);
	}
	/* It waited for the request and worked on it; for 20 us each waits for the other. */
	told_among(s, "gpu-idle", "waiting for pt_data_worker (pid 200), which ran its own code",
		   GAPS * 1780 * US);
}

/* Between two steps it waits for a connection; one of `lossy` loses a segment, 0: none does. */
static void remote(struct stage *s, struct actor v, unsigned lossy)
{
	for_steps(t)
	{
		int64_t from = t + 8 * MS + 100 * US, to = from + 1800 * US;

		work(s, v, t, 8, t + 8 * MS);
		blocked(s, v, from, 1800 * US, OBJECT_SOCKET);
		stage_set(stage_event(s, OP_NET_SOCKET, v.ctx, 0, from, to), COL_SOCKET, 5);
		if (lossy && t / STEP % lossy == 0)
			stage_set(stage_event(s, OP_NET_RETRANSMIT, v.ctx, 0, from + MS, from + MS),
				  COL_SOCKET, 5);
	}
}

/* What the network took is the network's, and no idle device beside. */
static void idle_or_lossy(struct stage *s, struct actor v)
{
	remote(s, v, 0);
	tells(s, "gpu-idle", "a socket", GAPS * 1800 * US);
	remote(s, v, 1);
	tells(s, "net-loss", "a peer without address", STEPS * 1800 * US);
	remote(s, v, 2);
	told_among(s, "net-loss", "a peer without address", STEPS / 2 * 1800 * US);
	remote(s, v, 2);
	told_among(s, "gpu-idle", "a socket", (GAPS - STEPS / 2) * 1800 * US);
}

static void idle_or_not(struct stage *s, struct actor v, struct actor other)
{
	for_steps(t)
	{
		launches(s, v, t, 8, 7);
		blocked(s, v, t + 100 * US, 9 * MS, OBJECT_TIMER);
		call(s, v, OP_CUDA_STREAM_SYNC, t + 9500 * US, t + 9990 * US, 7);
	}
	silent(s, "sleeping while the device works");

	for_steps(t)
	{
		work(s, v, t, 8, t + 8 * MS);
		call(s, other, OP_CUDA_LAUNCH, t + 7 * MS, t + 7 * MS + 5 * US, 9);
		call(s, other, OP_CUDA_STREAM_SYNC, t + 7100 * US, t + 12 * MS, 9);
	}
	silent(s, "another thread keeps the device busy, on another stream");

	for_steps(t)
	{
		work(s, v, t, 8, t + 7 * MS);
		stage_set(stage_call(s, other, OP_CUDA_MEMCPY, 0, t + 6500 * US, t + 10500 * US),
			  COL_DIRECTION, 3);
	}
	silent(s, "another thread copies, and returns when that is done");

	for_steps(t)
	{
		work(s, v, t, 8, t + 8 * MS);
		stage_set(blocked(s, v, t + 8 * MS, 1990 * US, OBJECT_DISK), COL_OBJECT,
			  8 << 20 | 16);
	}
	tells(s, "disk-stall", "disk 8:16", STEPS * 1990 * US);

	for_steps(t)
	{
		stage_call(s, v, OP_CUDA_MALLOC, 0, t, t + 50 * US);
		blocked(s, v, t + MS, 8 * MS, OBJECT_TIMER);
	}
	silent(s, "a process that never gives the device work");

	for_steps(t)
	{
		struct event *ev;

		launches(s, v, t, 8, 7);
		ev = call(s, v, OP_CUDA_EVENT_RECORD, t + 100 * US, t + 101 * US, 7);
		stage_set(ev, COL_EVENT, 0x900);
		launches(s, v, t + 200 * US, 8, 7);
		ev = stage_call(s, v, OP_CUDA_EVENT_SYNC, 0, t + 300 * US, t + 8 * MS);
		stage_set(ev, COL_EVENT, 0x900);
	}
	silent(s, "waiting for an event that was recorded before the last launches");

	for_steps(t)
	{
		struct event *ev;

		launches(s, v, t, 8, 7);
		ev = call(s, v, OP_CUDA_EVENT_RECORD, t + 100 * US, t + 101 * US, 7);
		stage_set(ev, COL_EVENT, 0x900);
		ev = stage_call(s, v, OP_CUDA_EVENT_SYNC, 0, t + 300 * US, t + 8 * MS);
		stage_set(ev, COL_EVENT, 0x900);
	}
	tells(s, "gpu-idle", "its own code", GAPS * 2 * MS);

	for_steps(t)
	{
		launches(s, v, t, 1, 7);
		blocked(s, v, t + 20 * US, 9 * MS, OBJECT_TIMER);
	}
	tells(s, "gpu-idle", "up to", GAPS * 9 * MS);

	/* One thread waits for the other, which sleeps. */
	for_steps(t)
	{
		launches(s, other, t, 1, 7);
		work(s, v, t + 100 * US, 8, t + 8 * MS);
		woken(blocked(s, v, t + 8 * MS + 5 * US, 2090 * US, OBJECT_FUTEX), other);
		blocked(s, other, t + 8010 * US, 1900 * US, OBJECT_TIMER);
	}
	/* The other's launch ends the gap. */
	tells(s, "gpu-idle", "a sleep", GAPS * 1900 * US);
}

/* Work for half a second, and then nothing: the recording ends while the thread waits. */
static void stands_still(struct stage *s, struct actor v, struct actor other)
{
	static const struct {
		const char *name;
		bool unended, other;
		int64_t ns;
	} table[] = { { "until the end: waiting for another thread", true, false, 4000 * MS },
		      { "until the end: waiting for another thread", false, false, 4000 * MS },
		      { "a wait that has lasted for less than a second", true, false, 900 * MS },
		      { "another thread of the device that goes on", true, true, 4000 * MS } };

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int64_t last = 500 * MS - STEP + 9 * MS;
		struct event *ev;

		for (int64_t t = 0; t < 500 * MS; t += STEP) {
			work(s, v, t, 8, t + 9 * MS);
			if (table[i].other)
				work(s, other, t, 8, t + 9 * MS);
		}
		ev = blocked(s, v, last + 10 * US, table[i].ns, OBJECT_FUTEX);
		if (table[i].unended)
			ev->present &= ~(1ull << op_column(world_op(s->w, ev->op), COL_CPU_IN));
		/* It is off its CPU for a moment only. */
		if (table[i].other)
			blocked(s, other, last + 3000 * MS, 10 * MS, OBJECT_TIMER);
		if (i < 2)
			told_among(s, "gpu-idle", table[i].name, (uint64_t)table[i].ns);
		else
			never_says(s, "until the end", table[i].name);
	}
}

/* A loop of four seconds that waits for an answer a few times, so long each time. */
static void few_stalls(struct stage *s, struct actor v)
{
	static const struct {
		unsigned times;
		int64_t ns;
		bool told;
	} table[] = { { 3, 300 * MS, true },  { 2, 300 * MS, true },  { 3, 100 * MS, false },
		      { 1, 900 * MS, false }, { 1, 1200 * MS, true }, { 5, 20 * MS, true } };

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int64_t t = 0, ns = table[i].ns;
		char name[64];

		for (unsigned k = 0; k < table[i].times; k++, t += ns) {
			for (unsigned n = 0; n < 2000 * MS / STEP / table[i].times; n++, t += STEP)
				work(s, v, t, 8, t + STEP - 100 * US);
			blocked(s, v, t, ns, OBJECT_SOCKET);
		}
		for (unsigned n = 0; n < 2000 * MS / STEP; n++, t += STEP)
			work(s, v, t, 8, t + STEP - 100 * US);
		snprintf(name, sizeof(name), "%u waits of %lld ms", table[i].times,
			 (long long)(ns / MS));
		if (table[i].told)
			told_among(s, "gpu-idle", "waiting for a socket",
				   table[i].times * (uint64_t)ns);
		else
			never_says(s, "waiting for a socket", name);
	}
}

static void shared_device(struct stage *s, struct actor v, struct actor peer)
{
	struct actor a = on_gpu(s, v, "GPU-1"), b = on_gpu(s, peer, "GPU-1"),
		     c = on_gpu(s, peer, "GPU-2");

	for_steps(t)
	{
		work(s, a, t, 8, t + 8 * MS);
		work(s, b, t + 7 * MS, 8, t + 12 * MS);
	}
	silent(s, "another process keeps the device busy");
	for_steps(t)
	{
		work(s, a, t, 8, t + 9990 * US);
		work(s, c, t + 3 * MS, 8, t + 11 * MS);
	}
	tells(s, "gpu-idle", "pid 300", GAPS * 2 * MS);
}

/* In every other half of a second a peer works beside; a step then takes `beside`. */
static void taking_turns(struct stage *s, struct actor a, struct actor b, int64_t beside)
{
	for (int64_t from = 0; from < LENGTH; from += 500 * MS) {
		bool shared = from / (500 * MS) % 2;
		int64_t step = shared ? beside : 5 * MS;

		for (int64_t t = from; t + step <= from + 500 * MS; t += step)
			work(s, a, t, 8, t + step);
		for (int64_t t = from; shared && t + 4 * MS < from + 500 * MS; t += 4 * MS)
			work(s, b, t + 100 * US, 8, t + 4 * MS);
	}
}

static void shared(struct stage *s, struct actor v, struct actor peer)
{
	struct actor a = on_gpu(s, v, "GPU-1"), b = on_gpu(s, peer, "GPU-1"),
		     c = on_gpu(s, peer, "GPU-2");

	/* 62 steps of 8 ms in each of five halves of a second. */
	taking_turns(s, a, b, 8 * MS);
	tells(s, "gpu-shared", "serve (pid 300) shares the GPU with train (pid 100)",
	      5 * 62 * 3 * MS);
	taking_turns(s, a, b, 5 * MS);
	not_told(s, "gpu-shared", "a peer beside whom nothing takes longer");
	taking_turns(s, a, c, 8 * MS);
	not_told(s, "gpu-shared", "a peer on another GPU");
	taking_turns(s, v, peer, 8 * MS);
	not_told(s, "gpu-shared", "a peer, and nobody says on which GPU");
}

static void storms(struct stage *s, struct actor v)
{
	int64_t t;
	uint64_t n = 0;

	for (t = 0; t < LENGTH; t += 80 * US, n++)
		work(s, v, t, 1, t + 60 * US);
	tells(s, "sync-storm", "after every launch", (n - 1) * 25 * US);

	for (n = t = 0; t < LENGTH; t += 100 * US, n++)
		work(s, v, t, 3, t + 80 * US);
	tells(s, "sync-storm", "after every 3.0 launches", (n - 1) * 25 * US);

	for (t = 0; t < LENGTH; t += MS)
		work(s, v, t, 20, t + 985 * US);
	silent(s, "the same short gaps behind steps of twenty launches");

	for (n = t = 0; t < LENGTH; t += 2 * MS, n++)
		work(s, v, t, 1, t + MS);
	tells(s, "gpu-idle", "its own code", (n - 1) * MS);
}

static void bursts(struct stage *s, struct actor v)
{
	uint64_t n = 0;
	int64_t t;

	for (t = 0; t < LENGTH; t += 650 * US, n++)
		work(s, v, t, 64, t + 645 * US);
	tells(s, "launch-bound", "limited by launching", n * 635 * US);

	for (t = 0; t < LENGTH; t += 950 * US)
		work(s, v, t, 64, t + 945 * US);
	silent(s, "as many launches, and the device is not done when the program waits");

	for (t = 0; t < LENGTH; t += 150 * US)
		work(s, v, t, 12, t + 145 * US);
	silent(s, "a few launches and a short wait, at once the next");

	for (t = 0; t < LENGTH; t += 3 * MS) {
		launches(s, v, t, 32, 7);
		call(s, v, OP_CUDA_STREAM_SYNC, t + 2980 * US, t + 2985 * US, 7);
	}
	silent(s, "launches, and then computing for long while the device works");
}

/* Work and waits of one device, step by step. */
static void streams(void)
{
	static const struct {
		const char *name;
		struct device_call calls[6];
		unsigned busy;
	} table[] = {
		{ "work", { { DEVICE_SUBMIT, 1, 7, 0, 0, 1 } }, 1 },
		{ "work and a wait",
		  { { DEVICE_SUBMIT, 1, 7, 0, 0, 1 }, { DEVICE_SYNC_STREAM, 1, 7, 0, 2, 3 } },
		  0 },
		{ "a wait for another stream",
		  { { DEVICE_SUBMIT, 1, 7, 0, 0, 1 }, { DEVICE_SYNC_STREAM, 1, 8, 0, 2, 3 } },
		  1 },
		{ "a wait for the device",
		  { { DEVICE_SUBMIT, 1, 7, 0, 0, 1 },
		    { DEVICE_SUBMIT, 1, 8, 0, 1, 2 },
		    { DEVICE_SYNC, 1, 0, 0, 2, 3 } },
		  0 },
		{ "work that another thread submits during the wait",
		  { { DEVICE_SUBMIT, 1, 7, 0, 0, 1 },
		    { DEVICE_SUBMIT, 2, 7, 0, 3, 4 },
		    { DEVICE_SYNC, 1, 0, 0, 2, 5 } },
		  1 },
		{ "the default stream under two names",
		  { { DEVICE_SUBMIT, 1, 1, 0, 0, 1 }, { DEVICE_SYNC_STREAM, 1, 0, 0, 2, 3 } },
		  0 },
		{ "the default streams of two threads",
		  { { DEVICE_SUBMIT, 1, 2, 0, 0, 1 }, { DEVICE_SYNC_STREAM, 2, 2, 0, 2, 3 } },
		  1 },
		{ "a copy that returns when it is done", { { DEVICE_COPY, 1, 0, 0, 0, 5 } }, 0 },
		{ "a copy, and work on another stream",
		  { { DEVICE_SUBMIT, 1, 7, 0, 0, 1 }, { DEVICE_COPY, 1, 0, 0, 2, 5 } },
		  1 },
		{ "work recorded into a graph",
		  { { DEVICE_CAPTURE, 1, 7, 0, 0, 1 }, { DEVICE_SUBMIT, 1, 7, 0, 2, 3 } },
		  0 },
		{ "work after that",
		  { { DEVICE_CAPTURE, 1, 7, 0, 0, 1 },
		    { DEVICE_CAPTURED, 1, 7, 0, 2, 3 },
		    { DEVICE_SUBMIT, 1, 7, 0, 4, 5 } },
		  1 },
		{ "a stream that waits for another, and is waited for",
		  { { DEVICE_SUBMIT, 1, 7, 0, 0, 1 },
		    { DEVICE_RECORD, 1, 7, 0x9, 2, 3 },
		    { DEVICE_WAIT_EVENT, 1, 8, 0x9, 4, 5 },
		    { DEVICE_SUBMIT, 1, 8, 0, 6, 7 },
		    { DEVICE_SYNC_STREAM, 1, 8, 0, 8, 9 } },
		  0 },
		{ "an event that nobody recorded",
		  { { DEVICE_SUBMIT, 1, 7, 0, 0, 1 }, { DEVICE_SYNC_EVENT, 1, 0, 0x9, 2, 3 } },
		  1 },
	};

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct devices ds = { 0 };
		uint32_t at = devices_find(&ds, 1, 0);

		for (unsigned k = 0; k < 6 && table[i].calls[k].act; k++)
			devices_call(&ds, at, &table[i].calls[k]);
		is_int((int)ds.v.v[at].busy, (int)table[i].busy, "busy streams: %s", table[i].name);
		devices_free(&ds);
	}
}

int main(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     other = stage_actor(&s, 100, 101, 1, "backward"),
		     worker = stage_actor(&s, 200, 200, 100, "pt_data_worker"),
		     peer = stage_actor(&s, 300, 300, 1, "serve"),
		     cache = stage_actor(&s, 400, 400, 1, "cache");

	streams();
	idle_by_state(&s, v, worker);
	behind_the_wait(&s, v, worker, cache);
	idle_or_lossy(&s, v);
	idle_or_not(&s, v, other);
	stands_still(&s, v, other);
	few_stalls(&s, v);
	shared_device(&s, v, peer);
	shared(&s, v, peer);
	storms(&s, v);
	bursts(&s, v);
	stage_free(&s);
	return tap_done();
}
