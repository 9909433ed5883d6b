/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts that stand on what the kernel, the recorder or NVML said: each told from one stream, and not
 * from one that looks like it. Streams are five seconds of a thread that makes a call every 2 ms.
 */
#include "tests/tap.h"

#include "lib/base/hash.h"
#include "lib/event/chain.h"
#include "tests/unit/events.h"

#define LENGTH (5000 * MS)
#define GPU    1 /* the first a world is told of */

struct play {
	struct cause_sink sink;
	struct chain_list list;
};

static int told(struct cause_sink *s, const struct record *r, struct err *e)
{
	return chain_list_add(&((struct play *)s)->list, r, e);
}

static void analyze(struct stage *s, struct play *p)
{
	struct stream_item it = { .kind = STREAM_RECORD };
	struct cause *c;

	memset(p, 0, sizeof(*p));
	p->sink.record = told;
	stage_sort(s);
	c = cause_new(s->w, NULL, &p->sink);
	for (size_t i = 0; i < s->rec.n; i++) {
		it.record = &s->rec.v[i];
		cause_item(c, &it, NULL);
	}
	it = (struct stream_item){ .kind = STREAM_EVENTS, .events = s->ev.v, .n = s->ev.n };
	cause_item(c, &it, NULL);
	cause_finish(c, NULL);
	cause_free(c);
	s->ev.n = s->rec.n = 0;
}

static void silent(struct stage *s, const char *name)
{
	struct play p;

	analyze(s, &p);
	ok(p.list.v.n == 0, "silent: %s", name);
	for (size_t i = 0; i < p.list.v.n; i++)
		printf("# %s\n", p.list.v.v[i].summary.p);
	chain_list_free(&p.list);
}

static void tells(struct stage *s, const char *kind, const char *says, uint64_t lost_ns)
{
	struct play p;

	analyze(s, &p);
	ok(p.list.v.n == 1, "%s: one chain", kind);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *c = &p.list.v.v[i];

		is_str(c->kind.p, kind, "%s: its kind", kind);
		like(c->summary.p, says, "%s: %s", kind, says);
		is_u64(c->lost_ns, lost_ns, "%s: the time", kind);
	}
	chain_list_free(&p.list);
}

static void calls(struct stage *s, struct actor v)
{
	stage_event(s, OP_CUDA_LAUNCH, v.ctx, 0, 0, 100 * US);
	for (int64_t t = MS; t < LENGTH; t += 2 * MS)
		stage_call(s, v, OP_CUDA_LAUNCH, 0, t, t + 200 * US);
}

static struct record *sample(struct stage *s, int64_t time, enum metric_id metric, double value)
{
	struct record *r = stage_record(s, RECORD_SAMPLE);

	REC_SET(r, SAMPLE, time_ns, time);
	REC_SET(r, SAMPLE, metric, metric);
	REC_SET(r, SAMPLE, value, value);
	return r;
}

static void gpu_sample(struct stage *s, int64_t time, enum metric_id metric, double value)
{
	struct record *r = sample(s, time, metric, value);

	REC_SET(r, SAMPLE, gpu, GPU);
}

static void cgroup_sample(struct stage *s, int64_t time, enum metric_id metric, double value)
{
	struct record *r = sample(s, time, metric, value);

	REC_SET(r, SAMPLE, cgroup, 1);
}

/* A GPU sampled once a second: busy percent, its clock of 2 GHz at most, and what limits it. */
static void gpu(struct stage *s, double busy, double clock, double limits)
{
	for (int64_t t = MS; t <= LENGTH + MS; t += 1000 * MS) {
		gpu_sample(s, t, METRIC_GPU_BUSY, busy);
		gpu_sample(s, t, METRIC_GPU_SM_CLOCK, clock);
		gpu_sample(s, t, METRIC_GPU_SM_CLOCK_MAX, 2e9);
		gpu_sample(s, t, METRIC_GPU_TEMPERATURE, 90);
		gpu_sample(s, t, METRIC_GPU_CLOCK_LIMITS, limits);
	}
}

static void link(struct stage *s, double busy, double width, double gen)
{
	for (int64_t t = 0; t <= LENGTH; t += 1000 * MS) {
		gpu_sample(s, t, METRIC_GPU_BUSY, busy);
		gpu_sample(s, t, METRIC_GPU_PCIE_WIDTH_MAX, 16);
		gpu_sample(s, t, METRIC_GPU_PCIE_GEN_MAX, 5);
		gpu_sample(s, t, METRIC_GPU_PCIE_WIDTH, width);
		gpu_sample(s, t, METRIC_GPU_PCIE_GEN, gen);
	}
}

static void open_call(struct stage *s, struct actor v, int64_t start, int64_t now, bool at_end)
{
	struct record *r = stage_record(s, RECORD_OPEN);

	REC_SET(r, OPEN, time_ns, now);
	REC_SET(r, OPEN, thread, v.thread);
	REC_SET(r, OPEN, op, OP_CUDA_DEVICE_SYNC);
	REC_SET(r, OPEN, start_ns, start);
	REC_SET(r, OPEN, depth, 0);
	if (at_end)
		REC_SET(r, OPEN, at_end, 1);
}

static void clock_at(struct stage *s, int64_t time)
{
	struct record *r = stage_record(s, RECORD_SESSION);

	REC_SET(r, SESSION, start_ns, 0);
	r = stage_record(s, RECORD_CLOCK);

	REC_SET(r, CLOCK, mono_ns, time);
	REC_SET(r, CLOCK, source, bytes_of("end"));
}

/* The process's memory counts in a cgroup that no event names; its limit was hit that often before
 * and after. */
static void memory_of(struct stage *s, struct actor a, const char *path, double before,
		      double after)
{
	struct world_cgroup g = { .node = s->node,
				  .id = hash_bytes(path, strlen(path), 0),
				  .path = world_string(s->w, bytes_of(path)) };
	uint32_t cgroup = world_cgroup(s->w, &g);
	struct {
		uint32_t metric;
		double value;
		bool of_process;
	} said[] = { { METRIC_CGROUP_MEM_USED, 1 << 29, true },
		     { METRIC_CGROUP_MEM_USED, 1 << 30, false },
		     { METRIC_CGROUP_MEM_LIMIT, 1 << 30, false },
		     { METRIC_CGROUP_MEM_MAX, before, false },
		     { METRIC_CGROUP_MEM_MAX, after, false } };

	for (unsigned i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		struct record r = { .kind = RECORD_SAMPLE };

		REC_SET(&r, SAMPLE, time_ns, 0);
		REC_SET(&r, SAMPLE, metric, said[i].metric);
		REC_SET(&r, SAMPLE, value, said[i].value);
		REC_SET(&r, SAMPLE, cgroup, cgroup);
		if (said[i].of_process)
			REC_SET(&r, SAMPLE, process, a.process);
		if (!vec_push(&s->rec, r))
			abort();
	}
}

/* Asleep in a page fault, in that function. */
static void faulting(struct stage *s, struct actor a, int64_t t, int64_t ns, const char *function)
{
	struct world_frame f = { .kind = FRAME_PYTHON,
				 .offset = 31,
				 .name = world_string(s->w, bytes_of(function)),
				 .file = world_string(s->w, bytes_of("/job/data.py")) };
	uint32_t frame = world_frame(s->w, &f);
	struct event *ev = stage_offcpu(s, a, 0, t, t + ns, 0, 0);

	stage_set(ev, COL_OBJECT_KIND, OBJECT_FAULT);
	ev->stack = world_stack(s->w, &frame, 1);
}

/* One chain, whose culprit is in that process. */
static void blames(struct stage *s, const char *kind, uint32_t pid)
{
	struct play p;

	analyze(s, &p);
	ok(p.list.v.n == 1, "%s: one chain", kind);
	for (size_t i = 0; i < p.list.v.n; i++) {
		is_u64(p.list.v.v[i].culprit.pid, pid, "%s: the process of its culprit", kind);
	}
	chain_list_free(&p.list);
}

static uint64_t severity_of_xid(struct stage *s, unsigned xid)
{
	uint64_t severity;
	struct play p;

	gpu_sample(s, 2000 * MS, METRIC_GPU_XID, xid);
	analyze(s, &p);
	severity = p.list.v.n == 1 ? p.list.v.v[0].severity : 0;
	chain_list_free(&p.list);
	return severity;
}

int main(void)
{
	struct stage s = stage_new();
	struct world_gpu g = { .node = s.node,
			       .uuid = world_string(s.w, bytes_of("GPU-1234")),
			       .name = world_string(s.w, bytes_of("H200")) };
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     other = stage_actor(&s, 200, 200, 50, "hog"),
		     second = stage_actor(&s, 100, 101, 1, "loader");
	int64_t t;

	is_u64(world_gpu(s.w, &g), GPU, "the GPU's id");

	/* throttle */
	calls(&s, v);
	gpu(&s, 80, 1e9, 0x40);
	tells(&s, "throttle", "too hot (hardware slowdown)", 5000 * MS * 4 / 10);
	calls(&s, v);
	gpu(&s, 0, 1e9, 0x40);
	silent(&s, "a hot GPU without work");
	calls(&s, v);
	gpu(&s, 80, 1e9, 0x1);
	silent(&s, "a low clock, as of an idle device");
	calls(&s, v);
	gpu(&s, 80, 1.98e9, 0x4);
	silent(&s, "a power limit that takes 1 % of the clock");
	calls(&s, v);
	for (t = 0; t < LENGTH; t += 1000 * MS)
		gpu_sample(&s, t, METRIC_GPU_CLOCK_LIMITS, 0x40);
	silent(&s, "limits without knowing whether there was work");

	/* device-fault */
	calls(&s, v);
	gpu_sample(&s, 2000 * MS, METRIC_GPU_XID, 79);
	tells(&s, "device-fault", "fallen off the bus", 0);
	calls(&s, v);
	gpu_sample(&s, 2000 * MS, METRIC_GPU_XID, 7777);
	tells(&s, "device-fault", "XID 7777", 0);
	calls(&s, v);
	is_u64(severity_of_xid(&s, 79), 3, "a device that is gone is grave");
	calls(&s, v);
	is_u64(severity_of_xid(&s, 63), 2, "memory that was put aside is less so");
	calls(&s, v);
	is_u64(severity_of_xid(&s, 45), 1, "what is left of a program that ended is not");
	calls(&s, v);
	link(&s, 80, 4, 5);
	tells(&s, "device-fault", "4 of 16 lanes", 0);
	calls(&s, v);
	link(&s, 80, 16, 3);
	tells(&s, "device-fault", "generation 3 of 5", 0);
	calls(&s, v); /* and gets them back */
	for (t = 0; t <= LENGTH; t += 1000 * MS) {
		gpu_sample(&s, t, METRIC_GPU_BUSY, 80);
		gpu_sample(&s, t, METRIC_GPU_PCIE_WIDTH_MAX, 16);
		gpu_sample(&s, t, METRIC_GPU_PCIE_WIDTH, t < 3000 * MS ? 8 : 16);
	}
	tells(&s, "device-fault", "lost lanes: 8 of 16 lanes", 0);
	calls(&s, v);
	link(&s, 0, 4, 1);
	silent(&s, "a link that rests while there is no work");
	calls(&s, v);
	for (t = 0; t < LENGTH; t += 1000 * MS)
		gpu_sample(&s, t, METRIC_GPU_ECC_UNCORRECTED, 3);
	silent(&s, "memory errors of long ago");
	calls(&s, v);
	for (t = 0; t < LENGTH; t += 1000 * MS)
		gpu_sample(&s, t, METRIC_GPU_ECC_UNCORRECTED, t < 2000 * MS ? 3 : 5);
	tells(&s, "device-fault", "could not be corrected", 0);

	/* oom-kill */
	calls(&s, v);
	sample(&s, 0, METRIC_MEM_AVAILABLE, 64 << 20);
	stage_set(stage_event(&s, OP_PROC_OOM, v.ctx, 0, LENGTH, LENGTH), COL_TRIGGER,
		  other.thread);
	tells(&s, "oom-kill", "asked for by hog (tid 200)", 0);
	calls(&s, v);
	stage_set(stage_event(&s, OP_PROC_OOM, v.ctx, 0, LENGTH, LENGTH), COL_TRIGGER,
		  second.thread);
	blames(&s, "oom-kill", 100);
	calls(&s, v);
	cgroup_sample(&s, 0, METRIC_CGROUP_MEM_LIMIT, 1 << 30);
	cgroup_sample(&s, 0, METRIC_CGROUP_MEM_MAX, 5);
	cgroup_sample(&s, 1000 * MS, METRIC_CGROUP_MEM_MAX, 9);
	stage_set(stage_event(&s, OP_PROC_OOM, v.ctx, 0, LENGTH, LENGTH), COL_TRIGGER, v.thread);
	tells(&s, "oom-kill", "the limit of cgroup /job, 1.0 GiB, was reached", 0);
	calls(&s, v);
	cgroup_sample(&s, 0, METRIC_CGROUP_MEM_LIMIT, 1 << 30);
	cgroup_sample(&s, 0, METRIC_CGROUP_MEM_MAX, 5);
	cgroup_sample(&s, 1000 * MS, METRIC_CGROUP_MEM_MAX, 9);
	sample(&s, 0, METRIC_MEM_AVAILABLE, 64 << 20);
	sample(&s, 0, METRIC_MEM_USED, 1000 << 20);
	stage_set(stage_event(&s, OP_PROC_OOM, v.ctx, 0, LENGTH, LENGTH), COL_TRIGGER,
		  other.thread);
	tells(&s, "oom-kill", "the recording does not say", 0);
	calls(&s, v); /* the limit is that of a cgroup above the one that the thread is in */
	memory_of(&s, v, "/pods", 0, 3);
	stage_set(stage_event(&s, OP_PROC_OOM, v.ctx, 0, LENGTH, LENGTH), COL_TRIGGER, v.thread);
	tells(&s, "oom-kill", "the limit of cgroup /pods, 1.0 GiB, was reached", 0);
	calls(&s, v);
	sample(&s, 0, METRIC_MEM_AVAILABLE, 1 << 20);
	silent(&s, "little memory left, and nobody killed");

	/* memory-pressure */
	calls(&s, v);
	for (t = 0; t < LENGTH; t += 10 * MS)
		stage_event(&s, OP_MEM_RECLAIM, v.ctx, 0, t + 2 * MS, t + 3 * MS);
	tells(&s, "memory-pressure", "reclaiming memory", 500 * MS);
	calls(&s, v);
	for (t = 0; t < LENGTH; t += 10 * MS) { /* a fault that has to reclaim before it can read */
		stage_event(&s, OP_MEM_FAULT, v.ctx, 0, t + 3300 * US, t + 4900 * US);
		stage_event(&s, OP_MEM_RECLAIM, v.ctx, 0, t + 3300 * US, t + 4300 * US);
	}
	tells(&s, "memory-pressure", "mostly reclaiming memory for itself", 800 * MS);
	for (unsigned swapped = 0; swapped < 2;
	     swapped++) { /* asleep in it for most of the time, and for long */
		for (t = 0; t < LENGTH; t += 500 * MS) {
			stage_call(&s, v, OP_CUDA_MALLOC, 0, t, t + 200 * US);
			faulting(&s, v, t + 10 * MS, 290 * MS, "lookup");
			stage_event(&s, swapped ? OP_MEM_FAULT : OP_MEM_RECLAIM, v.ctx, 0,
				    t + 10 * MS, t + 310 * MS);
		}
		tells(&s, "memory-pressure",
		      swapped ? "(62.4% of wall time, 10 times) for want of memory, mostly "
				"reading back what was swapped out in lookup"
			      : "(62.4% of wall time, 10 times) for want of memory, mostly "
				"reclaiming memory for itself in lookup",
		      3000 * MS);
	}
	calls(&s, v);
	for (t = 0; t < LENGTH; t += 10 * MS)
		stage_event(&s, OP_MEM_RECLAIM, v.ctx, 0, t + 2 * MS, t + 2 * MS + 50 * US);
	silent(&s, "reclaiming for half a percent of the time");
	calls(&s, v);
	memory_of(&s, v, "memory:/pod", 0, 0);
	memory_of(&s, v, "memory:/pod/app", 10, 15);
	for (t = 0; t < LENGTH; t += 10 * MS)
		stage_event(&s, OP_MEM_RECLAIM, v.ctx, 0, t + 2 * MS, t + 3 * MS);
	tells(&s, "memory-pressure", "its cgroup memory:/pod/app is at its limit of 1.0 GiB",
	      500 * MS);
	calls(&s, v);
	memory_of(&s, v, "/slowed", 10, 15);
	for (size_t i = s.rec.n - 2; i < s.rec.n; i++)
		s.rec.v[i].u.SAMPLE.metric = METRIC_CGROUP_MEM_HIGH;
	for (t = 0; t < LENGTH; t += 10 * MS)
		stage_event(&s, OP_MEM_RECLAIM, v.ctx, 0, t + 2 * MS, t + 3 * MS);
	tells(&s, "memory-pressure", "its cgroup /slowed was held back at its memory.high 5 times",
	      500 * MS);
	calls(&s, v);
	for (t = 0; t < LENGTH; t += 10 * MS)
		stage_set(stage_event(&s, OP_MEM_FAULT, v.ctx, 0, t + 2 * MS, t + 3 * MS), COL_FILE,
			  77);
	tells(&s, "disk-stall", "pages of mapped files", 500 * MS);
	for (unsigned full = 0; full < 2;
	     full++) { /* whether its cgroup stands at its limit meanwhile */
		calls(&s, v);
		memory_of(&s, v, "memory:/pod/app", 10, full ? 910 : 15);
		for (t = 0; t < LENGTH; t += 10 * MS) {
			stage_set(stage_event(&s, OP_MEM_FAULT, v.ctx, 0, t + 2 * MS, t + 3 * MS),
				  COL_FILE, 77);
			if (full)
				stage_event(&s, OP_MEM_RECLAIM, v.ctx, 0, t + 6 * MS,
					    t + 6500 * US);
		}
		tells(&s, full ? "memory-pressure" : "disk-stall",
		      full ? "mostly reading pages of files again that were dropped: its cgroup "
			     "memory:/pod/app is at its limit of 1.0 GiB"
			   : "pages of mapped files",
		      full ? 750 * MS : 500 * MS);
	}
	calls(&s, v);
	for (t = 0; t < LENGTH; t += 10 * MS) { /* where it slept in them, and not before */
		stage_set(stage_event(&s, OP_MEM_FAULT, v.ctx, 0, t + 2 * MS, t + 3 * MS), COL_FILE,
			  77);
		faulting(&s, v, t + 2 * MS, 900 * US, "lookup");
		faulting(&s, v, t + 5 * MS, 950 * US, "elsewhere");
	}
	tells(&s, "disk-stall", "to be read in lookup (data.py:31)", 500 * MS);

	/* net-loss */
	for (unsigned lossy = 0; lossy < 3; lossy++) {
		calls(&s, v);
		stage_socket(&s, 5, "192.0.2.7:5000");
		for (t = 0; t < LENGTH; t += 100 * MS) {
			/* waits for 20 ms; in the midst of it something is sent again, on this
			 * socket or another */
			stage_set(stage_event(&s, OP_NET_SOCKET, v.ctx, 0, t + MS, t + 21 * MS),
				  COL_SOCKET, 5);
			if (lossy)
				stage_set(stage_event(&s, OP_NET_RETRANSMIT, v.ctx, 0, t + 11 * MS,
						      t + 11 * MS),
					  COL_SOCKET, lossy == 1 ? 5 : 6);
		}
		if (lossy == 1)
			tells(&s, "net-loss", "longest for 192.0.2.7:5000; 50 segments",
			      50 * 20 * MS);
		else
			silent(&s, lossy ? "segments sent again on another socket"
					 : "waits for a peer that is slow");
	}

	/* stopped: both threads of the process stand still, at once, whether or not it is one that
	 * lets both go on */
	for (unsigned i = 0; i < 3; i++) {
		struct actor by = stage_actor(&s, 700 + i, 700 + i, 1,
					      i == 1 ? "ingero-record" : "slurmstepd"),
			     too = i < 2 ? by : stage_actor(&s, 710, 710, 1, "gdb");

		calls(&s, v);
		for (size_t k = 0; k < s.ev.n; k++) /* none while they stand still */
			if (s.ev.v[k].end_ns >= 2000 * MS && s.ev.v[k].end_ns < 4000 * MS &&
			    s.ev.v[k].end_ns % (1000 * MS) < 502 * MS)
				s.ev.v[k--] = s.ev.v[--s.ev.n];
		for (t = 2000 * MS; t < 4000 * MS; t += 1000 * MS) {
			for (unsigned k = 0; k < 2; k++) {
				struct event *ev = stage_offcpu(&s, k ? v : second, 0, t + MS,
								t + 501 * MS + k * 10 * US, 0, 0);

				stage_set(ev, COL_OBJECT_KIND, OBJECT_STOP);
				stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
				stage_set(ev, COL_WAKER, k ? too.thread : by.thread);
			}
		}
		if (i == 1)
			silent(&s, "stopped by the recorder, to attach");
		else
			tells(&s, "stopped",
			      i ? "gdb (pid 710) let it go on"
				: "slurmstepd (pid 700) let it go on",
			      2 * (500 * MS + 10 * US));
	}

	/* of a loader that is stopped, those who wait for it */
	for (t = 0; t < LENGTH; t += 100 * MS) {
		struct actor loader = stage_actor(&s, 720, 720, 100, "loader"),
			     by = stage_actor(&s, 700, 700, 1, "slurmstepd");
		struct event *ev = stage_offcpu(&s, v, 0, t + 10 * MS, t + 90 * MS, 0, 0);

		stage_call(&s, v, OP_CUDA_MALLOC, 0, t, t + 10 * US);
		stage_set(ev, COL_OBJECT_KIND, OBJECT_FD);
		stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
		stage_set(ev, COL_WAKER, loader.thread);
		ev = stage_offcpu(&s, loader, 0, t + 20 * MS, t + 70 * MS, 0, 1);
		stage_set(ev, COL_OBJECT_KIND, OBJECT_STOP);
		stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
		stage_set(ev, COL_WAKER, by.thread);
	}
	tells(&s, "stopped",
	      "waited for loader (pid 720), which was stopped for 2.50 s (50.1% of wall time, 50 "
	      "times); slurmstepd (pid 700) let it go on",
	      2500 * MS);

	/* call-hung: the call itself is not among the events, as it has not returned */
	calls(&s, v);
	open_call(&s, v, LENGTH, LENGTH + 6000 * MS, true);
	clock_at(&s, LENGTH + 6000 * MS);
	tells(&s, "call-hung", "has not returned for 6.00 s in cudaDeviceSynchronize", 6000 * MS);
	calls(&s, v);
	open_call(&s, v, LENGTH, LENGTH + 2000 * MS, true);
	clock_at(&s, LENGTH + 2000 * MS);
	silent(&s, "a call of two seconds in which the recording ends");
	calls(&s, v);
	open_call(&s, v, LENGTH, LENGTH, false);
	stage_call(&s, v, OP_CUDA_DEVICE_SYNC, 0, LENGTH, LENGTH + 4000 * MS);
	silent(&s, "a call that was open, and returned");
	stage_free(&s);
	return tap_done();
}
