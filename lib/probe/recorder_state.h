/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's inside, shared by recorder.c, which makes the recording, and its parts: recorder_feed.c brings what the
 * rings hold, recorder_say.c puts statements into the recording, recorder_tell.c keeps notices for a person,
 * recorder_files.c ends files, recorder_forget.c lets go of who has ended. Parts never call recorder.c. Nobody else
 * includes this.
 */
#ifndef INGERO_PROBE_RECORDER_STATE_H
#define INGERO_PROBE_RECORDER_STATE_H

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/host/kubelet.h"
#include "lib/ige/writer.h"
#include "lib/probe/codes.h"
#include "lib/probe/cost.h"
#include "lib/probe/ended.h"
#include "lib/probe/flight.h"
#include "lib/probe/gpus.h"
#include "lib/probe/marks.h"
#include "lib/probe/nvtx.h"
#include "lib/probe/opens.h"
#include "lib/probe/pipes.h"
#include "lib/probe/recorder.h"
#include "lib/probe/recorder_budget.h"
#include "lib/probe/samples.h"
#include "lib/probe/sleepers.h"
#include "lib/probe/sockets.h"
#include "lib/probe/statements.h"
#include "lib/probe/thin.h"
#include "lib/probe/watch.h"
#include "lib/probe/wire.h"
#include "lib/world/stack_ends.h"

/* A thread preempted between reading the clock and the ring delivers that much late at most. */
#define PROBE_LAG_NS 50000000

/* An op whose calls may be left out on purpose (--sample), or folded. */
struct sampled_op {
	uint16_t op;
	uint32_t every; /* as in op_spec */
	uint64_t told;	/* left out, and said so */
	uint64_t folded_told;
};

/* What is not an event and can be lost all the same. */
enum missing_kind {
	MISSING_STACKS,
	MISSING_KERNELS,
	MISSING_MARKS,
	MISSING_RANGES,
	MISSING_NAMES,
	MISSING_LATE_KERNELS,
	MISSING_LATE_TEXTS,
	MISSING_KINDS,
};

struct notice {
	char *text;
	enum probe_notice kind;
};

/* What a thread calls itself since it was first met. */
struct thread_name {
	uint32_t thread, name; /* of the world; a string of it */
	int64_t time_ns;
	bool ended;
};

struct probe_recorder {
	struct probe_recorder_options opt;
	struct world *world;
	struct probe_session *session; /* NULL without probes, and all that go with them */
	struct probe_stacks *stacks;
	struct probe_unwinds *unwinds; /* NULL: stacks by frame pointers */
	struct probe_pythons *pythons;
	struct probe_codes *codes;
	struct probe_copies *copies;
	struct probe_targets *targets;
	struct probe_watch watch; /* instead of targets, without probes */
	struct probe_wire *wire;
	struct probe_opens opens;
	struct probe_samples samples;
	struct probe_gpus gpus;
	struct host_kubelet kubelet;
	struct probe_marks marks;
	struct probe_nvtx nvtx;
	struct probe_cost cost;
	VEC(struct sampled_op) sampled;
	struct recorder_budget budget;
	double tick_ns;		    /* of the interrupt that a CPU sample takes */
	uint64_t ticks, ticks_said; /* CPU samples; those whose interrupts are in records so far */
	uint64_t left_out, folded, cost_ns, cost_host_ns, cost_calls,
		cost_measured; /* said in records so far */
	int64_t cost_since;
	double cost_cpu;
	struct probe_stops cost_stops; /* said in records so far */
	struct probe_thin thin;
	uint64_t thin_said, thin_left_out; /* of it, in records already */
	int64_t thin_since;
	struct probe_node node;
	struct probe_tee tee;
	struct probe_flight flight;
	struct ige_writer *writer;
	struct ige_writer_options form; /* of what it writes */
	bool at_tail; /* what is told now has not ended, and will be told again when it has */
	struct sleepers sleepers;
	struct sleepers locked; /* of them, who waits for a lock: when its owner is read next */
	VEC(struct wire_offcpu) locks; /* waits for locks that were met in this look */
	struct record *
		asleep; /* NULL, or what events that are told now make no event of the recording but this */
	struct op_spec *specs;
	struct probe_sockets sockets;
	struct probe_pipes pipes;
	int64_t next_peers;   /* not looked for before */
	struct map others;    /* see probe_say_others */
	struct map processes; /* tgid -> world process, see PROBE_ENDED */
	struct probe_ended ended;
	int64_t forgot_ns; /* the last look at these */
	struct map comms;  /* world process -> hash of its name as last said; without probes */
	VEC(struct thread_name) names; /* to be said in each file */
	struct map name_of;	       /* world thread -> index there */

	int64_t news_ns; /* when a thread or a library last came or went */
	int64_t start_ns, next_flush, next_second, next_clock, loss_since, watermark, floor;
	int64_t cut_ns, dumped_ns; /* when the writer was cut, the memory written last */
	int64_t next_gpus;
	int64_t trigger_ns; /* nothing that belongs to a trigger ends later */
	uint16_t slow_op;   /* what triggered, and how long it took */
	uint64_t slow_ns, hung_seen;
	bool triggered, dump_wanted;
	uint64_t idle_calls;  /* that had returned when the last one had, */
	int64_t idle_since;   /* and when that was, or was seen */
	bool idle_told, idle; /* that none does; that this triggered */
	struct loss_slot losses;
	uint64_t lost, dropped[2][2], refused;
	uint64_t missing[MISSING_KINDS]; /* as last said in this file */
	/* What the person who records was told of that, and when. */
	struct loss_slot losses_told;
	uint64_t lost_told, dropped_told[2], refused_told;
	int64_t losses_told_ns, next_lost;
	uint64_t events, calls;
	struct stack_ends stack_ends;
	VEC(struct probe_uncovered) uncovered_new; /* of processes that are not known yet */
	VEC(struct probe_uncovered) uncovered;	   /* without an end: repeated in each file */
	unsigned uncovered_told, processes_told;
	uint32_t uncovered_last; /* the process that was told of last */
	size_t copies_told, pythons_told;
	bool no_cuda_told, gpus_told, pods_told, no_room_told, unsampled_told, finished;
	double start_cpu;	/* seconds of CPU spent before the recording began */
	struct err event_error; /* first failure inside a callback */
	VEC(struct notice) notices;
	size_t notices_given;
};

/* What the decoder of this recorder calls; ctx is to be the recorder. */
extern const struct probe_wire_owner probe_recorder_owner;

/* The rings into the writer, and the watermark on. */
void probe_recorder_drain(struct probe_recorder *r);
void probe_recorder_drain_rest(struct probe_recorder *r);
/* World process of a tgid, announced or not; ctx is the recorder. */
uint32_t probe_recorder_process(void *ctx, uint32_t tgid);
/* However the recording ended: nobody stays stopped on our account. */
void probe_recorder_let_go(struct probe_recorder *r);

/* Without probes: processes that came and went; a turn of waiting for what comes next. */
int probe_recorder_look(struct probe_recorder *r, struct err *e);
int probe_recorder_idle(struct probe_recorder *r, struct err *e);
/* Targets that are there, and those met that have a CUDA library. */
size_t probe_recorder_alive(const struct probe_recorder *r);
size_t probe_recorder_with_cuda(const struct probe_recorder *r);

/* Lets go of who has ended, when nothing of theirs can come any more: to be called about once a second. */
int probe_recorder_forget(struct probe_recorder *r, int64_t now, struct err *e);

/* What was written into the FIFO since. */
void probe_recorder_take_marks(struct probe_recorder *r);
/* Another file begins: what marks are called. */
void probe_recorder_marks_again(struct probe_recorder *r);
/* What interrupts for CPU samples took from the targets since the last call: one was there for each sample. */
uint64_t probe_recorder_ticks_ns(struct probe_recorder *r);
/* Calibration, and sampling if asked for; what the recorder says of it. */
int probe_recorder_start_cost(struct probe_recorder *r, struct err *e);
/* Each turn: tiers are paused and resumed. At the end: what is paused stays so. */
int probe_recorder_keep_budget(struct probe_recorder *r, int64_t now, struct err *e);
int probe_recorder_end_budget(struct probe_recorder *r, int64_t now, struct err *e);
/* Another file begins: pauses that hold in it, too. */
int probe_recorder_repeat_pauses(struct probe_recorder *r, struct err *e);
void probe_recorder_tell_budget(struct probe_recorder *r);
struct recorder_slowdown probe_recorder_slowdown(const struct probe_recorder *r);
int probe_recorder_say_cost(struct probe_recorder *r, int64_t now, struct err *e);
void probe_recorder_tell_cost(struct probe_recorder *r);
/* NODE, SESSION and CLOCK: what each file begins with. */
int probe_recorder_say_start(struct probe_recorder *r, struct err *e);
/* Where all processes belong, that are still there. */
int probe_recorder_say_places(struct probe_recorder *r, struct err *e);
int probe_recorder_say_coverage(struct probe_recorder *r, int64_t now, struct err *e);
/* Whatever threads were renamed to in the files before. */
int probe_recorder_say_names(struct probe_recorder *r, struct err *e);
/* Once a turn: files that are large or old enough end, memory is written when something triggered. */
int probe_recorder_turn_over(struct probe_recorder *r, int64_t now, struct err *e);
/* Waits that have not ended, as far as until_ns; INT64_MAX: now. */
int probe_recorder_say_asleep(struct probe_recorder *r, int64_t until_ns, struct err *e);
/* From time to time: who has slept for long and sleeps still. */
int probe_recorder_look_at_sleepers(struct probe_recorder *r, int64_t now, struct err *e);
/* A wait that goes on, met in a look at who sleeps: if it is for a lock, it is kept until the look is over. */
void probe_recorder_keep_lock(struct probe_recorder *r, const struct wire_offcpu *wait);
/* Who owns these locks; none are kept then. */
int probe_recorder_say_owners(struct probe_recorder *r, struct err *e);
/* A wait on a descriptor goes on, or was that long: if it is a pipe, its other end is looked for; again: once more. */
void probe_recorder_keep_pipe(struct probe_recorder *r, const struct wire_offcpu *wait, bool again);
void probe_recorder_keep_pipe_of(struct probe_recorder *r, const struct event *ev);
/* Who has these ends, if it is time to look. */
int probe_recorder_say_pipes(struct probe_recorder *r, int64_t now, struct err *e);
/* Behind what a flight recorder has written to fd: calls and waits that have not ended by the watermark, as where a recording
 * ends. bytes: how many. */
int probe_recorder_say_tail(struct probe_recorder *r, int fd, uint64_t *bytes, struct err *e);
/* A line for the person who records; warning: something is missing. */
void probe_recorder_tell(struct probe_recorder *r, enum probe_notice kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* How stacks are walked: "none", "loop", "helper". */
const char *probe_recorder_walker(const struct probe_recorder *r);
/* Seconds of CPU this process has used. */
double probe_recorder_cpu(void);
/* How probes are attached and stacks walked. */
void probe_recorder_tell_probes(struct probe_recorder *r);
/* Whether CPUs are sampled, once the session has been started. */
void probe_recorder_tell_sampled(struct probe_recorder *r);
/* Notices about library copies that were attached, or could not be. */
void probe_recorder_tell_copies(struct probe_recorder *r);
/* Once, when it is known whose health is recorded. */
void probe_recorder_tell_gpus(struct probe_recorder *r);
/* Once: which containers were given GPUs, or why that is not known. */
void probe_recorder_tell_pods(struct probe_recorder *r);
/* Once: that there are more processes than are sampled. */
void probe_recorder_tell_unsampled(struct probe_recorder *r);
/* How long it took to take the probes away. */
void probe_recorder_tell_detached(struct probe_recorder *r, int64_t took_ns, bool all);
/* Notices about Python runtimes found. */
void probe_recorder_tell_pythons(struct probe_recorder *r);
/* Once, while no target has a CUDA library. */
void probe_recorder_tell_no_cuda(struct probe_recorder *r);
/* UNCOVERED records of what scans found since the last call. */
int probe_recorder_say_uncovered(struct probe_recorder *r, struct err *e);
/* Another file begins: those that hold in it, too. */
int probe_recorder_repeat_uncovered(struct probe_recorder *r, struct err *e);
void probe_recorder_forget_uncovered(struct probe_recorder *r, const struct probe_gone *gone);
/* LOSS records of what was lost since the last call; a person is told now and then. */
int probe_recorder_say_losses(struct probe_recorder *r, int64_t now, struct err *e);
/* What was lost in all, line by line. */
void probe_recorder_tell_all_losses(struct probe_recorder *r);
uint64_t probe_recorder_ring_losses(const struct probe_recorder *r);
/* Names of kernels that there was no room for. */
uint64_t probe_recorder_roomless(const struct probe_recorder *r);
/* What thinning left out since the last call, if it is on. */
int probe_recorder_say_thinned(struct probe_recorder *r, int64_t now, struct err *e);

#endif
