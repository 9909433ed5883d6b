/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's loop: attaches, drains the rings, writes files, and ends a recording. It copies
 * ring records into events and events into the writer; whatever may take long (names, disks) is
 * beside it. Time runs on CLOCK_MONOTONIC, as in the kernel side. Invariant: the watermark given to
 * the writer lies behind everything that can still come out of the rings.
 */
#include "lib/record/recorder_internal.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/host/clock.h"
#include "lib/host/descriptors.h"
#include "lib/host/rights.h"
#include "lib/attach/chosen_ops.h"
#include "lib/decode/cuda_devices.h"
#include "lib/record/host_records.h"
#include "lib/attach/spec.h"

/*
 * What the interrupt behind a CPU sample takes from the thread that has the CPU: calibrated, for
 * the kernel measures only the program that runs in it. On virtual machines it is by far the larger
 * part.
 */

#define ROUNDS	  12
#define PERIOD_NS 50000
#define WORK	  150000 /* additions: a few periods */

static int64_t work_ns(void)
{
	int64_t from = host_clock_mono();

	for (volatile unsigned i = 0; i < WORK; i++)
		;
	return host_clock_mono() - from;
}

/* ns of one interrupt of the kernel's CPU clock on this thread; takes some milliseconds. 0: not
 * known. */
static double record_tick_ns(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = PERIOD_NS,
					.disabled = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	int64_t without = INT64_MAX, with = INT64_MAX;

	if (fd < 0)
		return 0;
	for (int i = 0; i < ROUNDS; i++) {
		int64_t took = work_ns();

		without = took < without ? took : without;
		if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
			break;
		took = work_ns();
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		with = took < with ? took : with;
	}
	close(fd);
	return with > without && with < INT64_MAX
		       ? (double)(with - without) / ((double)with / PERIOD_NS)
		       : 0;
}

#define SECOND_NS  1000000000
#define MS_NS	   1000000ll
#define CLOCK_NS   10000000000ll
#define KUBELET_MS 500 /* for the kubelet of this machine to answer */
#define GPUS_MS                                                                                    \
	500 /* for a driver to tell its GPUs; NVML takes tens of milliseconds of one that is awake \
	     */

/* Waking up is what most turns cost. They are short while threads and libraries come and go, for
 * what is read of a process beside the rings can be gone with it, and while a window of the budget
 * is open, which is to end in time; else they are long. Either ends when the life ring has
 * something or a quarter of the event ring is full. */
#define TURN_NEWS_MS  10
#define TURN_QUIET_MS 50
#define NEWS_NS	      SECOND_NS

/* A look of so long is followed by that many times as long without one. */
#define PEERS_REST 50

static void find_peers(struct recorder *r, int64_t now)
{
	int64_t began = host_clock_mono();

	if (r->session && now >= r->waits.next_peers && probe_session_find_peers(r->session))
		r->waits.next_peers = now + PEERS_REST * (host_clock_mono() - began);
}

static bool note_caller(void *ctx, uint32_t process)
{
	record_samples_caller(&((struct recorder *)ctx)->samples, process);
	return false; /* and the next one */
}

static int write_samples(struct recorder *r, int64_t now, struct err *e)
{
	record_samples_no_callers(&r->samples);
	if (r->session && record_samples_full(&r->samples))
		wire_decoder_caller(r->wire, note_caller, r);
	return record_samples_say(&r->samples, r->writer, now, e);
}

static bool is_target(void *ctx, uint32_t tgid)
{
	return probe_session_is_target(((const struct recorder *)ctx)->session, tgid);
}

static int write_others(struct recorder *r, int64_t now, struct err *e)
{
	struct disk_users *users = &r->waits.disk_users;
	uint64_t bytes, before = users->samples;
	int rc = metadata_write_others(r->writer, r->session, r->wire, &r->waits.others,
				       &r->thinned.band, now, &bytes, e);

	if (rc == 0)
		rc = disk_users_say(users, r->writer, bytes, now, r->finished, e);
	/* Two at a time, which say how much was moved between: neither is left out. */
	r->thinned.band.said += users->samples - before;
	return rc;
}

static int each_second(struct recorder *r, int64_t now, struct err *e)
{
	int rc;

	/* Processes that are there belong where they did not. */
	rc = host_kubelet_step(&r->kubelet, now) ? recorder_say_places(r, e) : 0;
	if (r->session)
		probe_targets_look(r->targets);
	if (rc == 0 && r->session)
		rc = recorder_forget(r, now, e);
	if (r->session && kernel_id_names_many(wire_decoder_numbers(r->wire)))
		probe_session_number_anew(r->session);
	find_peers(r, now);
	if (rc == 0)
		rc = recorder_say_pipes(r, now, e);
	recorder_tell_pods(r);
	recorder_tell_no_cuda(r);
	if (rc == 0)
		rc = recorder_say_losses(r, now, e);
	if (rc == 0)
		rc = write_samples(r, now, e);
	if (rc == 0)
		rc = record_gpus_say(&r->gpus, r->writer, e);
	recorder_tell_gpus(r);
	recorder_tell_unsampled(r);
	if (rc == 0 && r->session)
		rc = write_others(r, now, e);
	if (rc == 0 && now >= r->next_clock) {
		r->next_clock = now + CLOCK_NS;
		rc = metadata_write_clock(r->writer, "tick", e);
		if (rc == 0)
			rc = recorder_say_thinned(r, now, e);
		if (rc == 0)
			rc = recorder_say_cost(r, now, e);
	}
	if (rc == 0 && r->session)
		record_cost_look(&r->spent.cost, r->session, now, r->calls, false);
	return rc;
}

static int open_writer(struct recorder *r, struct err *e)
{
	struct ige_writer_options *form = &r->form;
	struct record clock = { 0 };

	*form = (struct ige_writer_options){ .clock_id = 1,
					     .boot = r->node.host.boot,
					     .index = true };
	memcpy(form->node_uuid, r->node.host.uuid, sizeof(form->node_uuid));
	host_clock_record(&clock, "start");
	form->real_minus_mono_ns = clock.u.CLOCK.real_ns - clock.u.CLOCK.mono_ns;
	record_tee_init(&r->tee, r->opt.outputs, r->opt.noutputs);
	record_flight_init(&r->flight, r->opt.flight_ns, r->opt.flight_bytes);
	return ige_writer_new(&r->writer, r->world,
			      r->opt.flight_ns ? &r->flight.sink : &r->tee.sink, form, e);
}

static int open_session(struct recorder *r, struct err *e)
{
	size_t n;
	int rc;
	const struct probe_spec *specs = probe_specs(&n);

	r->specs = calloc(n, sizeof(*r->specs));
	if (!r->specs)
		return err_nomem(e);
	for (size_t i = 0; i < n; i++)
		r->specs[i] = specs[i].op;
	r->opt.probe.specs = r->specs;
	r->opt.probe.nspecs = n;
	rc = probe_session_open(&r->session, &r->opt.probe, e);
	if (rc == 0 && !r->opt.chosen &&
	    probe_session_programs(r->session)->link == PROBE_LINK_PERF)
		recorder_tell(r, RECORD_NOTE,
			      "ops      the %zu that stalls happen in: perf links are slow (-e "
			      "chooses others)",
			      chosen_ops_core());
	return rc;
}

static int begin_recording(struct recorder *r, struct err *e)
{
	int rc = recorder_say_start(r, e);

	/* So that a reader, and a recorder killed at once, have this much. */
	return rc ? rc
		  : ige_writer_flush(r->writer, r->start_ns - RECORD_LAG_NS,
				     r->start_ns - RECORD_LAG_NS, true, e);
}

/* Only where every call that sets a thread's device is recorded. */
static bool follow_devices(const struct recorder *r)
{
	size_t n;
	const struct probe_spec *specs = probe_specs(&n);

	for (size_t i = 0; i < n; i++)
		if (specs[i].left_out && cuda_devices_needs(specs[i].op.op))
			return false;
	return r->opt.sample <= 1;
}

static int open_probes(struct recorder *r, struct err *e)
{
	struct wire_decoder_owner owner = recorder_owner;
	int rc = open_session(r, e);

	owner.ctx = r;
	if (rc == 0)
		rc = probe_stacks_new(&r->stacks, r->world, e);
	if (rc == 0)
		rc = probe_pythons_new(&r->pythons, r->session, r->stacks, e);
	if (rc == 0)
		rc = python_codes_new(&r->codes, r->world, e);
	if (rc == 0)
		rc = probe_unwinds_new(&r->unwinds, r->session, r->opt.probe.unwind_bytes, e);
	if (rc == 0)
		probe_stacks_by_lists(r->stacks, r->unwinds);
	if (rc == 0)
		rc = library_instances_new(&r->copies, r->session, r->stacks, r->pythons,
					   r->unwinds, e);
	if (rc == 0)
		rc = probe_targets_new(&r->targets, r->session, r->copies, r->stacks,
				       &r->opt.targets, e);
	if (follow_devices(r) == false)
		owner.gpu = NULL;
	if (rc == 0)
		rc = wire_decoder_new(&r->wire, r->world, r->node.id, &owner, e);
	return rc;
}

static int start_probes(struct recorder *r, struct err *e)
{
	int rc = recorder_start_cost(r, e);

	if (rc == 0)
		rc = probe_session_start(r->session, e);
	record_cost_look(&r->spent.cost, r->session, r->start_ns, 0, false);
	if (rc == 0) {
		recorder_tell_sampled(r);
		r->spent.tick_ns = probe_session_cpu_hz(r->session) ? record_tick_ns() : 0;
		rc = begin_recording(r, e);
	}
	if (rc == 0)
		rc = probe_targets_start(r->targets, e);
	if (rc == 0) {
		recorder_tell_copies(r);
		recorder_tell_pythons(r);
		rc = recorder_say_uncovered(r, e);
	}
	return rc;
}

static int start_samples(struct recorder *r, struct err *e)
{
	int rc = begin_recording(r, e);

	return rc ? rc : recorder_look(r, e);
}

/* The command waits for us: its first call shall find its GPU known. */
static int await_gpus(struct recorder *r, struct err *e)
{
	int rc = 0;

	for (unsigned ms = 0; rc == 0 && ms < GPUS_MS && !record_gpus_settled(&r->gpus); ms += 2) {
		struct timespec nap = { .tv_nsec = 2000000 };

		nanosleep(&nap, NULL);
		rc = record_gpus_say(&r->gpus, r->writer, e);
	}
	return rc;
}

int recorder_open(struct recorder **out, const struct recorder_options *opt, struct err *e)
{
	struct recorder *r = calloc(1, sizeof(*r));
	int rc;

	*out = r;
	if (!r)
		return err_nomem(e);
	r->opt = *opt;
	host_descriptors_raise(); /* samples take several for each process */
	r->world = world_new();
	if (!r->world)
		return err_nomem(e);
	record_node_read(&r->node, r->world, opt->node_name);
	r->thinned.band.on = opt->thin;
	r->thinned.band.deadband = opt->deadband;
	r->thinned.band.heartbeat_ns = opt->heartbeat_ns;
	r->gpus.thin = &r->thinned.band;
	host_kubelet_find(&r->kubelet, NULL);
	host_kubelet_wait(&r->kubelet, KUBELET_MS);
	r->opt.targets.given = r->gpus.given = &r->kubelet.pods;
	if (!opt->no_gpu)
		record_gpus_init(&r->gpus, r->world, r->node.id, recorder_process, r);
	rc = opt->mark ? record_marks_open(&r->marks, opt->mark, &opt->flight_owner, e) : 0;
	r->marks.ctx = world_ctx(r->world, &(struct world_ctx){ .node = r->node.id });
	if (rc == 0)
		rc = record_samples_init(&r->samples, r->world, r->node.id, &r->thinned.band, e);
	if (rc == 0 && !opt->no_probes)
		rc = open_probes(r, e);
	if (rc == 0)
		rc = open_writer(r, e);
	if (rc)
		return rc;
	r->start_ns = host_clock_mono();
	r->loss.since_ns = r->trigger.cut_ns = r->thinned.since_ns = r->spent.since_ns =
		r->start_ns;
	r->watermark = r->floor = r->start_ns - RECORD_LAG_NS;
	r->news_ns = r->start_ns;
	r->next_flush = r->start_ns + (int64_t)opt->flush_ns;
	r->next_second = r->start_ns + SECOND_NS / 2;
	r->next_clock = r->start_ns + CLOCK_NS;
	recorder_tell_probes(r);
	recorder_tell_pods(r);
	if (r->session)
		disk_users_init(&r->waits.disk_users, r->world, is_target, recorder_process, r);
	rc = opt->no_probes ? start_samples(r, e) : start_probes(r, e);
	if (rc == 0 && opt->mark && r->session)
		rc = probe_session_watch(r->session, r->marks.fd, e);
	if (rc)
		return rc;
	if (r->session && opt->targets.launched)
		rc = await_gpus(r, e);
	if (rc)
		return rc;
	r->opens.slow_ns = r->opt.trigger ? r->opt.trigger->slow_ns : NULL;
	r->start_cpu = r->spent.cpu = recorder_cpu();
	return record_samples_say(&r->samples, r->writer, r->start_ns, e);
}

uint64_t recorder_rights(const struct recorder *r)
{
	bool perf = r->session && probe_session_programs(r->session)->link == PROBE_LINK_PERF;

	return host_rights_recording() | (perf ? host_rights_admin() : HOST_RIGHTS_NONE);
}

static int check_open_calls(struct recorder *r, int64_t now, bool at_end, struct err *e)
{
	return r->session ? open_call_list_look(&r->opens, r->session, r->wire, r->writer, now,
						r->opt.hung_ns, at_end, &r->floor, e)
			  : 0;
}

static int turn_ms(const struct recorder *r, int64_t now)
{
	int64_t left =
		r->opt.duration_ns ? r->start_ns + (int64_t)r->opt.duration_ns - now : INT64_MAX;

	if (now - r->news_ns < NEWS_NS || left < TURN_QUIET_MS * MS_NS ||
	    r->spent.budget.plan.in_window)
		return TURN_NEWS_MS;
	return TURN_QUIET_MS;
}

static int process_events(struct recorder *r, struct err *e)
{
	if (probe_session_wait(r->session, turn_ms(r, host_clock_mono())) < 0)
		return err_sys(e, "cannot wait for events");
	recorder_drain(r);
	recorder_tell_copies(r);
	recorder_tell_pythons(r);
	if (r->event_error.code)
		*e = r->event_error;
	return r->event_error.code ? r->event_error.code : recorder_say_uncovered(r, e);
}

int recorder_step(struct recorder *r, struct err *e)
{
	bool flush = false, look = false;
	int64_t now;
	int rc = 0;

	rc = r->session ? process_events(r, e) : recorder_idle(r, e);
	recorder_take_marks(r);
	if (rc == 0)
		rc = record_gpus_say_xids(&r->gpus, r->writer, false, e);
	if (rc)
		return rc;
	now = host_clock_mono();
	rc = recorder_keep_budget(r, now, e);
	if (rc)
		return rc;
	if (now >= r->next_second) {
		r->next_second += SECOND_NS;
		/* Seconds for which we had no CPU are not made up for. */
		if (r->next_second < now + SECOND_NS / 2)
			r->next_second = now + SECOND_NS;
		rc = each_second(r, now, e);
		/* A call that hangs may be what triggers: that does not wait until somebody wants
		 * to read. */
		look = r->opt.flush_ns > SECOND_NS;
	}
	if (rc == 0 && now >= r->next_flush) {
		r->next_flush = now + (int64_t)r->opt.flush_ns;
		flush = look = true;
	}
	if (rc == 0 && look)
		rc = check_open_calls(r, now, false, e);
	if (rc == 0 && flush)
		rc = recorder_look_at_sleepers(r, now, e);
	if (rc == 0)
		rc = ige_writer_flush(r->writer, r->watermark,
				      r->floor < r->watermark ? r->floor : r->watermark, flush, e);
	if (rc == 0)
		rc = recorder_turn_over(r, now, e);
	if (rc)
		return rc;
	if (r->opt.duration_ns && now - r->start_ns >= (int64_t)r->opt.duration_ns)
		return 0;
	if (r->opt.until_targets_end && recorder_alive(r) == 0)
		return 0;
	return 1;
}

static void stop_probes(struct recorder *r)
{
	int64_t began = host_clock_mono();
	struct err ignored = { 0 };
	bool detached;

	find_peers(r, r->waits.next_peers);
	host_clock_record(&r->end, "end");
	r->stop_ns = r->end.u.CLOCK.mono_ns;
	probe_session_stop(r->session);
	detached = library_instances_detach(r->copies);
	recorder_tell_detached(r, host_clock_mono() - began, detached);
	probe_targets_close(r->targets);
	recorder_drain_rest(r);
	recorder_say_asleep(r, r->stop_ns, &ignored);
	record_cost_look(&r->spent.cost, r->session, began, r->calls, true);
	recorder_tell_copies(r);
	recorder_tell_pythons(r);
}

int recorder_finish(struct recorder *r, struct err *e)
{
	int64_t now;
	int rc;

	if (r->finished)
		return 0;
	r->finished = true;
	recorder_take_marks(r);
	if (r->session)
		stop_probes(r);
	now = host_clock_mono();
	rc = r->event_error.code ? (*e = r->event_error, e->code) : recorder_say_losses(r, now, e);
	deadband_forget(&r->thinned.band); /* the last values are there in any case */
	map_clear(&r->waits.others);
	if (rc == 0)
		rc = write_samples(r, now, e);
	if (rc == 0)
		rc = record_samples_rest(&r->samples, r->writer, e);
	if (rc == 0)
		rc = record_gpus_say(&r->gpus, r->writer, e);
	if (rc == 0 && r->session)
		rc = write_others(r, now, e);
	if (rc == 0)
		rc = record_gpus_say_xids(&r->gpus, r->writer, true, e);
	if (rc == 0)
		rc = recorder_say_thinned(r, now, e);
	if (rc == 0)
		rc = recorder_end_budget(r, now, e);
	if (rc == 0)
		rc = recorder_say_cost(r, now, e);
	if (rc == 0)
		rc = check_open_calls(r, r->stop_ns, true, e);
	if (rc == 0 && r->session)
		rc = recorder_say_uncovered(r, e);
	if (rc == 0)
		rc = recorder_say_coverage(r, now, e);
	if (!r->end.kind)
		host_clock_record(&r->end, "end");
	if (rc == 0)
		rc = ige_writer_record(r->writer, &r->end, e);
	if (rc == 0)
		rc = ige_writer_finish(r->writer, e);
	return rc;
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	if (r->session && r->targets && r->copies)
		recorder_let_go(r);
	probe_targets_free(r->targets);
	library_instances_free(r->copies);
	probe_stacks_free(r->stacks);
	probe_pythons_free(r->pythons);
	python_codes_free(r->codes);
	probe_unwinds_free(r->unwinds);
	probe_session_free(r->session);
	wire_decoder_free(r->wire);
	record_watch_free(&r->watch);
	open_call_list_free(&r->opens);
	sleepers_free(&r->waits.sleepers);
	sleepers_free(&r->waits.locked);
	vec_free(&r->waits.locks);
	pipe_holders_free(&r->waits.pipes);
	record_samples_free(&r->samples);
	record_gpus_free(&r->gpus);
	host_kubelet_close(&r->kubelet);
	deadband_free(&r->thinned.band);
	record_marks_close(&r->marks);
	record_nvtx_free(&r->nvtx);
	record_cost_stop(&r->spent.cost);
	vec_free(&r->sampled);
	stack_ends_free(&r->stack_ends);
	recorder_budget_free(&r->spent.budget);
	vec_free(&r->uncovered.fresh);
	vec_free(&r->uncovered.v);
	ige_writer_free(r->writer);
	record_flight_free(&r->flight);
	world_free(r->world);
	map_free(&r->lives.processes);
	ended_processes_free(&r->lives.ended);
	map_free(&r->lives.comms);
	vec_free(&r->lives.names);
	map_free(&r->lives.name_of);
	map_free(&r->waits.others);
	disk_users_free(&r->waits.disk_users);
	socket_owners_free(&r->waits.sockets);
	for (size_t i = 0; i < r->notices.v.n; i++)
		free(r->notices.v.v[i].text);
	vec_free(&r->notices.v);
	free(r->specs);
	free(r);
}
