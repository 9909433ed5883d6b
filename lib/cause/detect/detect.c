/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the texts of the kinds share.
 */
#include "lib/cause/detect/detect.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/human.h"
#include "lib/base/shell.h"
#include "lib/cause/details.h"
#include "lib/cause/names.h"

void detect_recommend(const struct group_view *f, struct finding *to, const char *action,
		      const char *command, double keep, const char *basis)
{
	double others = f->others < 0 ? 0 : f->others > 1 ? 1 : f->others;

	/* Threads lose side by side: what is gained is the time of one of them. */
	uint64_t most = tally_group_worst_thread(&f->c->tally, f->g, INT64_MAX);

	most = most && most < f->lost_ns ? most : f->lost_ns;
	details_add_fix(to, action, "shell", command,
			(uint64_t)((double)most * keep * (1 - others)), most, basis);
}

#define NEARLY_ALL	0.95 /* of the time: then it is told as one thread's */
#define THREADS_COUNTED 1024 /* rows; counting them takes their square */

bool detect_own(const struct group_view *f)
{
	return f->who && f->who->kind == CULPRIT_OWN;
}

/* The time of one thread of those that it was taken from, in rows of its own. */
static uint64_t thread_ns(const struct group_view *f, uint32_t thread, size_t *first)
{
	const struct tally *t = &f->c->tally;
	uint64_t ns = 0;

	*first = f->g->rows.n;
	for (size_t i = f->g->rows.n; i-- > 0;) {
		const struct tally_row *r = &t->rows.v[f->g->rows.v[i]];

		if (r->thread == thread && tally_row_lost(t, r)) {
			ns += r->ns;
			*first = i;
		}
	}
	return ns;
}

/* How many threads it was taken from; 1 where one has nearly all of it. */
static unsigned threads_hit(const struct group_view *f)
{
	unsigned n = 0;

	for (size_t i = 0; i < f->g->rows.n; i++) {
		uint32_t thread = f->c->tally.rows.v[f->g->rows.v[i]].thread;
		size_t first;
		uint64_t ns = thread_ns(f, thread, &first);

		if ((double)ns >= NEARLY_ALL * (double)f->g->ns)
			return 1;
		n += first == i;
	}
	return n;
}

void detect_amount(const struct group_view *f, struct buf *out)
{
	unsigned n = f->g->rows.n <= THREADS_COUNTED ? threads_hit(f) : 0;

	buf_puts(out, human_ns(f->lost_ns).s);
	if (n > 1)
		buf_printf(out, " in %u threads (at most %.1f%% of wall time in one, ", n,
			   f->share * 100);
	else if (n == 0)
		buf_printf(out, " in many threads (at most %.1f%% of wall time in one, ",
			   f->share * 100);
	else
		buf_printf(out, " (%.1f%% of wall time, ", f->share * 100);
	buf_printf(out, "%s time%s)", human_count(f->count).s, f->count == 1 ? "" : "s");
}

void detect_where(const struct group_view *f, struct buf *out)
{
	if (f->where[0])
		buf_printf(out, ", %s", f->where);
}

/* A CPU on which the victim waited for less than this part of all its waiting is not where it lives: it began there, or
 * was moved there for a moment. */
#define CPU_SHARE 0.05

static bool waits_on(const struct group_view *f, unsigned cpu)
{
	return cpu < f->g->cpu_us.n &&
	       (double)f->g->cpu_us.v[cpu] * 1000 > CPU_SHARE * (double)f->g->ns;
}

static uint32_t cpus_of(const struct group_view *f)
{
	const struct world_process *v = world_get_process(f->c->w, f->g->process);

	return cause_nodes_cpus(&f->c->nodes, v ? v->node : 0);
}

void detect_other_cpus(const struct group_view *f, struct buf *out)
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

static void pids(const struct line_culprit *who, const char *between, struct buf *out)
{
	uint32_t n = who->npids < CULPRIT_PIDS ? who->npids : CULPRIT_PIDS;

	for (uint32_t i = 0; i < n; i++)
		buf_printf(out, "%s%u", i ? between : "", who->pids[i]);
}

/* Of all threads of these processes: renice changes the priority of one thread, not of the process that it is the first of. A
 * higher one only root may give. */
static void renice(int nice, const char *processes, struct buf *out)
{
	const char *as = nice < 0 ? "sudo " : "";

	if (strspn(processes, "0123456789") == strlen(processes))
		buf_printf(out, "%srenice -n %d -p $(ls /proc/%s/task)", as, nice, processes);
	else
		buf_printf(out, "for p in %s; do %srenice -n %d -p $(ls /proc/$p/task); done",
			   processes, as, nice);
}

/* "$(pgrep -x 'g\+\+')": all processes of that name, which pgrep takes as an expression, but the victim. */
static void processes_named(const struct group_view *f, struct bytes name, struct buf *out)
{
	struct buf pattern = { 0 };

	for (size_t i = 0; i < name.n; i++) {
		if (memchr("\\.[]{}()*+?^$|", name.p[i], 14))
			buf_putc(&pattern, '\\');
		buf_putc(&pattern, name.p[i]);
	}
	buf_puts(out, "$(pgrep -x ");
	shell_word(out, buf_bytes(&pattern));
	if (bytes_equal(name, name_process_first(f->c->w, &f->c->tally, f->g->process)))
		buf_printf(out, " | grep -vx %" PRIu32, f->victim_pid);
	buf_puts(out, ")");
	out->failed |= pattern.failed;
	buf_free(&pattern);
}

/* Nobody is to be kept away alone. */
static void more_weight(const struct group_view *f, struct finding *to)
{
	struct buf command = { 0 }, pid = { 0 };

	buf_printf(&pid, "%" PRIu32, f->victim_pid);
	renice(-10, buf_text(&pid), &command);
	detect_recommend(
		f, to,
		"Give the process more weight, or CPUs of its own: too many commands share "
		"its CPUs",
		buf_text(&command), 0,
		"nice -10 has weight 9548 against 1024 in the kernel's scheduler; how much "
		"that is depends on which of them keep running");
	buf_free(&pid);
	buf_free(&command);
}

void detect_recommend_cpu(const struct group_view *f, struct finding *to)
{
	struct buf command = { 0 }, action = { 0 }, cpus = { 0 }, who = { 0 };

	if (!f->who) {
		more_weight(f, to);
		return;
	}
	if (f->who->related) {
		buf_printf(&command, "ps -o pid,ppid,psr,pcpu,comm -p %u,", f->victim_pid);
		pids(f->who, ",", &command);
		detect_recommend(f, to,
				 "Start fewer workers, or give the program more CPUs: its own "
				 "processes take turns",
				 buf_text(&command), 0,
				 "the processes that compete belong to one program: their work "
				 "has to be done somewhere; the command shows them and their CPUs");
		goto out;
	}
	detect_other_cpus(f, &cpus);
	if (f->who->kind == CULPRIT_OWN) {
		detect_recommend(f, to, "Run fewer busy threads than the process has CPUs",
				 "export OMP_NUM_THREADS=1", 0,
				 "the threads that compete belong to the process itself: their "
				 "work has to be done somewhere");
		if (cpus.n) {
			buf_printf(&command, "taskset -a -c -p 0-%u %u", cpus_of(f) - 1,
				   f->victim_pid);
			detect_recommend(f, to, "Let the process use more CPUs", buf_text(&command),
					 1,
					 "its threads no longer wait for each other, where the "
					 "other CPUs are free");
		}
		goto out;
	}
	if (cpus.n && f->who->npids <= CULPRIT_PIDS) {
		buf_printf(&action, "Keep %s off the CPUs that %s uses", f->culprit, f->victim);
		if (f->who->npids == 1) {
			buf_printf(&command, "taskset -a -c -p %s ", buf_text(&cpus));
			pids(f->who, " ", &command);
		} else {
			buf_puts(&command, "for p in ");
			pids(f->who, " ", &command);
			buf_printf(&command, "; do taskset -a -c -p %s $p; done", buf_text(&cpus));
		}
		detect_recommend(
			f, to, buf_text(&action), buf_text(&command), 1,
			"the time regained meets the remaining causes at their present rate");
	}
	buf_reset(&action);
	buf_reset(&command);
	buf_printf(&action, "Lower the priority of %s", f->culprit);
	if (f->who->npids <= CULPRIT_PIDS)
		pids(f->who, " ", &who);
	else
		processes_named(f, world_text(f->c->w, f->who->name), &who);
	renice(19, buf_text(&who), &command);
	detect_recommend(f, to, buf_text(&action), buf_text(&command), 1 - 2 * 15.0 / (1024 + 15),
			 "nice 19 has weight 15 against 1024 in the kernel's scheduler");
out:
	buf_free(&command);
	buf_free(&action);
	buf_free(&cpus);
	buf_free(&who);
}
