/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is proposed to be typed: it reaches all it is said to reach, and names that others chose are
 * words to a shell, whatever is in them.
 */
#include "tests/tap.h"

#include "lib/base/shell.h"
#include "tests/unit/kinds.h"

#define LENGTH (5000 * MS)
#define EVERY  (10 * MS)

/* One chain of this kind is told, and one of its commands is this one. */
static void proposes(struct stage *s, const char *kind, const char *command)
{
	struct kinds_run p;
	unsigned found = 0;

	analyze(s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *f = &p.list.v.v[i];

		for (size_t k = 0; k < f->fixes.n && bytes_equal(f->kind, bytes_of(kind)); k++) {
			struct bytes text = f->fixes.v[k].command;

			found += bytes_equal(text, bytes_of(command));
			printf("# %.*s\n", (int)text.n, text.p);
		}
	}
	is_u64(found, 1, "%s: %s", kind, command);
	chain_list_free(&p.list);
}

/* One chain: what its fixes gain at most. */
static void gains(struct stage *s, const char *kind, uint64_t lost_ns, uint64_t high_ns)
{
	struct kinds_run p;

	analyze(s, &p);
	ok(p.list.v.n == 1, "%s: one chain", kind);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *f = &p.list.v.v[i];

		is_str(p.list.v.v[i].kind.p, kind, "%s: its kind", kind);
		is_u64(p.list.v.v[i].lost_ns, lost_ns, "%s: lost in all threads", kind);
		is_u64(f->fixes.n ? f->fixes.v[0].gain_high_ns : 0, high_ns, "%s: gained at most",
		       kind);
	}
	chain_list_free(&p.list);
}

static void calls(struct stage *s, struct actor v)
{
	for (int64_t t = 0; t < LENGTH; t += 2 * MS) {
		if (t % EVERY)
			stage_call(s, v, OP_CUDA_LAUNCH, 0, t + MS, t + MS + 200 * US);
	}
}

/* Every EVERY one of n processes of this name, the first of which has this pid, takes the CPU for a
 * millisecond, in this cgroup (NULL: it is not known). */
static void hogs(struct stage *s, struct actor v, const char *comm, uint32_t first, unsigned n,
		 const char *cgroup)
{
	struct world_cgroup g = { .node = s->node,
				  .id = 77,
				  .path = world_string(s->w, bytes_of(cgroup ? cgroup : "/")) };
	struct world_ctx c = { .node = s->node, .cgroup = cgroup ? world_cgroup(s->w, &g) : 0 };

	calls(s, v);
	for (int64_t t = 0; t < LENGTH; t += EVERY) {
		uint32_t pid = first + (uint32_t)(t / EVERY) % n;
		struct actor a = stage_actor(s, pid, pid, 50, comm);
		struct event *ev;

		stage_offcpu(s, v, 0, t, t + MS, MS, 0);
		ev = stage_occupied(s, a, 0, t, t + MS);
		if (cgroup)
			ev->ctx = world_ctx(s->w, &c);
	}
}

/* Another cgroup keeps who has the lock that the victim waits for. */
static void keeps_holder(struct stage *s, struct actor v)
{
	struct world_cgroup g = { .node = s->node,
				  .id = 77,
				  .path = world_string(s->w, bytes_of("/pods/other")) };
	struct world_ctx c = { .node = s->node, .cgroup = world_cgroup(s->w, &g) };
	struct actor holder = stage_actor(s, 100, 190, 1, "loader"),
		     hog = stage_actor(s, 345, 345, 50, "scan");

	calls(s, v);
	for (int64_t t = EVERY; t < LENGTH; t += EVERY) {
		stage_lock(s, v, 0, t, t + MS, t + MS, holder, 0x1000);
		stage_offcpu(s, holder, 0, t - MS, t + MS - 10 * US, 2 * MS - 10 * US, 3);
		stage_occupied(s, hog, 3, t - MS, t + MS - 10 * US)->ctx = world_ctx(s->w, &c);
	}
}

/* What the victim (pid 100) and a hog (pid 500) are to the scheduler, and what helps then. */
static const struct {
	const char *name;
	struct scheduled {
		int nice;
		unsigned policy, autogroup, cgroup;
		int autogroup_nice;
	} victim, hog;
	const char *command;
	uint64_t least_ns; /* that it gains */
	const char *never; /* a command that does not help; NULL: none is looked for */
} priorities[] = {
	{ .name = "one session",
	  .victim = { .autogroup = 3 },
	  .hog = { .autogroup = 3 },
	  .command = "renice -n 19 -p $(ls /proc/500/task)",
	  .least_ns = 485563041 },
	{ .name = "one session, nice 19 already",
	  .victim = { .autogroup = 3 },
	  .hog = { .autogroup = 3, .nice = 19 },
	  .command = "chrt -a -i -p 0 500",
	  .least_ns = 497078870 },
	{ .name = "one session, the idle class already",
	  .victim = { .autogroup = 3 },
	  .hog = { .autogroup = 3, .policy = 5 },
	  .command = "ps -L -o pid,tid,psr,cls,ni,pcpu,args -p 500" },
	{ .name = "two sessions",
	  .victim = { .autogroup = 3 },
	  .hog = { .autogroup = 4, .nice = 19 },
	  .command = "echo 19 > /proc/500/autogroup",
	  .least_ns = 485563041 },
	{ .name = "two sessions, the victim's is low",
	  .victim = { .autogroup = 3, .autogroup_nice = 19 },
	  .hog = { .autogroup = 4 },
	  .command = "echo 19 > /proc/500/autogroup" },
	{ .name = "two sessions, the hog's has nice 19 already",
	  .victim = { .autogroup = 3 },
	  .hog = { .autogroup = 4, .autogroup_nice = 19 },
	  .command = "ps -L -o pid,tid,psr,cls,ni,pcpu,args -p 500" },
	{ .name = "two cgroups",
	  .victim = { .cgroup = 70 },
	  .hog = { .cgroup = 71, .nice = 5 },
	  .command = "echo 1 | sudo tee /sys/fs/cgroup$(sed -n s/^0:://p "
		     "/proc/500/cgroup)/cpu.weight" },
	{ .name = "a kernel thread against a session",
	  .victim = { .autogroup = 3 },
	  .hog = { .cgroup = 1 },
	  .command = "renice -n 19 -p $(ls /proc/500/task)",
	  .least_ns = 485563041 },
	{ .name = "the victim has nice 19",
	  .victim = { .autogroup = 3, .nice = 19 },
	  .hog = { .autogroup = 3 },
	  .command = "sudo renice -n 0 -p $(ls /proc/100/task)",
	  .least_ns = 485351562 },
	{ .name = "the hog has a lower priority than the victim",
	  .victim = { .autogroup = 3, .nice = 5 },
	  .hog = { .autogroup = 3, .nice = 10 },
	  .command = "renice -n 19 -p $(ls /proc/500/task)",
	  .least_ns = 457142857,
	  .never = "sudo renice -n 0 -p $(ls /proc/100/task)" },
	{ .name = "the victim's session has nice 19",
	  .victim = { .autogroup = 3, .autogroup_nice = 19 },
	  .hog = { .autogroup = 4 },
	  .command = "echo 0 | sudo tee /proc/100/autogroup",
	  .least_ns = 485351562 },
	{ .name = "niceness within another session does not count",
	  .victim = { .autogroup = 3, .nice = 19 },
	  .hog = { .autogroup = 4 },
	  .command = "echo 19 > /proc/500/autogroup",
	  .least_ns = 485563041,
	  .never = "sudo renice -n 0 -p $(ls /proc/100/task)" },
	{ .name = "the victim is of the idle class",
	  .victim = { .autogroup = 3, .policy = 5 },
	  .hog = { .autogroup = 3 },
	  .command = "sudo chrt -a -o -p 0 100",
	  .least_ns = 497070312 },
	{ .name = "a real-time priority",
	  .victim = { .cgroup = 1 },
	  .hog = { .cgroup = 1, .policy = 1 },
	  .command = "chrt -a -o -p 0 500" },
	{ .name = "not known",
	  .victim = { .cgroup = 0 },
	  .hog = { .cgroup = 0 },
	  .command = "renice -n 19 -p $(ls /proc/500/task)" },
};

static void set_priority(struct stage *s, struct actor a, const struct scheduled *of)
{
	struct record *r;

	if (!of->autogroup && !of->cgroup)
		return;
	r = stage_record(s, RECORD_PRIORITY);
	REC_SET(r, PRIORITY, thread, a.thread);
	REC_SET(r, PRIORITY, nice, of->nice);
	REC_SET(r, PRIORITY, policy, of->policy);
	if (of->autogroup) {
		REC_SET(r, PRIORITY, autogroup, of->autogroup);
		REC_SET(r, PRIORITY, autogroup_nice, of->autogroup_nice);
	} else {
		REC_SET(r, PRIORITY, cgroup, of->cgroup);
	}
}

static void check_priority(struct stage *s, struct actor v, size_t row)
{
	const __typeof__(priorities[0]) *k = &priorities[row];
	struct kinds_run p;
	unsigned found = 0;
	uint64_t least = 0;
	bool never = false;

	hogs(s, v, "hog", 500, 1, NULL);
	set_priority(s, v, &k->victim);
	set_priority(s, stage_actor(s, 500, 500, 50, "hog"), &k->hog);
	analyze(s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *f = &p.list.v.v[i];

		for (size_t n = 0; n < f->fixes.n; n++) {
			never |= k->never &&
				 bytes_equal(f->fixes.v[n].command, bytes_of(k->never));
			if (!bytes_equal(f->fixes.v[n].command, bytes_of(k->command)))
				continue;
			found++;
			least = f->fixes.v[n].gain_low_ns;
		}
	}
	is_u64(found, 1, "%s: %s", k->name, k->command);
	is_u64(least, k->least_ns, "%s: what it gains at least", k->name);
	ok(!never, "%s: nothing that does not help", k->name);
	chain_list_free(&p.list);
}

/* As many names as there are hogs: nobody alone. */
static void crowd(struct stage *s, struct actor v)
{
	calls(s, v);
	for (int64_t t = 0; t < LENGTH; t += EVERY) {
		uint32_t pid = 900 + (uint32_t)(t / EVERY) % 100;
		struct actor a;
		char comm[16];

		snprintf(comm, sizeof(comm), "part%u", pid);
		a = stage_actor(s, pid, pid, 80, comm);
		stage_offcpu(s, v, 0, t, t + MS, MS, 0);
		stage_occupied(s, a, 0, t, t + MS);
	}
}

/* A thread of the victim's own that has the CPU, in that library. */
static void own_hog(struct stage *s, struct actor v, uint32_t tid, const char *comm,
		    const char *library)
{
	struct actor a = stage_actor(s, 100, tid, 50, comm);
	struct world_module module = { .path = world_string(s->w, bytes_of(library)) };
	struct world_frame frame = { .kind = FRAME_NATIVE,
				     .module = world_module(s->w, &module),
				     .offset = 1 };

	world_frame(s->w, &frame);
	calls(s, v);
	for (int64_t t = 0; t < LENGTH; t += EVERY) {
		stage_offcpu(s, v, 0, t, t + MS, MS, 0);
		stage_occupied(s, a, 0, t, t + MS);
	}
}

/* Workers that the victim started, and as many strangers of their name, all younger than the
 * recording: two facts, and not the same is done about them. The victim's own parent and what that
 * started beside it are of the program, too. */
static void workers(struct stage *s, struct actor v)
{
	static const struct {
		uint32_t victim, first, parent;
	} table[] = { { 100, 400, 100 }, { 420, 430, 415 } };
	char command[80];

	for (unsigned i = 0; i < 4; i++) {
		struct actor a = i < 2 ? v
				       : stage_actor(s, table[1].victim, table[1].victim,
						     table[1].parent, "train");
		uint32_t own = table[i / 2].first, strange = own + 5;
		struct record *r = stage_record(s, RECORD_CLOCK);

		REC_SET(r, CLOCK, mono_ns, 0);
		REC_SET(r, CLOCK, boot_ns, 50 * US);
		calls(s, a);
		for (int64_t t = 0; t < LENGTH; t += EVERY) {
			unsigned k = (unsigned)(t / EVERY) % 4;
			uint32_t pid = (k < 2 ? own : strange) + k % 2;
			struct actor by =
				stage_actor(s, pid, pid, k < 2 ? table[i / 2].parent : 7, "train");

			stage_offcpu(s, a, 0, t, t + MS, MS, 0);
			stage_occupied(s, by, 0, t, t + MS);
		}
		if (i % 2)
			snprintf(command, sizeof(command),
				 "ps -o pid,ppid,psr,pcpu,comm -p %u,%u,%u", table[i / 2].victim,
				 own, own + 1);
		else
			snprintf(command, sizeof(command),
				 "for p in %u %u; do renice -n 19 -p $(ls /proc/$p/task); done",
				 strange, strange + 1);
		proposes(s, "cpu-preempted", command);
	}
}

static void throttled(struct stage *s, const char *path, uint64_t id)
{
	struct actor v = stage_actor(s, 100, 100, 1, "train");
	struct world_cgroup g = { .node = s->node,
				  .id = id,
				  .path = world_string(s->w, bytes_of(path)) };
	const struct world_ctx *was = world_get_ctx(s->w, v.ctx);
	struct world_ctx c = *was;

	c.cgroup = world_cgroup(s->w, &g);
	v.ctx = world_ctx(s->w, &c);
	calls(s, v);
	for (int64_t t = 0; t < LENGTH; t += EVERY)
		stage_set(stage_offcpu(s, v, 0, t, t + MS, MS, 0), COL_THROTTLED_NS, (uint64_t)MS);
}

static void killed(struct stage *s, struct actor v, const char *path)
{
	struct world_cgroup g = { .node = s->node,
				  .id = 99,
				  .path = world_string(s->w, bytes_of(path)) };
	const double said[][2] = { { METRIC_CGROUP_MEM_LIMIT, 1 << 30 },
				   { METRIC_CGROUP_MEM_MAX, 0 },
				   { METRIC_CGROUP_MEM_MAX, 4 } };
	struct world_ctx c = *world_get_ctx(s->w, v.ctx);

	c.cgroup = world_cgroup(s->w, &g);
	calls(s, v);
	for (unsigned i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		struct record *r = stage_record(s, RECORD_SAMPLE);

		REC_SET(r, SAMPLE, metric, (uint32_t)said[i][0]);
		REC_SET(r, SAMPLE, value, said[i][1]);
		REC_SET(r, SAMPLE, cgroup, c.cgroup);
	}
	stage_event(s, OP_PROC_OOM, world_ctx(s->w, &c), 0, LENGTH, LENGTH);
}

static void lossy(struct stage *s, struct actor v, const char *remote)
{
	calls(s, v);
	if (remote)
		stage_socket(s, 5, remote);
	for (int64_t t = 0; t < LENGTH; t += 100 * MS) {
		stage_set(stage_event(s, OP_NET_SOCKET, v.ctx, 0, t + MS, t + 21 * MS), COL_SOCKET,
			  5);
		stage_set(stage_event(s, OP_NET_RETRANSMIT, v.ctx, 0, t + 11 * MS, t + 11 * MS),
			  COL_SOCKET, 5);
	}
}

static void disk_sample(struct stage *s, uint32_t metric, int64_t ns, double bytes,
			uint32_t process)
{
	struct record *r = stage_record(s, RECORD_SAMPLE);

	REC_SET(r, SAMPLE, time_ns, ns);
	REC_SET(r, SAMPLE, metric, metric);
	REC_SET(r, SAMPLE, value, bytes);
	if (process)
		REC_SET(r, SAMPLE, process, process);
	else
		REC_SET(r, SAMPLE, device, 8 << 20 | 16);
}

/* What others move meanwhile: on the device, and of that one process. */
struct disk_other {
	const char *name;
	double device_bytes, process_bytes;
	const char *told; /* NULL: nothing is */
};

static void disk_others(struct stage *s, const struct disk_other *x, uint32_t process)
{
	for (unsigned i = 0; i < 2; i++) {
		int64_t ns = i ? LENGTH : 0;

		disk_sample(s, METRIC_DISK_OTHERS_WRITTEN, ns, i * x->device_bytes, 0);
		disk_sample(s, METRIC_PROC_WRITE_BYTES, ns, 7e9 + i * x->process_bytes, process);
	}
}

/* It waits for a disk in reads, or in syncs while more is read besides, as libraries are; or its
 * reads come to the disk late. */
enum disk_wait { DISK_READS, DISK_SYNCS, DISK_HELD };

static void disk_waits(struct stage *s, struct actor v, enum disk_wait how,
		       const struct disk_other *x)
{
	static const char *const wants[] = { "Read ahead in worker threads",
					     "Write and sync less often",
					     "Raise the I/O limit of its cgroup" };
	const bool syncs = how == DISK_SYNCS;
	struct kinds_run p;
	unsigned found = 0;
	struct record *r;

	calls(s, v);
	r = stage_record(s, RECORD_FILE);
	REC_SET(r, FILE, id, 9);
	REC_SET(r, FILE, path, bytes_of("/data/state.pt"));
	REC_SET(r, FILE, device, 8 << 20 | 16);
	if (x)
		disk_others(s, x, stage_actor(s, 5555, 5555, 1, "dd").process);
	for (int64_t t = 0; t < LENGTH; t += EVERY) {
		struct event *ev = stage_offcpu(s, v, 0, t, t + MS, 0, 0);

		stage_set(ev, COL_OBJECT_KIND, OBJECT_DISK);
		stage_set(ev, COL_OBJECT, 8 << 20 | 16);
		ev = stage_event(s, OP_IO_FILE, v.ctx, 0, t, t + MS);
		stage_set(ev, COL_FILE, 9);
		stage_set(ev, COL_WRITE, syncs ? 2 : 0);
		ev = stage_event(s, OP_IO_BLOCK, v.ctx, 0, how == DISK_HELD ? t + MS * 9 / 10 : t,
				 t + MS);
		stage_set(ev, COL_DEVICE, 8 << 20 | 16);
		stage_set(ev, COL_BYTES, 1 << 20);
		stage_set(ev, COL_WRITE, !syncs);
	}
	analyze(s, &p);
	for (size_t i = 0; i < p.list.v.n; i++)
		for (size_t k = 0; k < p.list.v.v[i].fixes.n; k++) {
			struct bytes action = p.list.v.v[i].fixes.v[k].action;

			printf("# %.*s\n", (int)action.n, action.p);
			found += bytes_begin_with(action, wants[how]);
		}
	is_u64(found, 1, "whatever is moved besides, a wait in %s: %s", syncs ? "syncs" : "reads",
	       wants[how]);
	for (size_t i = 0; x && i < p.list.v.n; i++) {
		struct bytes said = p.list.v.v[i].summary;

		if (!bytes_equal(p.list.v.v[i].kind, bytes_of("disk-stall")))
			continue;
		ok(x->told ? bytes_have(said, x->told) : !bytes_have(said, "other processes"),
		   "%s: %.*s", x->name, (int)said.n, said.p);
		is_u64(bytes_begin_with(p.list.v.v[i].fixes.v[0].action, "Let dd (pid 5555) work"),
		       x->told && strstr(x->told, "dd") != NULL, "%s: what to do about it",
		       x->name);
	}
	chain_list_free(&p.list);
}

static void word(const char *from, const char *to)
{
	struct buf out = { 0 };

	shell_word(&out, bytes_of(from));
	is_str(buf_text(&out), to, "as a word of a shell: %s", from);
	buf_free(&out);
}

int main(void)
{
	static const struct disk_other others[] = {
		{ "a writer", 8e9, 7e9,
		  "; other processes wrote 7.4 GiB there meanwhile; most on all disks moved dd (pid 5555)" },
		{ "nobody moved much by himself", 8e9, 1e9,
		  "; other processes wrote 7.4 GiB there meanwhile" },
		{ "less than its own", 1e8, 7e9, NULL },
		{ "another device", 0, 7e9, NULL },
	};
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train");

	word("train.py", "train.py");
	word("", "''");
	word("a b", "'a b'");
	word("it's", "'it'\\''s'");

	/* renice alone would change the first thread of each, and no other */
	hogs(&s, v, "hog", 300, 1, NULL);
	proposes(&s, "cpu-preempted", "renice -n 19 -p $(ls /proc/300/task)");
	hogs(&s, v, "two", 310, 2, NULL);
	proposes(&s, "cpu-preempted",
		 "for p in 310 311; do renice -n 19 -p $(ls /proc/$p/task); done");
	hogs(&s, v, "g++';reboot", 320, 20, NULL);
	proposes(&s, "cpu-preempted",
		 "for p in $(pgrep -x 'g\\+\\+'\\'';reboot'); do renice -n 19 -p $(ls "
		 "/proc/$p/task); done");
	hogs(&s, v, "train", 360, 20, NULL);
	proposes(&s, "cpu-preempted",
		 "for p in $(pgrep -x train | grep -vx 100); do renice -n 19 -p $(ls "
		 "/proc/$p/task); done");
	crowd(&s, v);
	proposes(&s, "cpu-preempted", "sudo renice -n -10 -p $(ls /proc/100/task)");

	for (size_t i = 0; i < sizeof(priorities) / sizeof(priorities[0]); i++)
		check_priority(&s, v, i);
	crowd(&s, v);
	set_priority(&s, v, &priorities[0].hog);
	proposes(&s, "cpu-preempted", "echo -10 | sudo tee /proc/100/autogroup");

	own_hog(&s, v, 190, "train", "/usr/lib/libz.so.1");
	proposes(&s, "cpu-preempted", "ps -L -o tid,psr,pcpu,comm -p 100");
	own_hog(&s, v, 191, "telemetry", "/usr/lib/libz.so.1");
	proposes(&s, "cpu-preempted", "chrt -o -p 0 191 && renice -n 19 -p 191");
	own_hog(&s, v, 190, "train", "/usr/lib/libgomp.so.1");
	proposes(&s, "cpu-preempted", "export OMP_NUM_THREADS=1");

	workers(&s, v);

	/* four threads lose side by side: it would be over sooner by what one lost */
	for (unsigned i = 0; i < 4; i++) {
		struct actor a = stage_actor(&s, 100, 100 + i, 1, "train"),
			     hog = stage_actor(&s, 300, 300, 50, "hog");

		calls(&s, a);
		for (int64_t t = 0; t < LENGTH; t += EVERY) {
			stage_offcpu(&s, a, 0, t, t + MS, MS, i);
			stage_occupied(&s, hog, i, t, t + MS);
		}
	}
	gains(&s, "cpu-preempted", 4 * 500 * MS, 500 * MS);
	for (unsigned i = 0; i < 4; i++) {
		struct actor a = stage_actor(&s, 100, 100 + i, 1, "train");

		calls(&s, a);
		for (int64_t t = 0; t < LENGTH; t += EVERY)
			stage_event(&s, OP_MEM_RECLAIM, a.ctx, 0, t + 100 * US, t + 900 * US);
	}
	gains(&s, "memory-pressure", 4 * 400 * MS, 400 * MS);

	/* systemd escapes what its names are made of */
	hogs(&s, v, "scan", 350, 1, "/system.slice/scan\\x2dall.service");
	proposes(
		&s, "noisy-neighbour",
		"echo 20 | sudo tee '/sys/fs/cgroup/system.slice/scan\\x2dall.service/cpu.weight'");
	keeps_holder(&s, v);
	told_among(&s, "noisy-neighbour", "scan", 499 * (MS - 10 * US));
	keeps_holder(&s, v);
	never_says(&s, "1.49 s of it", "of a neighbour that took 993 ms");
	throttled(&s, "/machine.slice/machine\\x2dgpu.scope", 78);
	proposes(
		&s, "cpu-throttled",
		"echo max | sudo tee '/sys/fs/cgroup/machine.slice/machine\\x2dgpu.scope/cpu.max'");
	throttled(&s, "cpu:/job", 79);
	proposes(&s, "cpu-throttled", "echo -1 | sudo tee /sys/fs/cgroup/cpu/job/cpu.cfs_quota_us");
	throttled(&s, "/", 80);
	proposes(&s, "cpu-throttled", "cat /proc/100/cgroup");
	throttled(&s, "/", 80);
	told_among(&s, "cpu-throttled", "the CPU quota of its cgroup stopped train", LENGTH / 10);
	killed(&s, v, "memory:/pods/a b");
	proposes(&s, "oom-kill", "cat '/sys/fs/cgroup/memory/pods/a b/memory.oom_control'");

	disk_waits(&s, v, DISK_SYNCS, NULL);
	disk_waits(&s, v, DISK_READS, NULL);
	disk_waits(&s, v, DISK_HELD, NULL);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		disk_waits(&s, v, DISK_SYNCS, &others[i]);
	lossy(&s, v, "[2001:db8::1]:443");
	proposes(&s, "net-loss", "ss -tin dst '[2001:db8::1]:443'");
	lossy(&s, v, NULL);
	proposes(&s, "net-loss", "ss -tin");
	stage_free(&s);
	return tap_done();
}
