/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers that the detectors share to write the sentence and the remedy of a finding.
 */
#include "lib/account/loss_detector.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/fmt.h"
#include "lib/base/shell.h"
#include "lib/account/finding_details.h"
#include "lib/account/loss_crowd.h"
#include "lib/account/names.h"
#include "lib/account/sampling.h"

static void add_fix(const struct loss_view *f, struct finding *to, const char *action,
		    const char *kind, const char *command, double keep, const char *basis)
{
	double others = f->others < 0 ? 0 : f->others > 1 ? 1 : f->others;

	/* Threads lose side by side: what is gained is the time of one of them. */
	uint64_t most = loss_worst_ns(f->loss, INT64_MAX);

	most = most && most < f->lost_ns ? most : f->lost_ns;
	most = (uint64_t)((double)most * loss_gain_share(f->loss));
	details_add_fix(to, action, kind, command, (uint64_t)((double)most * keep * (1 - others)),
			most, basis);
}

void detect_recommend(const struct loss_view *f, struct finding *to, const char *action,
		      const char *command, double keep, const char *basis)
{
	add_fix(f, to, action, "shell", command, keep, basis);
}

void detect_recommend_code(const struct loss_view *f, struct finding *to, const char *action,
			   const char *code, const char *basis)
{
	add_fix(f, to, action, "code", code, 0, basis);
}

const char *detect_was(enum part part)
{
	static const char *const was[PART_COUNT] = {
		[PART_SELF] = "ran its own code",
		[PART_PREEMPTED] = "was ready to run, but others had the CPU",
		[PART_RUNQ] = "was ready to run, but others had the CPU",
		[PART_THROTTLED] = "had used up its CPU quota",
		[PART_DISK] = "was blocked on disk",
		[PART_LOCK] = "waited for a lock",
		[PART_FAULT] = "was blocked in a page fault",
		[PART_STOPPED] = "was stopped",
		[PART_ATTACH] = "was held up by ingero-record's probes",
		[PART_RECORDER] = "was ready to run, but ingero-record had the CPU",
		[PART_SLEEP] = "slept",
		[PART_SOCKET] = "waited for a socket",
		[PART_IDLE] = "waited for another thread",
		[PART_POLL] = "waited in poll",
		[PART_FD] = "waited for a pipe or file",
		[PART_CHILD] = "waited for a child process",
		[PART_BLOCKED] = "was blocked in the kernel",
		[PART_DEVICE] = "waited for the GPU",
	};

	return was[part];
}

#define NEARLY_ALL 0.95 /* of the time: then the report names one thread */

bool detect_own(const struct loss_view *f)
{
	return f->who && f->who->kind == CULPRIT_OWN && !f->who->named;
}

/* How many threads it was taken from; 1 where one has nearly all of it. */
static unsigned threads_hit(const struct loss *x)
{
	unsigned n = 0;

	for (size_t i = 0; i < x->threads.n; i++) {
		if ((double)x->threads.v[i].ns >= NEARLY_ALL * (double)x->ns)
			return 1;
		n += x->threads.v[i].ns > 0;
	}
	return n;
}

void detect_amount(const struct loss_view *f, struct buf *out)
{
	const struct cause_estimate *e = &f->estimate;
	bool at_most = f->loss->sort & LOSS_AT_MOST;
	unsigned n = threads_hit(f->loss);

	/* An upper bound of what was recorded, which is the least there was, bounds nothing. */
	if (at_most)
		buf_puts(out, "up to ");
	else if (e->is)
		buf_puts(out, e->least ? "at least " : "~");
	buf_puts(out, fmt_ns(f->lost_ns).s);
	if (at_most && e->is && e->least)
		buf_puts(out, " in the time recorded");
	if (n > 1)
		buf_printf(out, " in %u threads (at most %.1f%% of %s in one, ", n, f->share * 100,
			   f->of);
	else
		buf_printf(out, " (%.1f%% of %s, ", f->share * 100, f->of);
	buf_printf(out, "%s time%s)", fmt_count(f->count).s, f->count == 1 ? "" : "s");
}

#define SOME 0.05 /* of the time: less is not worth a word */

/* A process waits for others, too, whose time was taken. */
static void print_elsewhere(const struct loss_view *f, struct buf *out)
{
	const struct loss_amount *most = NULL;
	uint64_t ns = 0;
	double share;
	size_t n = f->loss->elsewhere.of.n;

	for (size_t i = 0; i < n; i++) {
		const struct loss_amount *s = &f->loss->elsewhere.of.v[i];

		ns += s->ns;
		if (!most || s->ns > most->ns)
			most = s;
	}
	share = f->loss->ns ? (double)ns / (double)f->loss->ns : 0;
	if (share < SOME)
		return;
	buf_printf(out, "; %s of it in ",
		   share < NEARLY_ALL ? fmt_ns((uint64_t)(share * (double)f->lost_ns)).s : "all");
	if (n > 1)
		buf_printf(out, "%s processes, most in ", fmt_count(n).s);
	name_victim(out, f->c->w, &f->c->tally, most->id);
	buf_puts(out, ", which it waited for");
}

void detect_where(const struct loss_view *f, struct buf *out)
{
	if (f->where[0])
		buf_printf(out, ", %s", f->where);
	print_elsewhere(f, out);
}

/* A CPU on which the victim waited for less than this part of all its waiting is not where it
 * lives: it began there, or was moved there for a moment. */
#define CPU_SHARE 0.05

static bool waits_on(const struct loss_view *f, unsigned cpu)
{
	const struct tally_process *p = &f->c->tally.processes.v[f->loss->process];

	return cpu < p->cpu_us.n && (double)p->cpu_us.v[cpu] > CPU_SHARE * (double)p->queued_us;
}

static uint32_t node_of(const struct loss_view *f)
{
	return world_process_node(f->c->w, f->loss->process);
}

static uint32_t cpus_of(const struct loss_view *f)
{
	return cause_nodes_cpus(&f->c->nodes, node_of(f));
}

void detect_other_cpus(const struct loss_view *f, struct buf *out)
{
	unsigned n = cpus_of(f) < TALLY_CPUS ? cpus_of(f) : TALLY_CPUS;

	for (unsigned i = 0; i < n; i++) {
		unsigned first = i;

		if (waits_on(f, i))
			continue;
		while (i + 1 < n && !waits_on(f, i + 1))
			i++;
		buf_printf(out, i > first ? "%s%u-%u" : "%s%u", out->n ? "," : "", first, i);
	}
}

/* A command of which the middle is each of these processes. */
static const char *print_each(const char *processes, const char *before, const char *behind,
			      struct finding *to)
{
	if (strspn(processes, "0123456789") == strlen(processes))
		return details_print(to, "%s%s%s", before, processes, behind);
	return details_print(to, "for p in %s; do %s$p%s; done", processes, before, behind);
}

static const char *print_pids(const struct line_culprit *who, const char *between,
			      struct finding *to)
{
	uint32_t n = who->npids < CULPRIT_PIDS ? who->npids : CULPRIT_PIDS;
	struct buf text = { 0 };

	for (uint32_t i = 0; i < n; i++)
		buf_printf(&text, "%s%u", i ? between : "", who->pids[i]);
	return details_text(to, &text);
}

/* "$(pgrep -x 'g\+\+')": all processes of that name, which pgrep takes as an expression, but the
 * victim. */
static const char *processes_named(const struct loss_view *f, struct bytes name, struct finding *to)
{
	struct buf pattern = { 0 }, text = { 0 };

	for (size_t i = 0; i < name.n; i++) {
		if (memchr("\\.[]{}()*+?^$|", name.p[i], 14))
			buf_putc(&pattern, '\\');
		buf_putc(&pattern, name.p[i]);
	}
	buf_puts(&text, "$(pgrep -x ");
	shell_word(&text, buf_bytes(&pattern));
	if (bytes_equal(name, name_process_first(f->c->w, &f->c->tally, f->loss->process)))
		buf_printf(&text, " | grep -vx %" PRIu32, f->victim_pid);
	buf_puts(&text, ")");
	text.failed |= pattern.failed;
	buf_free(&pattern);
	return details_text(to, &text);
}

/* Threads of its own that gave themselves a name: what they do is somebody's choice. */
static void recommend_named(const struct loss_view *f, struct finding *to)
{
	detect_recommend(
		f, to, details_print(to, "Let %s work less, or at a lower priority", f->culprit),
		details_print(to, "chrt -o -p 0 %" PRIu32 " && renice -n 19 -p %" PRIu32,
			      f->who->tids[0], f->who->tids[0]),
		0,
		"from nothing, if the path waits for what it does, to all of the wait; the command "
		"takes a real-time priority from it, too");
}

/* Its own threads. */
static void recommend_fewer(const struct loss_view *f, struct finding *to, const char *cpus)
{
	if (f->who->named)
		recommend_named(f, to);
	else
		detect_recommend(f, to, "Run fewer busy threads than the process has CPUs",
				 loss_crowd_openmp_met(f->c->w)
					 ? "export OMP_NUM_THREADS=1"
					 : details_print(to, "ps -L -o tid,psr,pcpu,comm -p %u",
							 f->victim_pid),
				 0,
				 "the threads that compete belong to the process itself: their "
				 "work has to be done somewhere");
	if (*cpus)
		detect_recommend(
			f, to, "Let the process use more CPUs",
			details_print(to, "taskset -a -c -p 0-%u %u", cpus_of(f) - 1,
				      f->victim_pid),
			1,
			"its threads no longer wait for each other, where the other CPUs are free");
}

/* What helps against all processes of the culprit that are known by number, and one of them.
 * PRIORITY_UNKNOWN: not known, or not the same for all. */
static enum priority_remedy remedy_of(const struct loss_view *f, const struct priority *victim,
				      const struct priority **culprit)
{
	enum priority_remedy remedy = PRIORITY_UNKNOWN;

	for (uint32_t i = 0; i < f->who->npids && i < CULPRIT_PIDS; i++) {
		const struct priority *p =
			priorities_of(&f->c->priorities, f->who->node, f->who->pids[i]);
		enum priority_remedy of = priorities_remedy(p, victim);

		if (i && of != remedy)
			return PRIORITY_UNKNOWN;
		remedy = of;
		*culprit = p;
	}
	return remedy;
}

/* Of all threads: renice changes the priority of one thread, not of the process that it is the
 * first of. */
#define RENICE "renice -n 19 -p $(ls /proc/", "/task)"
#define WEIGHT(text) \
	"echo " text " | sudo tee /sys/fs/cgroup$(sed -n s/^0:://p /proc/", "/cgroup)/cpu.weight"

static void recommend_priority(const struct loss_view *f, struct finding *to, const char *all)
{
	static const struct {
		const char *before, *behind; /* of the process in the command */
		unsigned weight;	     /* that it has then; 0: not known */
		const char *basis;
	} remedies[] = {
		[PRIORITY_UNKNOWN] = { RENICE, 0,
				       "nothing where they are of different autogroups or "
				       "cgroups; else nice 19 has weight 15 against 1024 in the "
				       "kernel's scheduler" },
		[PRIORITY_RENICE] = { RENICE, 15,
				      "nice 19 has weight 15 in the kernel's scheduler" },
		[PRIORITY_AUTOGROUP] = { "echo 19 > /proc/", "/autogroup", 15,
					 "they are of different sessions, between which only the "
					 "niceness of their autogroups counts: 19 has weight 15" },
		[PRIORITY_CGROUP] = { WEIGHT("1"), 0,
				      "they are of different cgroups, between which only the "
				      "weights of these count" },
		[PRIORITY_NORMAL] = { "chrt -a -o -p 0 ", "", 0,
				      "it has a real-time priority, to which nice does not apply" },
		[PRIORITY_IDLE] = { "chrt -a -i -p 0 ", "", 3,
				    "it has nice 19 already; the idle class has weight 3" },
		[PRIORITY_LOWEST] = { "ps -L -o pid,tid,psr,cls,ni,pcpu,args -p ", "", 0,
				      "it has the lowest priority already" },
	};
	const struct priority *victim = priorities_of(&f->c->priorities, node_of(f), f->victim_pid),
			      *culprit = NULL;
	enum priority_remedy remedy = remedy_of(f, victim, &culprit);
	unsigned then = remedies[remedy].weight,
		 weight = then && culprit ? priorities_victim_weight(culprit, victim) : 0;

	detect_recommend(f, to,
			 remedy == PRIORITY_LOWEST
				 ? details_print(to, "Run %s at another time, or elsewhere",
						 f->culprit)
				 : details_print(to, "Lower the priority of %s", f->culprit),
			 print_each(all, remedies[remedy].before, remedies[remedy].behind, to),
			 weight > then ? 1 - 2.0 * then / (weight + then) : 0,
			 weight ? details_print(to, "%s against %u", remedies[remedy].basis, weight)
				: remedies[remedy].basis);
}

/* The victim itself was started at a low priority. culprit: one of its processes, or NULL. */
static bool recommend_usual(const struct loss_view *f, struct finding *to,
			    const struct priority *culprit)
{
	const struct priority *victim = priorities_of(&f->c->priorities, node_of(f), f->victim_pid);
	enum priority_lowered how = priorities_lowered(culprit, victim);
	const char *pid = details_print(to, "%" PRIu32, f->victim_pid), *command, *is;
	unsigned weight, usual = priorities_weight(0);

	if (how == PRIORITY_USUAL)
		return false;
	if (how == PRIORITY_NICE_ITSELF) {
		command = print_each(pid, "sudo renice -n 0 -p $(ls /proc/", "/task)", to);
		is = details_print(to, "nice %d", victim->nice);
		weight = priorities_weight(victim->nice);
	} else if (how == PRIORITY_NICE_GROUP) {
		command = print_each(pid, "echo 0 | sudo tee /proc/", "/autogroup", to);
		is = details_print(to, "nice %d for its whole session", victim->autogroup_nice);
		weight = priorities_weight(victim->autogroup_nice);
	} else {
		command = print_each(pid, "sudo chrt -a -o -p 0 ", "", to);
		is = "the idle class";
		weight = 3;
	}
	detect_recommend(
		f, to,
		details_print(to, "Give %s its usual priority: it runs at %s", f->victim, is),
		command, 1 - 2.0 * weight / usual > 0 ? 1 - 2.0 * weight / usual : 0,
		details_print(to, "it has weight %u in the kernel's scheduler instead of %u",
			      weight, usual));
	return true;
}

/* Somebody else. */
static void recommend_apart(const struct loss_view *f, struct finding *to, const char *cpus)
{
	bool listed = f->who->npids <= CULPRIT_PIDS;
	const char *all = listed ? print_pids(f->who, " ", to)
				 : processes_named(f, world_text(f->c->w, f->who->name), to);
	const struct priority *culprit = NULL;

	if (*cpus && listed)
		detect_recommend(
			f, to,
			details_print(to, "Keep %s off the CPUs that %s uses", f->culprit,
				      f->victim),
			f->who->npids == 1
				? details_print(to, "taskset -a -c -p %s %s", cpus, all)
				: details_print(to, "for p in %s; do taskset -a -c -p %s $p; done",
						all, cpus),
			1, "the time regained meets the remaining causes at their present rate");
	if (f->who->npids)
		culprit = priorities_of(&f->c->priorities, f->who->node, f->who->pids[0]);
	recommend_usual(f, to, culprit);
	recommend_priority(f, to, all);
}

/* A higher priority only root may give. */
static void recommend_more(const struct loss_view *f, struct finding *to)
{
	const struct priority *v = priorities_of(&f->c->priorities, node_of(f), f->victim_pid);
	const char *pid = details_print(to, "%" PRIu32, f->victim_pid);
	const char *command =
		v && v->autogroup ? print_each(pid, "echo -10 | sudo tee /proc/", "/autogroup", to)
		: priorities_in_cgroup(v)
			? print_each(pid, WEIGHT("10000"), to)
			: print_each(pid, "sudo renice -n -10 -p $(ls /proc/", "/task)", to);
	const char *basis =
		!v ? "nothing against commands of other autogroups and cgroups; else nice -10 has "
		     "weight 9548 against 1024 in the kernel's scheduler"
		: v->autogroup
			? "an autogroup at nice -10 has weight 9548 against 1024; nothing against "
			  "commands of its own session"
		: priorities_in_cgroup(v) ? "a cgroup has weight 100 by default; nothing against "
					    "commands of its own cgroup"
					  : "nice -10 has weight 9548 against 1024 in the kernel's "
					    "scheduler";

	detect_recommend(f, to,
			 "Give the process more weight, or CPUs of its own: too many commands "
			 "share its CPUs",
			 command, 0,
			 details_print(to,
				       "%s; how much that is depends on which of them keep "
				       "running",
				       basis));
}

void detect_recommend_cpu(const struct loss_view *f, struct finding *to)
{
	struct buf cpus = { 0 };

	if (!f->who) { /* nobody is to be kept away alone */
		if (!recommend_usual(f, to, NULL))
			recommend_more(f, to);
	} else if (f->who->related) {
		detect_recommend(f, to,
				 "Start fewer workers, or give the program more CPUs: its own "
				 "processes take turns",
				 details_print(to, "ps -o pid,ppid,psr,pcpu,comm -p %u,%s",
					       f->victim_pid, print_pids(f->who, ",", to)),
				 0,
				 "the processes that compete belong to one program: their work "
				 "has to be done somewhere; the command shows them and their CPUs");
	} else {
		detect_other_cpus(f, &cpus);
		(f->who->kind == CULPRIT_OWN ? recommend_fewer
					     : recommend_apart)(f, to, details_text(to, &cpus));
	}
}

/* Threads of PyTorch's, which no program can move. */
static const struct {
	const char *name, *action, *code;
} torch_threads[] = {
	{ "pt_data_pin",
	  "Pin less: larger batches, or fewer, or none where copies wait for the bytes anyway; the "
	  "thread is DataLoader's own",
	  "DataLoader(..., pin_memory=False)" },
	{ "pt_autograd",
	  "Leave Python out of the backward pass: hooks, and functions of its own that wait; the "
	  "thread is PyTorch's own",
	  "torch.compile(model)" },
};

bool detect_has_interpreter(const struct loss_view *f)
{
	const struct loss_process *p = lost_time_process(&f->c->lost_time, f->loss->process);

	if (!f->who || f->who->process != f->loss->process)
		return false;
	for (size_t i = 0; i < p->at.n; i++) {
		const struct loss *x = &f->c->lost_time.v.v[p->at.v[i]];
		const struct line_culprit *holder = culprit_get(f->c->tally.culprits, x->culprit);

		if (x->family == LOSS_LOCK && x->ns && holder && holder->lock == LOCK_GIL &&
		    holder->thread == f->who->thread)
			return true;
	}
	return false;
}

void detect_recommend_interpreter(const struct loss_view *f, struct finding *to)
{
	struct bytes name = f->who ? world_text(f->c->w, f->who->name) : (struct bytes){ 0 };

	for (unsigned i = 0; i < sizeof(torch_threads) / sizeof(torch_threads[0]); i++) {
		size_t n = strlen(torch_threads[i].name);

		if (name.n < n || memcmp(name.p, torch_threads[i].name, n) != 0)
			continue;
		detect_recommend_code(f, to, torch_threads[i].action, torch_threads[i].code,
				      "from nothing, if it has to be done before the next step, to "
				      "all of the wait");
		return;
	}
	detect_recommend(
		f, to,
		details_print(to,
			      "Let %s work in a process of its own, or in code that lets go of the "
			      "interpreter: its threads take turns, and more of them gain nothing",
			      f->culprit),
		sampling_command(f->c, f->victim_pid, to), 0,
		"from nothing, if the thread has to wait for its result, to all of the wait; the "
		"command shows the holder's lines");
}
