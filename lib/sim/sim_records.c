/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates the records that a recorder would write: session, node, clock, coverage, samples once a
 * second, and at the end the truth. Values are computed from what was generated so far, so that
 * samples agree with events.
 */
#include <string.h>

#include "lib/sim/stream.h"

static struct record *add_record(struct sim_stream *s, enum record_kind kind)
{
	struct record *r = &s->pending[s->npending++];

	memset(r, 0, sizeof(*r));
	r->kind = (uint16_t)kind;
	return r;
}

void sim_say_clock(struct sim_stream *s, int64_t now_ns, const char *source)
{
	struct record *r = add_record(s, RECORD_CLOCK);

	REC_SET(r, CLOCK, mono_ns, now_ns);
	REC_SET(r, CLOCK, boot_ns, now_ns + SIM_BOOT_AHEAD_NS);
	REC_SET(r, CLOCK, real_ns, now_ns - SIM_BEGIN_NS + SIM_REAL_NS);
	REC_SET(r, CLOCK, uncertainty_ns, 120);
	REC_SET(r, CLOCK, source, bytes_of(source));
}

static void add_coverage(struct sim_stream *s, int64_t now_ns)
{
	static const struct {
		const char *layer, *path, *site;
		uint32_t attached;
	} layers[3] = {
		{ "runtime", "/usr/local/cuda/lib64/libcudart.so.12", "+0", 16 },
		{ "driver", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "+10", 21 },
		{ "sched", "", "", 3 },
	};

	for (unsigned i = 0; i < 3; i++) {
		struct record *r = add_record(s, RECORD_COVERAGE);

		REC_SET(r, COVERAGE, time_ns, now_ns);
		REC_SET(r, COVERAGE, process, s->run.cast.victim_process);
		REC_SET(r, COVERAGE, layer, bytes_of(layers[i].layer));
		REC_SET(r, COVERAGE, requested, layers[i].attached);
		REC_SET(r, COVERAGE, attached, layers[i].attached);
		REC_SET(r, COVERAGE, failed, 0);
		REC_SET(r, COVERAGE, delivered, s->delivered[i]);
		if (*layers[i].path)
			REC_SET(r, COVERAGE, path, bytes_of(layers[i].path));
		if (*layers[i].site)
			REC_SET(r, COVERAGE, site, bytes_of(layers[i].site));
	}
}

static void add_sample(struct sim_stream *s, int64_t now_ns, enum metric_id metric, double value)
{
	struct record *r = add_record(s, RECORD_SAMPLE);

	REC_SET(r, SAMPLE, time_ns, now_ns);
	REC_SET(r, SAMPLE, metric, metric);
	REC_SET(r, SAMPLE, value, value);
	if (metric == METRIC_PROC_RUN_DELAY_NS)
		REC_SET(r, SAMPLE, process, s->run.cast.victim_process);
	if (metric >= METRIC_GPU_BUSY && metric <= METRIC_GPU_MEM_TOTAL)
		REC_SET(r, SAMPLE, gpu, s->run.cast.gpu);
	if (metric == METRIC_CGROUP_THROTTLED_NS || metric == METRIC_CGROUP_THROTTLED ||
	    metric == METRIC_CGROUP_PERIODS)
		REC_SET(r, SAMPLE, cgroup, s->run.cast.cgroup);
}

/* Use of all CPUs in percent: by the loop and the hog, and in its peak nearly all others. */
static double cpu_busy(const struct sim_stream *s, int64_t now_ns)
{
	const struct sim_options *o = &s->run.o;

	if (!o->hog_wave || !o->hog_percent)
		return 40 + o->hog_percent / 4.0;
	return sim_hog_peak(&s->run, now_ns) ? 94 + (double)(now_ns / 1000000000 % 3)
					     : 27 + (double)(now_ns / 1000000000 % 5);
}

/* The load average of one minute, updated every second: it follows the runnable threads slowly. */
static double load_average(struct sim_stream *s, int64_t now_ns)
{
	const struct sim_options *o = &s->run.o;
	double runnable = o->threads + (sim_hog_peak(&s->run, now_ns) ? 2.0 * o->cpus : 0);

	if (!o->hog_wave || !o->hog_percent)
		return o->threads + o->hog_percent / 100.0;
	s->load = s->load > 0 ? s->load + (runnable - s->load) / 60 : runnable;
	return s->load;
}

void sim_say_samples(struct sim_stream *s, int64_t now_ns)
{
	const struct sim_options *o = &s->run.o;
	const uint64_t periods = (uint64_t)(now_ns - s->run.begin_ns) / SIM_QUOTA_NS;
	uint64_t delay = 0, delay_us, throttled = s->actors[0].throttled_ns,
		 times = s->actors[0].throttled;

	for (unsigned i = 0; i < s->nactors; i++)
		delay += s->actors[i].run_delay_ns;
	delay_us = delay / 1000;
	add_sample(s, now_ns, METRIC_CPU_BUSY, cpu_busy(s, now_ns));
	add_sample(s, now_ns, METRIC_LOAD_1, load_average(s, now_ns));
	add_sample(s, now_ns, METRIC_MEM_USED, 12.0 * (1 << 30));
	add_sample(s, now_ns, METRIC_PSI_CPU_SOME, (double)delay_us);
	add_sample(s, now_ns, METRIC_STEAL_NS, (double)s->run.truth[PLANT_STOLEN].lost_ns);
	add_sample(s, now_ns, METRIC_PROC_RUN_DELAY_NS, (double)delay);
	/* What a GPU monitor shows of a device that waits for copies, or does two processes' work:
	 * nothing is wrong. */
	if (o->copy_percent || o->share_percent)
		add_sample(s, now_ns, METRIC_GPU_BUSY, 98);
	if (o->throttle_percent) {
		add_sample(s, now_ns, METRIC_CGROUP_THROTTLED_NS, (double)throttled);
		add_sample(s, now_ns, METRIC_CGROUP_THROTTLED, (double)times);
		add_sample(s, now_ns, METRIC_CGROUP_PERIODS, (double)periods);
	}
}

void sim_say_start(struct sim_stream *s)
{
	struct sim_run *r = &s->run;
	struct record *rec = add_record(s, RECORD_SESSION);

	REC_SET(rec, SESSION, start_ns, r->begin_ns);
	REC_SET(rec, SESSION, tool, bytes_of("ingero-demo"));
	REC_SET(rec, SESSION, target, bytes_of("generated"));
	REC_SET(rec, SESSION, off_cpu, 1);
	REC_SET(rec, SESSION, seed, r->o.seed);
	rec = add_record(s, RECORD_NODE);
	REC_SET(rec, NODE, node, r->cast.node);
	REC_SET(rec, NODE, hostname, bytes_of(s->run.o.node ? s->run.o.node : SIM_NODE));
	REC_SET(rec, NODE, kernel, bytes_of("generated"));
	REC_SET(rec, NODE, arch, bytes_of("x86_64"));
	REC_SET(rec, NODE, cpus, r->o.cpus > s->nactors ? r->o.cpus : s->nactors);
	REC_SET(rec, NODE, memory_bytes, 64ull << 30);
	sim_say_clock(s, r->begin_ns, "start");
	add_coverage(s, r->begin_ns);
}

void sim_say_end(struct sim_stream *s)
{
	struct sim_run *r = &s->run;

	if (r->nopen) /* nothing ended any more, but the recording went on */
		s->latest_ns = r->end_ns;
	sim_say_samples(s, s->latest_ns);
	add_coverage(s, s->latest_ns);
	for (unsigned i = 0; i < r->nopen; i++) {
		struct record *rec = add_record(s, RECORD_OPEN);

		REC_SET(rec, OPEN, time_ns, s->latest_ns);
		REC_SET(rec, OPEN, thread, r->open[i].thread);
		REC_SET(rec, OPEN, op, r->open[i].op);
		REC_SET(rec, OPEN, start_ns, r->open[i].start_ns);
		REC_SET(rec, OPEN, depth, r->open[i].depth);
		REC_SET(rec, OPEN, stack, r->open[i].stack);
		REC_SET(rec, OPEN, at_end, 1);
	}
	sim_say_clock(s, s->latest_ns, "end");
	for (unsigned i = 0; i < PLANTS; i++) {
		const struct sim_truth *t = &r->truth[i];
		struct record *rec;

		if (t->count == 0 || i == PLANT_STOLEN)
			continue;
		rec = add_record(s, RECORD_TRUTH);
		REC_SET(rec, TRUTH, time_ns, s->latest_ns);
		REC_SET(rec, TRUTH, kind, bytes_of(t->kind));
		REC_SET(rec, TRUTH, culprit, bytes_of(t->culprit));
		REC_SET(rec, TRUTH, culprit_pid, t->culprit_pid);
		REC_SET(rec, TRUTH, victim_pid, t->victim_pid);
		REC_SET(rec, TRUTH, lost_ns, t->lost_ns);
		REC_SET(rec, TRUTH, count, t->count);
	}
}
