/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu-oversubscribed: a program runs more busy threads than it has CPUs, and its path waits while
 * others of them have these. Proven by the overlap of waits for a CPU with the slices of threads of
 * the program that the path needs, by how many of them ran at the same time, and by the CPUs that
 * they may use. Not this: threads that take turns on one CPU while there are enough, and strangers
 * (cpu-preempted, cpu-contended).
 */
#include <inttypes.h>
#include <string.h>

#include "lib/account/finding_details.h"
#include "lib/account/names.h"
#include "lib/detect/detect_internal.h"

#define NAMES_TOLD 3

/* The others, as the sentence and the remedies see them. */
struct others {
	unsigned threads;
	struct bytes names[NAMES_TOLD]; /* most time first */
	unsigned nnames, more;		/* more: other names */
	uint32_t frame;			/* where the one with most time was */
	bool openmp,
		loader; /* of OpenMP; DataLoader's workers, which call themselves pt_data_... */
};

static bool is_oversubscribed(const struct cause *c, const struct loss *x)
{
	return x->sort & LOSS_TURNS;
}

static bool has_prefix(struct bytes text, const char *prefix)
{
	return text.n >= strlen(prefix) && memcmp(text.p, prefix, strlen(prefix)) == 0;
}

static bool is_of(const struct loss_view *f, const struct crowd_thread *t)
{
	const struct cause *c = f->c;
	uint32_t process = cause_process_of(c, t->thread);
	const struct line_culprit *who = f->who;

	if (!who || who->kind == CULPRIT_OWN)
		return process == f->loss->process;
	return process != f->loss->process &&
	       bytes_equal(name_process_first(c->w, &c->tally, process),
			   name_process_first(c->w, &c->tally, who->process));
}

static void add_name(struct others *o, struct bytes name)
{
	for (unsigned i = 0; i < o->nnames; i++)
		if (bytes_equal(o->names[i], name))
			return;
	if (!name.n)
		return;
	if (o->nnames == NAMES_TOLD)
		o->more++;
	else
		o->names[o->nnames++] = name;
}

static struct others others_of(const struct loss_view *f)
{
	const struct loss_crowd *x = loss_crowd_of(&f->c->lost_time, f->loss->process);
	uint64_t most = 0;
	struct others o = { 0 };

	for (size_t i = 0; x && i < x->threads.n; i++) {
		const struct crowd_thread *t = &x->threads.v[i];
		struct bytes name = name_thread(f->c->w, &f->c->tally, t->thread);

		if (!is_of(f, t))
			continue;
		o.threads++;
		o.openmp |= t->openmp;
		o.loader |= has_prefix(name, "pt_data");
		add_name(&o, name);
		if (t->ns > most && t->frame) {
			most = t->ns;
			o.frame = t->frame;
		}
	}
	return o;
}

static void print_others(const struct loss_view *f, const struct others *o, struct buf *out)
{
	if (!detect_own(f)) {
		buf_puts(out, f->culprit);
	} else {
		buf_printf(out, "%u other%s", o->threads, o->threads == 1 ? "" : "s");
		for (unsigned i = 0; i < o->nnames; i++)
			buf_printf(out, "%s%.*s", i ? ", " : " (", (int)o->names[i].n,
				   o->names[i].p);
		buf_puts(out, o->more ? " and others)" : o->nnames ? ")" : "");
	}
	if (!o->frame)
		return;
	buf_puts(out, ", mostly in ");
	name_frame(out, f->c->w, o->frame);
	buf_putc(out, ',');
}

static void print_summary(const struct loss_view *f, struct buf *out)
{
	const struct loss_crowd *x = loss_crowd_of(&f->c->lost_time, f->loss->process);
	struct others o = others_of(f);

	if (x)
		buf_printf(out, "%s%s up to %u threads take turns on %u CPU%s: ", f->victim,
			   detect_own(f) ? " has" : " and its processes have", x->busy, x->cpus,
			   x->cpus == 1 ? "" : "s");
	print_others(f, &o, out);
	buf_printf(out, " had the CPU that %s waited for, for ", detect_own(f) ? "it" : f->victim);
	detect_amount(f, out);
	detect_where(f, out);
}

static void add_evidence(const struct loss_view *f, struct finding *to)
{
	const struct loss_crowd *x = loss_crowd_of(&f->c->lost_time, f->loss->process);

	if (!x)
		return;
	details_add_number(to, "CPUs that it may use", x->cpus, "");
	details_add_number(to, "threads that took turns, at most", x->busy, "");
}

/* CPUs that are left for each of so many processes: one at least. */
static unsigned share_of(unsigned cpus, unsigned processes)
{
	return processes && cpus > processes ? cpus / processes : 1;
}

/* Measured (libgomp, two CPUs shared with compilers, three runs each): 300 steps took 1.4 to 3.0 s
 * with 8 threads, 12 to 17 s with 2 that spin, and 0.6 to 1.0 s with 2 passive ones. */
static void recommend_openmp(const struct loss_view *f, struct finding *to, unsigned threads)
{
	detect_recommend(
		f, to,
		details_print(to,
			      "Run no more OpenMP threads than there are CPUs for them: set this "
			      "before the program starts, or call torch.set_num_threads(%u)",
			      threads),
		details_print(to, "export OMP_NUM_THREADS=%u OMP_WAIT_POLICY=passive", threads), 0,
		"from nothing, if their work takes as long on fewer threads, to all of the "
		"waiting; passive, since threads that are no more than the CPUs spin for each "
		"other else, and for long when somebody takes one of these");
}

static void recommend_workers(const struct loss_view *f, struct finding *to, unsigned cpus)
{
	detect_recommend_code(f, to, "Start no more workers than there are CPUs",
			      details_print(to, "DataLoader(..., num_workers=%u)", cpus),
			      "from nothing, since the work of the workers has to be done "
			      "somewhere, to all of the waiting");
}

static void recommend_threads(const struct loss_view *f, struct finding *to)
{
	uint32_t n = detect_own(f) ? 0 : f->who->npids;
	struct buf command = { 0 };

	buf_puts(&command, n ? "ps -L -o pid,tid,psr,pcpu,comm" : "ps -L -o tid,psr,pcpu,comm");
	buf_printf(&command, " -p %" PRIu32, f->victim_pid);
	for (uint32_t i = 0; i < n && i < CULPRIT_PIDS; i++)
		buf_printf(&command, ",%" PRIu32, f->who->pids[i]);
	detect_recommend(f, to, "Run no more busy threads than the program has CPUs",
			 details_text(to, &command), 0,
			 "from nothing, since their work has to be done somewhere, to all of the "
			 "waiting; the command shows them");
}

static void recommend_cpus(const struct loss_view *f, struct finding *to, unsigned cpus)
{
	uint32_t machine =
		cause_nodes_cpus(&f->c->nodes, world_process_node(f->c->w, f->loss->process));

	if (machine > cpus)
		detect_recommend(f, to, "Let the program use more CPUs",
				 details_print(to, "taskset -a -c -p 0-%u %u", machine - 1,
					       f->victim_pid),
				 0,
				 "from nothing, if the other CPUs are busy or a cpuset forbids "
				 "them, to all of the waiting");
}

static void add_recommendations(const struct loss_view *f, struct finding *to)
{
	const struct loss_crowd *x = loss_crowd_of(&f->c->lost_time, f->loss->process);
	struct others o = others_of(f);
	unsigned cpus = x ? x->cpus : 1;

	if (o.openmp)
		recommend_openmp(f, to, detect_own(f) ? cpus : share_of(cpus, f->who->npids + 1));
	if (o.loader && !detect_own(f) && f->who->npids > cpus)
		recommend_workers(f, to, cpus);
	else if (!o.openmp)
		recommend_threads(f, to);
	recommend_cpus(f, to, cpus);
}

const struct loss_detector detect_cpu_oversubscribed = { .kind = "cpu-oversubscribed",
							 .family = LOSS_CPU,
							 .is = is_oversubscribed,
							 .summary = print_summary,
							 .recommend = add_recommendations,
							 .evidence = add_evidence };
