/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections of a recording, case by case on streams made by hand: every figure against the one
 * that was put in.
 */
#include "lib/query/sections.h"

#include "lib/query/ops.h"
#include "lib/report/view_lines.h"
#include "lib/stat/series.h"
#include "tests/tap.h"
#include "tests/unit/events.h"

struct asked {
	struct filter sel;
	struct query_view *view;
	struct query_ops_run *run;
};

static void begin(struct asked *a, struct stage *s)
{
	a->run = query_ops_new(s->w, &a->sel);
	a->view = query_view_new(s->w, &a->sel, VIEW_ALL);
	query_ops_set_sections(a->run, a->view);
}

static void tell(struct asked *a, const struct record *r)
{
	struct stream_item item = { .kind = STREAM_RECORD, .record = r };
	struct err e;

	if (query_ops_item(a->run, &item, &e))
		ok(false, "records are taken: %s", e.text);
}

static const struct view *answer(struct asked *a, struct stage *s)
{
	struct stream_item item = {
		.kind = STREAM_EVENTS, .events = s->ev.v, .n = s->ev.n, .floor_ns = INT64_MIN
	};
	struct err e;

	stage_sort(s);
	item.events = s->ev.v;
	if (query_ops_item(a->run, &item, &e))
		ok(false, "events are taken: %s", e.text);
	is_int(query_ops_end(a->run, &e), 0, "the end is taken");
	return query_ops_answer(a->run)->view;
}

static void end(struct asked *a, struct stage *s)
{
	query_ops_free(a->run);
	query_view_free(a->view);
	filter_free(&a->sel);
	stage_free(s);
}

static bool is_text(const struct stage *s, uint32_t string, const char *want)
{
	return bytes_equal(world_text(s->w, string), bytes_of(want));
}

static struct record sample(int64_t time_ns, enum metric_id metric, double value)
{
	struct record r = { .kind = RECORD_SAMPLE };

	REC_SET(&r, SAMPLE, time_ns, time_ns);
	REC_SET(&r, SAMPLE, metric, metric);
	REC_SET(&r, SAMPLE, value, value);
	return r;
}

static void of_gpu(struct asked *a, uint32_t gpu, int64_t time_ns, enum metric_id metric,
		   double value)
{
	struct record r = sample(time_ns, metric, value);

	REC_SET(&r, SAMPLE, gpu, gpu);
	tell(a, &r);
}

static const struct view_metric *metric_of(const struct view *v, enum view_scope scope,
					   enum metric_id id)
{
	static const struct view_metric none;

	for (size_t i = 0; i < v->metrics.n; i++)
		if (v->metrics.v[i].scope == scope && v->metrics.v[i].metric == id)
			return &v->metrics.v[i];
	return &none;
}

static void samples(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 100, 100, 1, "train");
	struct world_gpu g = { .node = s.node, .uuid = world_string(s.w, bytes_of("GPU-1")) };
	uint32_t gpu = world_gpu(s.w, &g);
	const int64_t second = 1000 * MS;
	struct asked run = { 0 };
	const struct view_metric *m;
	const struct view *v;
	struct record r;

	begin(&run, &s);
	for (int i = 0; i < 4; i++) {
		r = sample(10 * second + i * second, METRIC_CPU_BUSY, 10.0 * (i + 1));
		tell(&run, &r);
		r = sample(10 * second + i * second, METRIC_PSI_CPU_SOME, 500000.0 * i * i);
		tell(&run, &r);
		/* Of a driver that is loaded anew. */
		of_gpu(&run, gpu, 10 * second + i * second, METRIC_GPU_ENERGY,
		       i < 2 ? 5000 + 200.0 * i : 100.0 * i);
	}
	r = sample(10 * second, METRIC_MEM_USED, 5);
	REC_SET(&r, SAMPLE, cgroup, 1);
	tell(&run, &r);
	r = sample(10 * second, METRIC_PROC_RSS, 5);
	REC_SET(&r, SAMPLE, process, a.process);
	tell(&run, &r);
	/* Idle for one second, at the power limit and too hot for two, power limit only for one,
	 * then a gap. */
	of_gpu(&run, gpu, 10 * second, METRIC_GPU_CLOCK_LIMITS, 0x1);
	of_gpu(&run, gpu, 11 * second, METRIC_GPU_CLOCK_LIMITS, 0x24);
	of_gpu(&run, gpu, 13 * second, METRIC_GPU_CLOCK_LIMITS, 0x4);
	of_gpu(&run, gpu, 14 * second, METRIC_GPU_CLOCK_LIMITS, 0x4);
	of_gpu(&run, gpu, 100 * second, METRIC_GPU_CLOCK_LIMITS, 0);
	of_gpu(&run, gpu, 12 * second, METRIC_GPU_BUSY, 97);
	r = sample(12 * second, METRIC_GPU_MEM_USED, 4096);
	REC_SET(&r, SAMPLE, gpu, gpu);
	REC_SET(&r, SAMPLE, process, a.process);
	tell(&run, &r);
	r = sample(12 * second, METRIC_GPU_XID, 79);
	REC_SET(&r, SAMPLE, gpu, gpu);
	REC_SET(&r, SAMPLE, process, a.process);
	tell(&run, &r);
	v = answer(&run, &s);

	m = metric_of(v, VIEW_NODE, METRIC_CPU_BUSY);
	is_u64(m->n, 4, "gauge: samples");
	is_near(m->sum / 4, 25, 1e-9, "gauge: mean");
	is_near(m->max, 40, 1e-9, "gauge: largest");
	is_near(m->last, 40, 1e-9, "gauge: last");
	is_u64(m->series->n, 4, "gauge: a point a second");
	is_near(m->series->v[1].sum, 20, 1e-9, "gauge: in its place");
	m = metric_of(v, VIEW_NODE, METRIC_PSI_CPU_SOME);
	is_near(m->last - m->first, 4500000, 1e-6, "counter: what it grew");
	is_near(m->max, 2500000, 1e-6, "counter: fastest growth");
	is_u64(m->series->n, 3, "counter: a rate from the second sample on");
	is_near(m->series->v[2].sum, 2500000, 1e-6, "counter: growth per second");
	is_near(m->grew, 4500000, 1e-6, "counter: what it is told to have grown");
	m = metric_of(v, VIEW_GPU_WHOLE, METRIC_GPU_ENERGY);
	is_near(m->grew, 300, 1e-6, "a counter that began anew: what it grew where that is known");
	is_u64((uint64_t)m->grew_ns, 2000 * MS, "and in how much time");
	is_u64(m->series->n, 3, "no rate is");
	is_u64(m->series->v[1].n, 0, "told of when it began anew");
	is_near(m->max, 200, 1e-6, "nor is it the largest");
	is_u64(metric_of(v, VIEW_NODE, METRIC_MEM_USED)->n, 0, "a cgroup's is not the node's");
	is_u64(metric_of(v, VIEW_NODE, METRIC_PROC_RSS)->n, 0, "nor a process's");
	is_near(metric_of(v, VIEW_GPU_WHOLE, METRIC_GPU_BUSY)->last, 97, 1e-9, "GPU: its use");
	is_near(metric_of(v, VIEW_GPU_PROCESS, METRIC_GPU_MEM_USED)->last, 4096, 1e-9,
		"GPU: what a process has of it");
	is_u64(v->gpus.n, 1, "GPU: one");
	is_u64(v->gpus.v[0].known_ns, 4 * second, "GPU: for so long its limits are known");
	is_u64(v->gpus.v[0].limit_ns[0], second, "GPU: idle");
	is_u64(v->gpus.v[0].limit_ns[2], 3 * second, "GPU: at its power limit, alone and not");
	is_u64(v->gpus.v[0].limit_ns[5], 2 * second, "GPU: too hot");
	is_u64(v->xids.n, 1, "GPU: one error");
	is_u64(v->xids.v[0].number, 79, "GPU: its number");
	is_u64(v->xids.v[0].process, a.process, "GPU: whose it was");
	ok(view_limit_bad(2) && !view_limit_bad(0), "idle clocks hold nothing down");
	end(&run, &s);
}

static struct event *block(struct stage *s, struct actor a, int64_t start, int64_t end,
			   int64_t queue, uint64_t bytes, uint64_t way)
{
	struct event *ev = stage_event(s, OP_IO_BLOCK, a.ctx, 0, start, end);

	stage_set(ev, COL_DEVICE, 8ull << 20 | 16);
	stage_set(ev, COL_BYTES, bytes);
	stage_set(ev, COL_WRITE, way);
	stage_set(ev, COL_QUEUE_NS, (uint64_t)queue);
	return ev;
}

static void input_output(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 100, 100, 1, "train");
	struct record file = { .kind = RECORD_FILE }, sock[2] = { { .kind = RECORD_SOCKET } },
		      peer[2] = { { .kind = RECORD_PEER }, { .kind = RECORD_PEER } };
	struct asked run = { 0 };
	const struct view *v;
	struct event *ev;

	begin(&run, &s);
	REC_SET(&file, FILE, id, 5);
	REC_SET(&file, FILE, path, bytes_of("/data/x"));
	REC_SET(&file, FILE, fstype, bytes_of("ext4"));
	REC_SET(&file, FILE, origin, bytes_of("/dev/sdb"));
	REC_SET(&file, FILE, mount, bytes_of("/data"));
	REC_SET(&file, FILE, device, 8 << 20 | 16);
	tell(&run, &file);
	sock[1] = sock[0];
	for (unsigned i = 0; i < 2; i++) { /* two connections to one server */
		REC_SET(&sock[i], SOCKET, id, 70 + i);
		REC_SET(&sock[i], SOCKET, protocol, bytes_of("tcp"));
		REC_SET(&sock[i], SOCKET, local, bytes_of(i ? "10.0.0.1:1001" : "10.0.0.1:1000"));
		REC_SET(&sock[i], SOCKET, remote, bytes_of("10.0.0.2:80"));
		tell(&run, &sock[i]);
	}
	for (unsigned i = 0; i < 2; i++) { /* by two workers of it */
		REC_SET(&peer[i], PEER, socket, 70 + i);
		REC_SET(&peer[i], PEER, pid, 4711 + i);
		REC_SET(&peer[i], PEER, comm, bytes_of("server"));
		tell(&run, &peer[i]);
	}
	block(&s, a, 10 * US, 40 * US, 10 * US, 4096, 0);
	block(&s, a, 50 * US, 60 * US, 2 * US, 8192, 0);
	block(&s, a, 70 * US, 75 * US, 0, 512, 1);
	ev = stage_event(&s, OP_IO_BLOCK, a.ctx, 0, 80 * US,
			 81 * US); /* without its time in the queue */
	stage_set(ev, COL_DEVICE, 8ull << 20 | 16);
	stage_set(ev, COL_WRITE, 1);
	ev = stage_event(&s, OP_IO_FILE, a.ctx, 0, 10 * US, 90 * US);
	stage_set(ev, COL_FILE, 5);
	for (unsigned i = 0; i < 3; i++) {
		ev = stage_event(&s, OP_NET_SOCKET, a.ctx, 0, 100 * US, (int64_t)(110 + i) * US);
		stage_set(ev, COL_SOCKET, 70 + i % 2);
	}
	ev = stage_event(&s, OP_NET_RETRANSMIT, a.ctx, 0, 200 * US, 200 * US);
	stage_set(ev, COL_SOCKET, 71);
	stage_set(ev, COL_SEGMENTS, 3);
	v = answer(&run, &s);

	is_u64(v->disks.n, 2, "reads and writes of a device");
	is_u64(v->disks.v[0].device, 8ull << 20 | 16, "which");
	is_u64(v->disks.v[0].count, 2, "two reads");
	is_u64(v->disks.v[0].bytes, 12288, "of so many bytes");
	is_u64(v->disks.v[0].queue_ns, 12 * US, "in the queue");
	is_u64(v->disks.v[0].device_ns, 28 * US, "and at the device");
	is_u64(v->disks.v[0].max_ns, 30 * US, "the longest, both together");
	ok(is_text(&s, v->disks.v[0].mount, "/data"), "what is mounted from it");
	is_u64(v->disks.v[1].way, 1, "writes");
	is_u64(v->disks.v[1].count, 2, "two");
	is_u64(v->disks.v[1].queued, 1, "of one of which it is known when the device got it");
	is_u64(v->disks.v[1].device_ns, 5 * US, "which was at once");
	is_u64(v->files.n, 1, "one file waited for");
	ok(is_text(&s, v->files.v[0].path, "/data/x"), "which");
	is_u64(v->files.v[0].ns, 80 * US, "how long");
	is_u64(v->sockets.n, 1, "connections to one server are one row");
	is_u64(v->sockets.v[0].count, 3, "waits");
	is_u64(v->sockets.v[0].ns, 33 * US, "how long");
	is_u64(v->sockets.v[0].max_ns, 12 * US, "the longest");
	is_u64(v->sockets.v[0].retransmits, 1, "sent again");
	is_u64(v->sockets.v[0].segments, 3, "segments");
	is_u64(v->sockets.v[0].local, 0, "the near ends are several");
	is_u64(v->sockets.v[0].peer_pid, 0, "and so are the processes at the far one");
	ok(is_text(&s, v->sockets.v[0].peer_comm, "server"), "of one command");
	end(&run, &s);
}

/* Two machines number their devices alike, and have connections that read alike: what is said of
 * both holds. */
static void machines(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 100, 100, 1, "train");
	struct record sock = { .kind = RECORD_SOCKET };
	struct asked run = { 0 };
	const struct view *v;

	world_node(s.w, &(struct world_node){ .uuid = { 9 }, .boot = 8 });
	begin(&run, &s);
	REC_SET(&sock, SOCKET, id, 70);
	REC_SET(&sock, SOCKET, protocol, bytes_of("tcp"));
	REC_SET(&sock, SOCKET, remote, bytes_of("127.0.0.1:6379"));
	tell(&run, &sock);
	for (unsigned i = 0; i < 2; i++) {
		struct record file = { .kind = RECORD_FILE }, peer = { .kind = RECORD_PEER };

		REC_SET(&file, FILE, id, 5 + i);
		REC_SET(&file, FILE, path, bytes_of("/data/x"));
		REC_SET(&file, FILE, origin, bytes_of("/dev/sdb"));
		REC_SET(&file, FILE, mount, bytes_of(i ? "/scratch" : "/data"));
		REC_SET(&file, FILE, device, 8 << 20 | 16);
		tell(&run, &file);
		REC_SET(&peer, PEER, socket, 70);
		REC_SET(&peer, PEER, pid, 4711 + i);
		REC_SET(&peer, PEER, comm, bytes_of("redis-server"));
		tell(&run, &peer);
	}
	block(&s, a, 10 * US, 40 * US, 10 * US, 4096, 0);
	stage_set(stage_event(&s, OP_NET_SOCKET, a.ctx, 0, 100 * US, 110 * US), COL_SOCKET, 70);
	v = answer(&run, &s);

	ok(is_text(&s, v->disks.v[0].origin, "/dev/sdb"), "devices of one name");
	is_u64(v->disks.v[0].mount, 0, "are not mounted in one place");
	is_u64(v->sockets.v[0].peer_pid, 0, "the far ends are two processes");
	ok(is_text(&s, v->sockets.v[0].peer_comm, "redis-server"), "of one command");
	end(&run, &s);
}

static const struct view_detail *detail(const struct stage *s, const struct view *v, uint16_t op,
					const char *text)
{
	static const struct view_detail none = { .part = PART_COUNT };

	for (size_t i = 0; i < v->details.n; i++)
		if (v->details.v[i].op->id == op && is_text(s, v->details.v[i].text, text))
			return &v->details.v[i];
	for (size_t i = 0; i < v->details.n; i++) {
		struct bytes b = world_text(s->w, v->details.v[i].text);

		printf("# there is %s: %.*s\n", v->details.v[i].op->name, (int)b.n, b.p);
	}
	return &none;
}

static void host(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 100, 100, 1, "train");
	struct actor hog = stage_actor(&s, 200, 200, 1, "hog");
	struct record node = { .kind = RECORD_NODE };
	struct asked run = { 0 };
	const struct view *v;
	uint64_t sum = 0, waited = 0;
	struct event *ev;

	begin(&run, &s);
	REC_SET(&node, NODE, arch, bytes_of("x86_64"));
	tell(&run, &node);
	stage_occupied(&s, hog, 0, 210 * US, 240 * US);
	stage_offcpu(&s, a, 1, 210 * US, 240 * US, 30 * US, 0);
	stage_call(&s, a, OP_CUDA_LAUNCH, 0, 200 * US, 260 * US);
	ev = stage_offcpu(&s, a, 0, 300 * US, 350 * US, 0, 0);
	stage_set(ev, COL_SYSCALL, 35);
	stage_set(ev, COL_OBJECT_KIND, OBJECT_TIMER);
	ev = stage_offcpu(&s, a, 0, 400 * US, 420 * US, 0, 0);
	stage_set(ev, COL_SYSCALL, 4242);
	stage_offcpu(&s, a, 0, 500 * US, 540 * US, 30 * US,
		     3); /* 10 us asleep, 30 us ready; who ran there is not known */
	v = answer(&run, &s);

	is_u64(detail(&s, v, OP_SCHED_OFFCPU, "hog (pid 200)")->ns, 30 * US, "who had the CPU");
	is_int(detail(&s, v, OP_SCHED_OFFCPU, "hog (pid 200)")->part, PART_PREEMPTED, "and how");
	is_u64(detail(&s, v, OP_SCHED_OFFCPU, "nanosleep (sleep)")->ns, 50 * US,
	       "in which call it slept");
	is_u64(detail(&s, v, OP_SCHED_OFFCPU, "system call 4242")->ns, 20 * US,
	       "also in one without a name");
	is_u64(detail(&s, v, OP_SCHED_OCCUPIED, "hog (pid 200)")->ns, 30 * US, "who ran");
	for (size_t i = 0; i < v->details.n; i++)
		sum += v->details.v[i].op->id == OP_SCHED_OFFCPU ? v->details.v[i].ns : 0;
	is_u64(detail(&s, v, OP_SCHED_OFFCPU, "cause not recorded")->ns, 10 * US,
	       "why is not known");
	for (size_t i = 0; i < v->details.n; i++)
		if (v->details.v[i].about == VIEW_ABOUT_STATE)
			waited += v->details.v[i].ns;
	is_u64(waited, 30 * US, "ready to run, and nobody to name");
	is_u64(sum, 140 * US, "what it was about sums up to all time off the CPU");
	is_u64(v->times.n, 1, "one process calls");
	is_u64(v->times.v[0].ns, 340 * US,
	       "its time, from the first call to the last it is known of");
	is_u64(v->times.v[0].in_calls[PART_PREEMPTED], 30 * US, "taken in a call");
	is_u64(v->times.v[0].in_calls[PART_SELF], 30 * US, "and the rest of it");
	is_u64(v->times.v[0].outside[PART_SLEEP], 50 * US, "asleep outside");
	end(&run, &s);
}

/* More threads took a thread's CPU than are told one by one: the rest is told together, and nothing
 * is missing. */
static void many(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 100, 100, 1, "train");
	struct asked run = { 0 };
	const struct view *v;
	uint64_t sum = 0, other = 0, rows = 0;
	char comm[16];

	begin(&run, &s);
	for (unsigned i = 0; i < 200; i++) {
		struct actor hog;

		snprintf(comm, sizeof(comm), "hog-%u", i);
		hog = stage_actor(&s, 1000 + i, 1000 + i, 1, comm);
		stage_occupied(&s, hog, 0, (int64_t)(100 * i) * US,
			       (int64_t)(100 * i + 10 + i) * US);
		stage_offcpu(&s, a, 0, (int64_t)(100 * i) * US, (int64_t)(100 * i + 10 + i) * US,
			     (10 + i) * US, 0);
	}
	v = answer(&run, &s);
	for (size_t i = 0; i < v->details.n; i++) {
		const struct view_detail *d = &v->details.v[i];

		if (d->op->id != OP_SCHED_OFFCPU)
			continue;
		rows++;
		sum += d->ns;
		other += d->about == VIEW_ABOUT_OTHER;
	}
	is_u64(rows, 64, "no more than are told");
	is_u64(other, 1, "one of them is all else");
	is_u64(sum, (200 * 10 + 199 * 100) * US, "together all of it");
	end(&run, &s);
}

/* Many short connections to one server, each of them less than any of those to more servers than
 * are told one by one: the one server had most. */
static void short_connections(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 100, 100, 1, "train");
	struct asked run = { 0 };
	const struct view *v;
	char remote[32];

	begin(&run, &s);
	for (unsigned i = 0; i < 300; i++) {
		struct record r = { .kind = RECORD_SOCKET };
		int64_t t = 100 * i * US;

		snprintf(remote, sizeof(remote), "10.0.%u.2:80", i < 100 ? i : 255);
		REC_SET(&r, SOCKET, id, 1000 + i);
		REC_SET(&r, SOCKET, protocol, bytes_of("tcp"));
		REC_SET(&r, SOCKET, remote, bytes_of(remote));
		tell(&run, &r);
		stage_set(stage_event(&s, OP_NET_SOCKET, a.ctx, 0, t, t + (i < 100 ? 20 : 10) * US),
			  COL_SOCKET, 1000 + i);
	}
	v = answer(&run, &s);
	is_u64(detail(&s, v, OP_NET_SOCKET, "tcp 10.0.255.2:80")->ns, 2000 * US,
	       "by its name, and all of it");
	is_u64(detail(&s, v, OP_NET_SOCKET, "all else")->ns, (100 - 62) * 20 * US,
	       "the rest is told together");
	end(&run, &s);
}

static void lives(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 100, 100, 1, "train"),
		     b = stage_actor(&s, 300, 300, 1, "other");
	struct asked run = { 0 };
	const struct view *v;
	struct event *ev;

	filter_pid(&run.sel, "100", &(struct err){ 0 });
	begin(&run, &s);
	for (unsigned i = 0; i < 3; i++) {
		ev = stage_call(&s, a, OP_CU_MEM_ALLOC, 1, (int64_t)(11 + 10 * i) * US,
				(int64_t)(12 + 10 * i) * US);
		stage_set(ev, COL_BYTES, 1000);
		stage_set(ev, COL_PTR, 0x1000 * (i + 1));
		ev = stage_call(&s, a, OP_CUDA_MALLOC, 0, (int64_t)(10 + 10 * i) * US,
				(int64_t)(13 + 10 * i) * US);
		stage_set(ev, COL_BYTES, 1000);
		stage_set(ev, COL_PTR, 0x1000 * (i + 1));
	}
	ev = stage_call(&s, a, OP_CUDA_FREE, 0, 50 * US, 51 * US);
	stage_set(ev, COL_PTR, 0x2000);
	ev = stage_call(&s, a, OP_CUDA_FREE, 0, 52 * US, 53 * US);
	stage_set(ev, COL_PTR, 0x9000);
	ev = stage_call(&s, b, OP_CUDA_MALLOC, 0, 60 * US, 61 * US);
	stage_set(ev, COL_BYTES, 77);
	stage_set(ev, COL_PTR, 0x1000);
	ev = stage_call(&s, a, OP_NCCL_COMM_INIT_RANK, 0, 100 * US, 110 * US);
	stage_set(ev, COL_COMM, 0xc0);
	stage_set(ev, COL_RANK, 2);
	stage_set(ev, COL_RANKS, 4);
	for (unsigned i = 0; i < 2; i++) {
		ev = stage_call(&s, a, OP_NCCL_ALL_REDUCE, 0, (int64_t)(120 + 10 * i) * US,
				(int64_t)(123 + 10 * i) * US);
		stage_set(ev, COL_COMM, 0xc0);
		stage_set(ev, COL_BYTES, 4096);
	}
	v = answer(&run, &s);

	is_u64(v->memory.n, 1, "memory of the process asked for");
	is_u64(v->memory.v[0].allocations, 3, "an allocation seen in two layers is one");
	is_u64(v->memory.v[0].frees, 1, "frees");
	is_u64(v->memory.v[0].unknown_frees, 1, "and one of what was not seen");
	is_u64(v->memory.v[0].peak_bytes, 3000, "most");
	is_u64(v->memory.v[0].live_bytes, 2000, "left");
	is_u64(v->memory.v[0].nsites, 1, "by one site");
	is_u64(v->memory.v[0].sites[0].at_peak_bytes, 3000, "which held all of it");
	is_u64(v->comms.n, 1, "one communicator");
	ok(v->comms.v[0].has_rank, "whose rank is known");
	is_u64(v->comms.v[0].rank, 2, "its rank");
	is_u64(v->comms.v[0].ranks, 4, "of so many");
	is_u64(v->comms.v[0].calls, 2, "collectives");
	is_u64(v->comms.v[0].bytes, 8192, "bytes");
	is_u64(v->comms.v[0].ns, 6 * US, "time in them");
	end(&run, &s);
}

static uint32_t on_gpu(struct stage *s, struct actor a, uint32_t gpu)
{
	struct world_ctx c = *world_get_ctx(s->w, a.ctx);

	c.gpu = gpu;
	return world_ctx(s->w, &c);
}

/* Sixteen GPUs are told apart; what is on further ones is with what is on none. */
static void devices(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 100, 100, 1, "train");
	const struct ops_row *row;
	struct asked run = { 0 };
	uint64_t sum = 0, none = 0;
	char uuid[16];

	begin(&run, &s);
	for (unsigned i = 0; i < 40; i++) {
		struct world_gpu g = { .node = s.node, .index = i % 20 };
		struct actor on = a;

		snprintf(uuid, sizeof(uuid), "GPU-%u", i % 20);
		g.uuid = world_string(s.w, bytes_of(uuid));
		on.ctx = on_gpu(&s, a, world_gpu(s.w, &g));
		stage_call(&s, on, OP_CUDA_LAUNCH, 0, (int64_t)(10 * i) * US,
			   (int64_t)(10 * i + 2) * US)
			->ret = i == 3;
	}
	stage_call(&s, a, OP_CUDA_LAUNCH, 0, 500 * US, 504 * US);
	answer(&run, &s);
	row = &query_ops_answer(run.run)->rows.v[0];
	is_u64(row->ndevices, OPS_DEVICES, "rows of devices");
	for (unsigned i = 0; i < row->ndevices; i++) {
		sum += row->devices[i].count;
		none += row->devices[i].gpu ? 0 : row->devices[i].count;
	}
	is_u64(sum, row->count, "they sum up to the calls");
	is_u64(none, 9, "those on no GPU, and on the four that are too many");
	is_u64(row->devices[3].count, 2, "two on one");
	is_u64(row->devices[3].errors, 1, "of which one failed");
	is_u64(row->devices[3].total_ns, 4 * US, "their time");
	is_u64(row->powers[11], 40, "2 us are from 1024 ns to 2048");
	is_u64(row->powers[12], 1, "4 us are from 2048 ns to 4096");
	end(&run, &s);
}

/* env, which executed python3 before its first call. */
static void names(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 100, 100, 1, "env");
	struct world_image im = { .process = a.process,
				  .exec = 1,
				  .comm = world_string(s.w, bytes_of("python3")) };
	struct buf text = { 0 };

	view_process(&text, s.w, a.process);
	is_str(buf_text(&text), "env (pid 100)", "a process is called as what it executes");
	world_image(s.w, &im);
	buf_reset(&text);
	view_process(&text, s.w, a.process);
	is_str(buf_text(&text), "python3 (pid 100)", "and that is the newest of it");
	buf_free(&text);
	stage_free(&s);
}

int main(void)
{
	names();
	samples();
	input_output();
	machines();
	host();
	many();
	short_connections();
	lives();
	devices();
	return tap_done();
}
