/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This machine and processes of our own, through /proc: what is known about them beforehand has to
 * come out.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/sanitized.h"
#include "lib/host/clock.h"
#include "lib/host/maps.h"
#include "lib/host/node.h"
#include "lib/host/proc.h"
#include "lib/host/sample.h"
#include "tests/tap.h"

/* A child that says "ready" and waits; its pid, and the pipe whose closing ends it. */
static pid_t start(void (*before)(void), int *hold)
{
	int up[2], down[2];
	char c;
	pid_t pid;

	if (pipe(up) || pipe(down))
		return -1;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(up[0]);
		close(down[1]);
		before();
		if (write(up[1], "x", 1) != 1 || read(down[0], &c, 1) != 0)
			_exit(1);
		_exit(0);
	}
	close(up[1]);
	close(down[0]);
	if (read(up[0], &c, 1) != 1)
		printf("# the child did not come up\n");
	close(up[0]);
	*hold = down[1];
	return pid;
}

static void stop(pid_t pid, int hold)
{
	close(hold);
	waitpid(pid, NULL, 0);
}

static void *idle(void *arg)
{
	pause();
	return arg;
}

static void odd_child(void)
{
	pthread_t t;

	prctl(PR_SET_NAME, "a) b (c");
	pthread_create(&t, NULL, idle, NULL);
	pthread_create(&t, NULL, idle, NULL);
}

static void processes(void)
{
	int64_t before = host_clock_boot();
	struct host_pids pids = { 0 }, tree = { 0 };
	struct host_process p, self;
	struct host_stat thread;
	struct buf text = { 0 };
	struct err e = { 0 };
	bool found = false;
	int hold;
	pid_t pid = start(odd_child, &hold);

	is_int(host_proc_read((uint32_t)pid, &p, &e), 0, "a child is read %s", e.text);
	is_u64(p.tgid, pid, "itself");
	is_u64(p.ppid, getpid(), "its parent");
	is_str(p.comm, "a) b (c", "its odd name");
	/* A sanitizer's runtime has threads of its own. */
	ok(SANITIZED ? p.threads >= 3 : p.threads == 3, "its threads");
	is_u64(p.uid, geteuid(), "its user");
	ok((int64_t)p.start_ns <= host_clock_boot() &&
		   (int64_t)(p.start_ns + HOST_TICK_NS) >= before,
	   "it started within a tick of when we started it");
	is_int(host_proc_threads((uint32_t)pid, &pids, &e), 0, "threads are listed");
	is_u64(pids.n, p.threads, "all of them");
	is_int(host_proc_thread((uint32_t)pid, pids.v[pids.n - 1], &thread, &e), 0, "one is read");
	is_u64(thread.pid, pids.v[pids.n - 1], "itself");
	is_int(host_proc_tree((uint32_t)getpid(), &tree, &e), 0, "a tree");
	for (size_t i = 0; i < tree.n; i++)
		found |= tree.v[i] == (uint32_t)pid;
	ok(tree.v[0] == (uint32_t)getpid() && found, "has us and the child");
	is_int(host_proc_cmdline((uint32_t)pid, &text, &e), 0, "its arguments");
	ok(text.n > 0 && !memchr(text.p, 0, text.n), "have blanks between them: %s",
	   buf_text(&text));
	buf_reset(&text);
	is_int(host_proc_exe((uint32_t)pid, &text, &e), 0, "its executable");
	if (strstr(buf_text(&text), "/valgrind/"))
		skip("valgrind runs this test inside its own executable");
	else
		like(buf_text(&text), "host_live", "is this one");
	is_int(host_proc_read((uint32_t)getpid(), &self, &e), 0, "ourselves");
	is_int(host_proc_sight((uint32_t)pid), HOST_OPEN, "a process of ours is open to us");
	ok(!host_proc_killed((uint32_t)pid), "it was not killed");
	stop(pid, hold);
	is_int(host_proc_sight((uint32_t)pid), HOST_GONE, "then it is gone");
	ok(!host_proc_killed((uint32_t)pid), "and nothing is awaited of it");
	is_int(host_proc_read((uint32_t)pid, &p, &e), ERR_CANNOT, "and cannot be read");
	like(e.text, "no process", "for that reason");
	is_int(host_proc_tree((uint32_t)pid, &tree, &e), ERR_CANNOT, "nor has it a tree");
	is_int(host_proc_exe((uint32_t)pid, &text, &e), ERR_CANNOT, "nor an executable");
	host_pids_free(&pids);
	host_pids_free(&tree);
	buf_free(&text);
}

struct looking {
	void *at;
	struct host_mapping found;
	char path[4200];
};

static bool look(void *ctx, const struct host_mapping *m)
{
	struct looking *l = ctx;

	if ((uintptr_t)l->at < m->start || (uintptr_t)l->at >= m->end)
		return true;
	l->found = *m;
	host_maps_path((uint32_t)getpid(), m, l->path, sizeof(l->path));
	return false;
}

/* A file with a newline and a blank in its name, mapped and deleted: its bytes are still found. */
static void deleted_mapping(void)
{
	char folder[] = "/tmp/ingero-unit.XXXXXX", path[100], start[5] = "";
	struct looking l = { 0 };
	struct err e = { 0 };
	struct stat st;
	int fd;

	if (!mkdtemp(folder))
		return;
	snprintf(path, sizeof(path), "%s/lib a\nb.so", folder);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0700);
	if (fd < 0 || write(fd, "mark", 4) != 4 || ftruncate(fd, 4096) || fstat(fd, &st))
		return;
	l.at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	unlink(path);
	close(fd);
	is_int(host_maps_read((uint32_t)getpid(), look, &l, &e), 0, "our own maps");
	ok(l.found.start == (uintptr_t)l.at && l.found.inode == st.st_ino, "hold the mapping");
	ok(l.found.deleted, "of a deleted file");
	fd = open(l.path, O_RDONLY);
	if (geteuid() != 0)
		skip("opening it takes root");
	else
		ok(fd >= 0 && read(fd, start, 4) == 4 && !strcmp(start, "mark"),
		   "which can still be read");
	if (fd >= 0)
		close(fd);
	munmap(l.at, 4096);
	/* Another file has its name, and what was mapped cannot be had any more, or may not. */
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0700);
	if (fd >= 0)
		close(fd);
	l.found.path = bytes_of(path);
	host_maps_path((uint32_t)getpid(), &l.found, l.path, sizeof(l.path));
	ok(access(l.path, F_OK) != 0, "what has taken its place is not taken for it: %s", l.path);
	unlink(path);
	rmdir(folder);
}

/* A file of its own name with that byte in it, mapped at the place; NULL: somewhere. */
static void *map_file(const char *folder, char mark, void *at)
{
	char path[100];
	void *mapped;
	int fd;

	snprintf(path, sizeof(path), "%s/%c", folder, mark);
	fd = open(path, O_RDWR | O_CREAT, 0700);
	if (fd < 0 || write(fd, &mark, 1) != 1 || ftruncate(fd, 4096))
		return MAP_FAILED;
	mapped = mmap(at, 4096, PROT_READ, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd, 0);
	close(fd);
	return mapped;
}

/* What the file of the line begins with; 0: it cannot be opened. */
static char mark_of(const struct host_mapping *m)
{
	int fd = host_maps_open((uint32_t)getpid(), m);
	char mark = 0;

	if (fd >= 0 && read(fd, &mark, 1) != 1)
		mark = '?';
	close(fd);
	return mark;
}

/* Between the reading of a line and the opening of its file another one takes its place. */
static void replaced_mapping(void)
{
	char folder[] = "/tmp/ingero-unit.XXXXXX", path[2][100];
	struct looking l = { 0 };
	struct err e = { 0 };

	if (!mkdtemp(folder))
		return;
	for (int i = 0; i < 2; i++)
		snprintf(path[i], sizeof(path[i]), "%s/%c", folder, "ab"[i]);
	l.at = map_file(folder, 'a', NULL);
	is_int(host_maps_read((uint32_t)getpid(), look, &l, &e), 0, "our own maps");
	is_int(mark_of(&l.found), 'a', "the file of a line");
	l.found.path = bytes_of(path[0]);
	ok(map_file(folder, 'b', l.at) == l.at, "another file at its place");
	is_int(mark_of(&l.found), 'a', "is not taken for it");
	l.found.deleted = true;
	is_int(mark_of(&l.found), 0, "nor where the first has no name any more");
	l.found.deleted = false;
	unlink(path[0]);
	ok(mkfifo(path[0], 0700) == 0, "a FIFO has its name");
	is_int(mark_of(&l.found), 0, "which nobody waits for");
	munmap(l.at, 4096);
	unlink(path[0]);
	unlink(path[1]);
	rmdir(folder);
}

static void clocks(void)
{
	int64_t mono = host_clock_mono(), real = host_clock_real();
	struct record r;

	host_clock_record(&r, "start");
	is_int(r.kind, RECORD_CLOCK, "a clock record");
	ok(r.u.CLOCK.mono_ns >= mono && r.u.CLOCK.mono_ns < mono + 1000000000, "monotonic");
	ok(r.u.CLOCK.real_ns >= real - 1000000000 && r.u.CLOCK.real_ns < real + 2000000000, "real");
	ok(r.u.CLOCK.boot_ns >= r.u.CLOCK.mono_ns - 1000000, "boot time is not behind");
	ok(r.u.CLOCK.uncertainty_ns > 0 && r.u.CLOCK.uncertainty_ns < 1000000,
	   "read together within %llu ns", (unsigned long long)r.u.CLOCK.uncertainty_ns);
	is_u64(r.present, 31, "all fields are there");
}

static void node(void)
{
	struct host_node a, b;
	struct world *w = world_new();
	struct record r;

	host_node_read(&a);
	host_node_read(&b);
	ok(memcmp(a.uuid, b.uuid, 16) == 0 && a.boot == b.boot, "the same node twice");
	ok(a.cpus > 0 && a.memory_bytes > 1 << 20 && a.kernel[0] && a.arch[0],
	   "has CPUs, memory, a kernel");
	is_u64(host_node_world(&a, w, NULL), 1, "a node of the world");
	is_u64(host_node_world(&b, w, "other name"), 1, "by identity, not by name");
	host_node_record(&a, 1, &r);
	ok(REC_HAS(&r, NODE, cpus) && r.u.NODE.cpus == a.cpus, "its record");
	ok(bytes_equal(r.u.NODE.kernel, bytes_of(a.kernel)), "with the kernel");
	world_free(w);
}

struct sampled {
	double last[48];
	unsigned count[48], bad;
	uint32_t process;
};

static int on_sample(void *ctx, const struct record *r)
{
	struct sampled *s = ctx;
	uint32_t metric = r->u.SAMPLE.metric;

	s->bad += r->kind != RECORD_SAMPLE || metric >= 48 || !metric_builtin((uint16_t)metric);
	if (metric >= 48 || (REC_HAS(r, SAMPLE, process) && r->u.SAMPLE.process != s->process))
		return 0;
	s->last[metric] = r->u.SAMPLE.value;
	s->count[metric]++;
	return 0;
}

static int refuse(void *ctx, const struct record *r)
{
	return ERR_CLOSED;
}

/* A number whose process ended, which nobody told, and that another one has now. */
static void other_of_that_number(struct world *w, struct host_sampler *s)
{
	struct err e = { 0 };
	struct host_process me;
	struct world_process p = { .node = 1, .tgid = (uint32_t)getpid() };
	struct host_target is = { .tgid = p.tgid }, was = is;
	struct sampled of = { 0 };

	host_sampler_tick(s, 3500, NULL, 0, on_sample, &of);
	is_int(host_proc_read(p.tgid, &me, &e), 0, "when it began");
	p.start_ns = me.start_ns;
	is.process = world_process(w, &p);
	p.start_ns -= HOST_TICK_NS;
	of.process = was.process = world_process(w, &p);
	host_sampler_tick(s, 3600, &was, 1, on_sample, &of);
	is_u64(of.count[METRIC_PROC_RSS], 0, "another process of the same number is passed by");
	of = (struct sampled){ .process = is.process };
	host_sampler_tick(s, 3700, &is, 1, on_sample, &of);
	is_u64(of.count[METRIC_PROC_RSS], 1, "and told as itself");
}

/* The samples of a process agree with what it says about itself. */
static void sampler(void)
{
	struct world *w = world_new();
	struct host_sampler *s = NULL;
	struct sampled first = { .process = 7 }, second = { .process = 7 };
	struct host_schedstat stat;
	struct host_target targets[2];
	struct timespec cpu;
	struct rusage usage;
	struct err e = { 0 };
	int64_t now, took = INT64_MAX;
	double before, after;
	int hold;
	pid_t pid = start(odd_child, &hold);

	is_int(host_sampler_new(&s, w, 1, &e), 0, "a sampler");
	targets[0] = (struct host_target){ (uint32_t)getpid(), 7 };
	targets[1] = (struct host_target){ (uint32_t)pid, 8 };
	is_int(host_sampler_tick(s, 1000, targets, 2, on_sample, &first), 0, "a round");
	is_u64(first.bad, 0, "of samples");
	is_u64(first.count[METRIC_CPU_USER], 0, "shares need two rounds");
	is_u64(first.count[METRIC_PROC_RSS], 1, "the other process is told apart");
	for (now = host_clock_mono(); host_clock_mono() - now < 60000000;)
		;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	before = (double)cpu.tv_sec * 1e9 + (double)cpu.tv_nsec;
	is_int(host_sampler_tick(s, 2000, targets, 2, on_sample, &second), 0, "the next");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	after = (double)cpu.tv_sec * 1e9 + (double)cpu.tv_nsec;
	ok(second.last[METRIC_PROC_CPU_NS] >= before && second.last[METRIC_PROC_CPU_NS] <= after,
	   "CPU time to the nanosecond");
	ok(second.last[METRIC_RECORDER_CPU_NS] >= before &&
		   second.last[METRIC_RECORDER_CPU_NS] <= after,
	   "and the recorder's own");
	getrusage(RUSAGE_SELF, &usage);
	ok(second.last[METRIC_PROC_MINOR_FAULTS] > 0 &&
		   second.last[METRIC_PROC_MINOR_FAULTS] <= (double)usage.ru_minflt,
	   "its page faults");
	ok(second.count[METRIC_PROC_MAJOR_FAULTS] == 1 &&
		   second.last[METRIC_PROC_MAJOR_FAULTS] <= (double)usage.ru_majflt,
	   "its major ones");
	ok(second.count[METRIC_VM_PAGES_ALLOCATED] == 1 &&
		   second.last[METRIC_VM_PAGES_ALLOCATED] > first.last[METRIC_VM_PAGES_ALLOCATED],
	   "pages the machine gave out");
	is_int(host_proc_schedstat((uint32_t)getpid(), (uint32_t)getpid(), &stat, &e), 0,
	       "schedstat");
	ok(second.last[METRIC_PROC_RUN_DELAY_NS] <= (double)stat.wait_ns,
	   "waiting time is the kernel's");
	ok(second.last[METRIC_PROC_RUN_DELAY_NS] >= first.last[METRIC_PROC_RUN_DELAY_NS],
	   "and only grows");
	is_u64(second.count[METRIC_CPU_BUSY], 1, "now there are shares");
	ok(second.last[METRIC_CPU_BUSY] > 0 && second.last[METRIC_CPU_BUSY] <= 100,
	   "we were busy: %.1f %%", second.last[METRIC_CPU_BUSY]);
	ok(second.last[METRIC_MEM_USED] > 0 && second.last[METRIC_MEM_AVAILABLE] > 0 &&
		   second.last[METRIC_RUNNABLE] >= 1,
	   "memory and running tasks");
	for (unsigned i = 0; i < 50; i++) {
		now = host_clock_mono();
		host_sampler_tick(s, now, targets, 2, on_sample, &second);
		now = host_clock_mono() - now;
		took = now < took ? now : took;
	}
	ok(took < 5000000, "a round of two processes takes %lld us", (long long)took / 1000);
	is_int(host_sampler_tick(s, 3000, targets, 2, refuse, NULL), ERR_CLOSED,
	       "a refusal ends the round");
	stop(pid, hold);
	other_of_that_number(w, s);
	first = (struct sampled){ .process = 8 };
	is_int(host_sampler_tick(s, 4000, targets, 2, on_sample, &first), 0,
	       "a target that is gone");
	is_u64(first.count[METRIC_PROC_RSS], 0, "is passed by");
	host_sampler_free(s);
	world_free(w);
}

int main(void)
{
	processes();
	deleted_mapping();
	replaced_mapping();
	clocks();
	node();
	sampler();
	return tap_done();
}
