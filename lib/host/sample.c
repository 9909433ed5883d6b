/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples the machine, its cgroups and the recorded processes. Each file is opened once and read
 * from its start at each tick. A file that cannot be opened is never tried again: a kernel does not
 * gain pressure files at run time.
 */
#include "lib/host/sample.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/vec.h"
#include "lib/host/cgroup.h"
#include "lib/host/idle.h"
#include "lib/host/proc.h"
#include "lib/host/reread.h"
#include "lib/host/sample_groups.h"
#include "lib/host/sample_memory.h"
#include "lib/host/sample_target.h"
#include "lib/host/system.h"

#define CPUS_MAX	 8192u
#define CGROUPS_MAX	 128u
#define CGROUP_DEPTH	 16u
#define THREAD_FILES_MAX 256u /* descriptors kept for threads, all targets together */

enum file {
	FILE_STAT,
	FILE_MEMINFO,
	FILE_LOADAVG,
	FILE_PSI_CPU,
	FILE_PSI_IO,
	FILE_PSI_MEMORY,
	FILE_VMSTAT,
	FILES
};

static const char *const paths[FILES] = {
	[FILE_STAT] = "/proc/stat",	     [FILE_MEMINFO] = "/proc/meminfo",
	[FILE_LOADAVG] = "/proc/loadavg",    [FILE_PSI_CPU] = "/proc/pressure/cpu",
	[FILE_PSI_IO] = "/proc/pressure/io", [FILE_PSI_MEMORY] = "/proc/pressure/memory",
	[FILE_VMSTAT] = "/proc/vmstat",
};

/* A cgroup above at least one target, whose cpu.stat counts throttling. */
struct limit {
	uint32_t cgroup; /* world id */
	int fd;
	bool said;
	uint64_t tick; /* of the last target in it */
	struct host_throttle last;
};

struct target {
	uint32_t tgid;
	uint64_t tick; /* when it was last asked for */
	bool placed;   /* where it belongs was said in this recording */
	struct host_watch *watch;
	uint32_t limits[CGROUP_DEPTH]; /* indices + 1 */
	unsigned nlimits;
	uint32_t groups[HOST_GROUPS_DEPTH]; /* indices + 1 */
	unsigned ngroups;
};

struct host_sampler {
	struct world *world;
	uint32_t node;
	int fd[FILES];
	struct buf room;
	struct host_cgroup_trees trees;
	unsigned thread_files; /* that may still be opened */
	uint64_t tick;
	struct host_cpu last;
	bool has_last;
	uint64_t tick_ns;
	VEC(uint64_t) steal;	    /* by CPU: ticks + 1 that were said */
	VEC(struct host_idle) idle; /* by CPU */
	VEC(struct target) targets;
	VEC(struct limit) limits;
	struct host_groups groups;
	/* of the round */
	int64_t now_ns;
	host_sample_fn *fn;
	void *ctx;
	int rc;
};

int host_sampler_new(struct host_sampler **out, struct world *w, uint32_t node, struct err *e)
{
	struct host_sampler *s = calloc(1, sizeof(*s));

	*out = s;
	if (!s)
		return err_nomem(e);
	s->world = w;
	s->node = node;
	s->thread_files = THREAD_FILES_MAX;
	s->tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	host_cgroup_mounts(&s->trees, NULL);
	for (unsigned i = 0; i < FILES; i++)
		s->fd[i] = open(paths[i], O_RDONLY | O_CLOEXEC);
	return 0;
}

static void drop_target(struct host_sampler *s, size_t i)
{
	host_watch_free(s->targets.v[i].watch, &s->thread_files);
	s->targets.v[i] = s->targets.v[--s->targets.n];
}

void host_sampler_free(struct host_sampler *s)
{
	if (!s)
		return;
	while (s->targets.n)
		drop_target(s, s->targets.n - 1);
	for (size_t i = 0; i < s->limits.n; i++)
		if (s->limits.v[i].fd >= 0)
			close(s->limits.v[i].fd);
	for (unsigned i = 0; i < FILES; i++)
		if (s->fd[i] >= 0)
			close(s->fd[i]);
	vec_free(&s->targets);
	vec_free(&s->limits);
	host_groups_free(&s->groups);
	vec_free(&s->steal);
	vec_free(&s->idle);
	buf_free(&s->room);
	free(s);
}

static struct record make_sample(const struct host_sampler *s, uint32_t metric, double value)
{
	struct record r = { .kind = RECORD_SAMPLE };

	REC_SET(&r, SAMPLE, time_ns, s->now_ns);
	REC_SET(&r, SAMPLE, metric, metric);
	REC_SET(&r, SAMPLE, value, value);
	return r;
}

static void emit_record(struct host_sampler *s, const struct record *r)
{
	if (s->rc >= 0)
		s->rc = s->fn(s->ctx, r);
}

static void emit_node(struct host_sampler *s, uint32_t metric, double value)
{
	struct record r = make_sample(s, metric, value);

	emit_record(s, &r);
}

static void emit_process(struct host_sampler *s, uint32_t process, uint32_t metric, double value)
{
	struct record r = make_sample(s, metric, value);

	REC_SET(&r, SAMPLE, process, process);
	emit_record(s, &r);
}

static void emit_cgroup(void *ctx, uint32_t cgroup, uint32_t metric, double value)
{
	struct host_sampler *s = ctx;
	struct record r = make_sample(s, metric, value);

	REC_SET(&r, SAMPLE, cgroup, cgroup);
	emit_record(s, &r);
}

/* a - b of counters that may step back a little (iowait does). */
static double counter_growth(uint64_t a, uint64_t b)
{
	return a > b ? (double)(a - b) : 0;
}

static void all_cpus(struct host_sampler *s, const struct host_cpu *now)
{
	const struct host_cpu *last = &s->last;
	double user = counter_growth(now->user, last->user),
	       system = counter_growth(now->system, last->system),
	       iowait = counter_growth(now->iowait, last->iowait),
	       steal = counter_growth(now->steal, last->steal),
	       idle = counter_growth(now->idle, last->idle),
	       sum = user + system + iowait + steal + idle;

	if (s->has_last && sum > 0) {
		emit_node(s, METRIC_CPU_USER, 100 * user / sum);
		emit_node(s, METRIC_CPU_SYSTEM, 100 * system / sum);
		emit_node(s, METRIC_CPU_IOWAIT, 100 * iowait / sum);
		emit_node(s, METRIC_CPU_STEAL, 100 * steal / sum);
		emit_node(s, METRIC_CPU_BUSY, 100 * (user + system + steal) / sum);
	}
	emit_node(s, METRIC_STEAL_NS, (double)(now->steal * s->tick_ns));
	s->last = *now;
	s->has_last = true;
}

static void emit_idle(struct host_sampler *s, uint32_t cpu, const struct host_idle_point *at)
{
	struct record r = make_sample(s, METRIC_CPU_IDLE_NS, (double)(at->ticks * s->tick_ns));

	REC_SET(&r, SAMPLE, time_ns, at->time_ns);
	REC_SET(&r, SAMPLE, cpu, cpu);
	emit_record(s, &r);
}

/* A CPU that waits for disks has nothing to run. */
static void idle_of(struct host_sampler *s, const struct host_cpu *now)
{
	struct host_idle_point at = { s->now_ns, now->idle + now->iowait }, out[2];
	unsigned n;

	while (s->idle.n <= now->cpu && now->cpu < CPUS_MAX)
		if (!vec_push(&s->idle, (struct host_idle){ 0 }))
			return;
	if (now->cpu >= s->idle.n)
		return;
	n = host_idle_next(&s->idle.v[now->cpu], &at, s->tick_ns, out);
	for (unsigned i = 0; i < n; i++)
		emit_idle(s, now->cpu, &out[i]);
}

static void one_cpu(void *ctx, const struct host_cpu *now)
{
	struct host_sampler *s = ctx;
	struct record r;

	if (now->cpu == HOST_ALL_CPUS) {
		all_cpus(s, now);
		return;
	}
	idle_of(s, now);
	while (s->steal.n <= now->cpu && now->cpu < CPUS_MAX)
		if (!vec_push(&s->steal, 0))
			return;
	if (now->cpu >= s->steal.n || s->steal.v[now->cpu] == now->steal + 1)
		return;
	s->steal.v[now->cpu] = now->steal + 1;
	r = make_sample(s, METRIC_STEAL_NS, (double)(now->steal * s->tick_ns));
	REC_SET(&r, SAMPLE, cpu, now->cpu);
	emit_record(s, &r);
}

static bool read_whole(struct host_sampler *s, enum file file)
{
	return host_reread(s->fd[file], &s->room);
}

static void sample_pressure(struct host_sampler *s, enum file file, uint32_t some, uint32_t full)
{
	struct host_pressure p;

	if (!read_whole(s, file) || !host_pressure_parse(buf_bytes(&s->room), &p))
		return;
	emit_node(s, some, (double)p.some_us);
	if (full && p.has_full)
		emit_node(s, full, (double)p.full_us);
}

static void virtual_memory(struct host_sampler *s)
{
	struct host_vm vm;

	if (!read_whole(s, FILE_VMSTAT) || !host_vm_parse(buf_bytes(&s->room), &vm))
		return;
	emit_node(s, METRIC_VM_PAGES_ALLOCATED, (double)vm.allocated);
	emit_node(s, METRIC_VM_PAGES_FREED, (double)vm.freed);
	emit_node(s, METRIC_VM_ALLOC_STALLS, (double)vm.alloc_stalls);
	emit_node(s, METRIC_VM_COMPACT_STALLS, (double)vm.compact_stalls);
	emit_node(s, METRIC_VM_MAJOR_FAULTS, (double)vm.major_faults);
	emit_node(s, METRIC_VM_SWAP_IN, (double)vm.swap_in);
	emit_node(s, METRIC_VM_SWAP_OUT, (double)vm.swap_out);
	emit_node(s, METRIC_VM_OOM_KILLS, (double)vm.oom_kills);
}

static void sample_machine(struct host_sampler *s)
{
	struct host_memory memory;
	struct timespec cpu;
	uint64_t running;
	double load;

	if (read_whole(s, FILE_STAT) && host_cpus_parse(buf_bytes(&s->room), one_cpu, s, &running))
		emit_node(s, METRIC_RUNNABLE, (double)running);
	if (read_whole(s, FILE_LOADAVG) && host_load_parse(buf_bytes(&s->room), &load))
		emit_node(s, METRIC_LOAD_1, load);
	if (read_whole(s, FILE_MEMINFO) && host_memory_parse(buf_bytes(&s->room), &memory)) {
		emit_node(s, METRIC_MEM_USED,
			  counter_growth(memory.total_bytes, memory.available_bytes));
		emit_node(s, METRIC_MEM_AVAILABLE, (double)memory.available_bytes);
		emit_node(s, METRIC_SWAP_USED,
			  counter_growth(memory.swap_total_bytes, memory.swap_free_bytes));
	}
	sample_pressure(s, FILE_PSI_CPU, METRIC_PSI_CPU_SOME, 0);
	sample_pressure(s, FILE_PSI_IO, METRIC_PSI_IO_SOME, METRIC_PSI_IO_FULL);
	sample_pressure(s, FILE_PSI_MEMORY, METRIC_PSI_MEM_SOME, METRIC_PSI_MEM_FULL);
	virtual_memory(s);
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0)
		emit_node(s, METRIC_RECORDER_CPU_NS,
			  (double)cpu.tv_sec * 1e9 + (double)cpu.tv_nsec);
}

/* The slot of a limit whose cgroup had no target at the last tick and has none at this one. */
static struct limit *find_deserted(struct host_sampler *s)
{
	for (size_t i = 0; i < s->limits.n; i++)
		if (s->limits.v[i].tick + 1 < s->tick)
			return &s->limits.v[i];
	return NULL;
}

/* Index + 1 of the cgroup among limits; 0 when its cpu.stat counts no throttling. */
static uint32_t limit_of(struct host_sampler *s, const struct host_cgroup *cgroup)
{
	struct limit limit = { .cgroup = host_cgroup_world(s->world, s->node, cgroup),
			       .tick = s->tick },
		     *old;
	char path[HOST_CGROUP_PATH * 2 + 16];

	for (size_t i = 0; i < s->limits.n; i++)
		if (s->limits.v[i].cgroup == limit.cgroup) {
			s->limits.v[i].tick = s->tick;
			return (uint32_t)i + 1;
		}
	old = find_deserted(s);
	if (!old && s->limits.n >= CGROUPS_MAX)
		return 0;
	snprintf(path, sizeof(path), "%s/cpu.stat", cgroup->folder);
	limit.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (limit.fd < 0)
		return 0;
	if (!host_reread(limit.fd, &s->room) ||
	    !host_throttle_parse(buf_bytes(&s->room), &limit.last) ||
	    (!old && !vec_push(&s->limits, limit))) {
		close(limit.fd);
		return 0;
	}
	if (!old)
		return (uint32_t)s->limits.n;
	close(old->fd);
	*old = limit;
	return (uint32_t)(old - s->limits.v) + 1;
}

/* A limit anywhere above a process throttles it. */
static void find_limits(struct host_sampler *s, struct target *t)
{
	struct host_cgroup at, above;
	bool more = host_cgroup_read(&s->trees, t->tgid, &at, NULL) == 0;

	for (t->nlimits = 0; more && t->nlimits < CGROUP_DEPTH;) {
		uint32_t limit = limit_of(s, &at);

		if (limit)
			t->limits[t->nlimits++] = limit;
		more = host_cgroup_parent(&s->trees, &at, &above);
		at = above;
	}
}

/* In which of them it is: with version 1 the cgroup of its events is another one. */
static void emit_place(struct host_sampler *s, const struct host_target *which,
		       const struct target *t)
{
	for (unsigned i = 0; i < t->nlimits; i++) {
		const struct limit *limit = &s->limits.v[t->limits[i] - 1];
		struct record r =
			make_sample(s, METRIC_CGROUP_PERIODS, (double)limit->last.periods);

		REC_SET(&r, SAMPLE, process, which->process);
		REC_SET(&r, SAMPLE, cgroup, limit->cgroup);
		emit_record(s, &r);
	}
	for (unsigned i = 0; i < t->ngroups; i++) {
		const struct host_group *group = &s->groups.v.v[t->groups[i] - 1];
		struct host_memory_group_now now;
		struct record r;

		if (!host_memory_group_read(&group->files, &s->room, &now))
			continue;
		r = make_sample(s, METRIC_CGROUP_MEM_USED, (double)now.used_bytes);
		REC_SET(&r, SAMPLE, process, which->process);
		REC_SET(&r, SAMPLE, cgroup, group->cgroup);
		emit_record(s, &r);
	}
}

/* Whether the pid is still that process's. Without this check a pid that was reused would give
 * another process's samples. */
static bool is_still(const struct host_sampler *s, const struct host_target *which)
{
	const struct world_process *p = world_get_process(s->world, which->process);
	struct err ignored = { 0 };
	struct host_process now;

	return !p || !p->start_ns || host_proc_read(which->tgid, &now, &ignored) ||
	       now.start_ns == p->start_ns;
}

static struct target *target_of(struct host_sampler *s, const struct host_target *which)
{
	struct target t = { .tgid = which->tgid };

	for (size_t i = 0; i < s->targets.n; i++)
		if (s->targets.v[i].tgid == which->tgid)
			return &s->targets.v[i];
	/* Its files stay one process's. */
	t.watch = host_watch_new(which->tgid);
	if (!t.watch)
		return NULL;
	if (!is_still(s, which) || !vec_push(&s->targets, t)) {
		host_watch_free(t.watch, &s->thread_files);
		return NULL;
	}
	return &s->targets.v[s->targets.n - 1];
}

static void sample_target(struct host_sampler *s, const struct host_target *which)
{
	struct target *t = target_of(s, which);
	struct host_watch_now now;

	if (!t)
		return;
	if (!host_watch_look(t->watch, &s->room, &s->thread_files, &now)) {
		drop_target(s, (size_t)(t - s->targets.v));
		return;
	}
	t->tick = s->tick;
	if (now.has_cpu)
		emit_process(s, which->process, METRIC_PROC_CPU_NS, (double)now.cpu_ns);
	emit_process(s, which->process, METRIC_PROC_RSS, (double)now.rss_bytes);
	if (now.has_wait)
		emit_process(s, which->process, METRIC_PROC_RUN_DELAY_NS, (double)now.wait_ns);
	if (now.has_faults) {
		emit_process(s, which->process, METRIC_PROC_MINOR_FAULTS, (double)now.minor_faults);
		emit_process(s, which->process, METRIC_PROC_MAJOR_FAULTS, (double)now.major_faults);
	}
	if (now.has_io) {
		emit_process(s, which->process, METRIC_PROC_READ_BYTES, (double)now.read_bytes);
		emit_process(s, which->process, METRIC_PROC_WRITE_BYTES, (double)now.write_bytes);
	}
	if (now.moved) {
		find_limits(s, t);
		t->ngroups = host_groups_find(&s->groups, &s->trees, s->world, s->node, t->tgid,
					      s->tick, t->groups);
		t->placed = false;
	}
	if (!t->placed)
		emit_place(s, which, t);
	t->placed = true;
	host_groups_seen(&s->groups, t->groups, t->ngroups, s->tick);
	for (unsigned i = 0; i < t->nlimits; i++)
		s->limits.v[t->limits[i] - 1].tick = s->tick;
}

/* Emits nothing for cgroups that never had a limit. */
static void sample_limit(struct host_sampler *s, struct limit *limit)
{
	struct host_throttle now;

	if (limit->tick != s->tick || !host_reread(limit->fd, &s->room) ||
	    !host_throttle_parse(buf_bytes(&s->room), &now) || now.periods == 0 ||
	    (limit->said && memcmp(&now, &limit->last, sizeof(now)) == 0))
		return;
	emit_cgroup(s, limit->cgroup, METRIC_CGROUP_THROTTLED_NS, (double)now.throttled_ns);
	emit_cgroup(s, limit->cgroup, METRIC_CGROUP_THROTTLED, (double)now.throttled);
	emit_cgroup(s, limit->cgroup, METRIC_CGROUP_PERIODS, (double)now.periods);
	limit->last = now;
	limit->said = true;
}

int host_sampler_tick(struct host_sampler *s, int64_t now_ns, const struct host_target *targets,
		      size_t n, host_sample_fn *fn, void *ctx)
{
	s->now_ns = now_ns;
	s->fn = fn;
	s->ctx = ctx;
	s->rc = 0;
	s->tick++;
	sample_machine(s);
	for (size_t i = 0; i < n && s->rc >= 0; i++)
		sample_target(s, &targets[i]);
	for (size_t i = s->targets.n; i-- > 0;)
		if (s->targets.v[i].tick != s->tick)
			drop_target(s, i);
	for (size_t i = 0; i < s->limits.n && s->rc >= 0; i++)
		sample_limit(s, &s->limits.v[i]);
	host_groups_say(&s->groups, s->tick, &s->room, emit_cgroup, s);
	return s->rc < 0 ? s->rc : 0;
}

int host_sampler_rest(struct host_sampler *s, host_sample_fn *fn, void *ctx)
{
	struct host_idle_point at;

	s->fn = fn;
	s->ctx = ctx;
	s->rc = 0;
	for (size_t cpu = 0; cpu < s->idle.n; cpu++)
		if (host_idle_rest(&s->idle.v[cpu], &at))
			emit_idle(s, (uint32_t)cpu, &at);
	return s->rc < 0 ? s->rc : 0;
}

void host_sampler_again(struct host_sampler *s)
{
	s->steal.n = 0;
	s->idle.n = 0;
	for (size_t i = 0; i < s->limits.n; i++)
		s->limits.v[i].said = false;
	for (size_t i = 0; i < s->targets.n; i++)
		s->targets.v[i].placed = false;
}
