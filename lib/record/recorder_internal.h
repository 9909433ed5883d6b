/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's private state, shared by recorder.c, which runs the recording, and its parts:
 * recorder_feed.c reads the rings, recorder_records.c writes metadata records, recorder_notices.c
 * collects notices for the user, recorder_files.c ends files, recorder_reap.c drops the state of
 * ended processes. Parts never call recorder.c. No other file includes this.
 */
#ifndef INGERO_RECORD_RECORDER_INTERNAL_H
#define INGERO_RECORD_RECORDER_INTERNAL_H

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/host/kubelet.h"
#include "lib/ige/writer.h"
#include "lib/decode/python_codes.h"
#include "lib/record/after_stop.h"
#include "lib/record/cost.h"
#include "lib/decode/ended_processes.h"
#include "lib/record/flight.h"
#include "lib/record/gpu_samples.h"
#include "lib/record/marks.h"
#include "lib/record/nvtx.h"
#include "lib/record/open_call_list.h"
#include "lib/record/pipe_holders.h"
#include "lib/record/recorder.h"
#include "lib/record/recorder_budget.h"
#include "lib/record/samples.h"
#include "lib/decode/sleepers.h"
#include "lib/record/socket_owners.h"
#include "lib/record/metadata_records.h"
#include "lib/record/deadband_filter.h"
#include "lib/record/disk_users.h"
#include "lib/record/process_watch.h"
#include "lib/decode/wire.h"
#include "lib/world/stack_ends.h"

/* A thread preempted between reading the clock and the ring delivers that much late at most. */
#define RECORD_LAG_NS 50000000

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
	enum record_notice kind;
};

/* What a thread calls itself since it was first met. */
struct thread_name {
	uint32_t thread, name; /* of the world; a string of it */
	int64_t time_ns;
	bool ended;
};

/* What is lost, and how much of that is in records of this file, or was said to a person. Of
 * recorder_losses.c. */
struct recorder_loss {
	struct loss_slot slots;
	uint64_t lost, dropped[2][2], refused;
	uint64_t missing[MISSING_KINDS]; /* as last said in this file */
	int64_t since_ns;
	struct loss_slot slots_told; /* to a person, as what follows */
	uint64_t lost_told, dropped_told[2], refused_told;
	int64_t told_ns, next_ns;
};

/* When a flight recorder writes what it holds, and why. Of recorder_files.c. */
struct recorder_trigger {
	int64_t cut_ns, dumped_ns; /* when the writer was cut, the memory written last */
	int64_t end_ns;		   /* nothing that belongs to a trigger ends later */
	uint16_t slow_op;	   /* what triggered, and how long it took */
	uint64_t slow_ns, hung_seen;
	bool fired, dump_wanted;
	uint64_t idle_calls;  /* that had returned when the last one had, */
	int64_t idle_since;   /* and when that was, or was seen */
	bool idle_told, idle; /* that none does; that this triggered */
};

/* What recording costs the programs, and what of it is in records so far. Of recorder_cost.c and
 * recorder_budget.c. */
struct recorder_spent {
	struct record_cost cost;
	struct recorder_budget budget;
	double tick_ns;		    /* of the interrupt that a CPU sample takes */
	uint64_t ticks, ticks_said; /* CPU samples; those whose interrupts are in records so far */
	uint64_t left_out, folded, ns, host_ns, calls, measured; /* said in records so far */
	int64_t since_ns;
	double cpu;
	struct probe_stops stops; /* said in records so far */
};

/* Notices for the user, and which of them were given. Of recorder_notices.c. */
struct recorder_notices {
	VEC(struct notice) v;
	size_t given;
	unsigned uncovered_told, processes_told;
	uint32_t uncovered_last; /* the process of the last notice */
	size_t copies_told, pythons_told;
	bool no_cuda_told, gpus_told, pods_told, no_room_told, unsampled_told;
};

/* Waits that go on, and who may end them. Of recorder_open_at_end.c, recorder_locks.c and
 * recorder_pipes.c. */
struct recorder_waits {
	struct sleepers sleepers;
	struct sleepers locked;	       /* those that wait for a lock: when its owner is read next */
	VEC(struct wire_offcpu) locks; /* waits for locks that this look found */
	struct record *record; /* NULL, or decoded events go into this record and not into the
				  recording */
	struct socket_owners sockets;
	struct pipe_holders pipes;
	int64_t next_peers; /* not looked for before */
	struct map others;  /* see metadata_write_others */
	struct disk_users disk_users;
};

/* Processes and threads from their first record to their last. Of recorder_feed.c and
 * recorder_reap.c. */
struct recorder_lives {
	struct map processes; /* tgid -> world process, see PROCESS_ENDED */
	struct ended_processes ended;
	int64_t forgot_ns; /* the last look at these */
	struct map comms;  /* world process -> hash of its name as last said; without probes */
	VEC(struct thread_name) names; /* to be said in each file */
	struct map name_of;	       /* world thread -> index there */
};

/* Of recorder_uncovered.c. */
struct recorder_uncovered {
	VEC(struct probe_uncovered) fresh; /* of processes that are not known yet */
	VEC(struct probe_uncovered) v;	   /* without an end: repeated in each file */
};

/* Samples that say nothing new. Of recorder_samples.c. */
struct recorder_thinned {
	struct deadband band;
	uint64_t said, left_out; /* of it, in records already */
	int64_t since_ns;
};

struct recorder {
	struct recorder_options opt;
	struct world *world;
	struct probe_session *session; /* NULL without probes, and all that go with them */
	struct probe_stacks *stacks;
	struct probe_unwinds *unwinds; /* NULL: stacks by frame pointers */
	struct probe_pythons *pythons;
	struct python_codes *codes;
	struct library_instances *copies;
	struct probe_targets *targets;
	struct record_watch watch; /* instead of targets, without probes */
	struct wire_decoder *wire;
	struct open_call_list opens;
	struct record_samples samples;
	struct record_gpus gpus;
	struct host_kubelet kubelet;
	struct record_marks marks;
	struct record_nvtx nvtx;
	struct op_spec *specs;
	VEC(struct sampled_op) sampled;
	struct record_node node;
	struct record_tee tee;
	struct record_flight flight;
	struct ige_writer *writer;
	struct ige_writer_options form; /* of what it writes */
	struct stack_ends stack_ends;

	struct recorder_lives lives;
	struct recorder_uncovered uncovered;
	struct recorder_waits waits;
	struct recorder_thinned thinned;
	struct recorder_trigger trigger;
	struct recorder_spent spent;
	struct recorder_loss loss;
	struct recorder_notices notices;

	bool at_tail; /* decoded waits have not ended; each comes again when it has */
	bool finished;
	int64_t stop_ns;   /* probes are being detached since then; 0: they are in place */
	struct record end; /* the clock at the end of what is recorded; kind 0: it goes on */
	int64_t news_ns;   /* when a thread or a library last came or went */
	int64_t start_ns, next_flush, next_second, next_clock, next_gpus, watermark, floor;
	uint64_t events, calls;
	double start_cpu;	/* seconds of CPU spent before the recording began */
	struct err event_error; /* first failure inside a callback */
};

/* What the decoder of this recorder calls; ctx is to be the recorder. */
extern const struct wire_decoder_owner recorder_owner;

/* The rings into the writer, and the watermark on. */
void recorder_drain(struct recorder *r);
void recorder_drain_rest(struct recorder *r);
/* World process of a tgid, announced or not; ctx is the recorder. */
uint32_t recorder_process(void *ctx, uint32_t tgid);
/* However the recording ended: nobody stays stopped on our account. */
void recorder_let_go(struct recorder *r);

/* Without probes: processes that came and went; a turn of waiting for what comes next. */
int recorder_look(struct recorder *r, struct err *e);
int recorder_idle(struct recorder *r, struct err *e);
/* Targets that are there, and those met that have a CUDA library. */
size_t recorder_alive(const struct recorder *r);
size_t recorder_with_cuda(const struct recorder *r);

/* Drops the state of ended processes once no more of their events can arrive. Call it about once a
 * second. */
int recorder_forget(struct recorder *r, int64_t now, struct err *e);

/* What was written into the FIFO since. */
void recorder_take_marks(struct recorder *r);
/* Another file begins: what marks are called. */
void recorder_marks_again(struct recorder *r);
/* Time that the targets lost to interrupts for CPU samples since the last call: one interrupt per
 * sample. */
uint64_t recorder_ticks_ns(struct recorder *r);
/* Calibrates the cost of calls, and starts sampling if asked for. */
int recorder_start_cost(struct recorder *r, struct err *e);
/* Each turn: tiers are paused and resumed. At the end: what is paused stays so. */
int recorder_keep_budget(struct recorder *r, int64_t now, struct err *e);
int recorder_end_budget(struct recorder *r, int64_t now, struct err *e);
/* Another file begins: pauses that hold in it, too. */
int recorder_repeat_pauses(struct recorder *r, struct err *e);
void recorder_tell_budget(struct recorder *r);
struct recorder_slowdown recorder_slowdown(const struct recorder *r);
int recorder_say_cost(struct recorder *r, int64_t now, struct err *e);
void recorder_tell_cost(struct recorder *r);
/* NODE, SESSION and CLOCK: what each file begins with. */
int recorder_say_start(struct recorder *r, struct err *e);
/* Where all processes belong, that are still there. */
int recorder_say_places(struct recorder *r, struct err *e);
int recorder_say_coverage(struct recorder *r, int64_t now, struct err *e);
/* Whatever threads were renamed to in the files before. */
int recorder_say_names(struct recorder *r, struct err *e);
/* Once a turn: ends files that are large or old enough; writes the flight recorder's memory when
 * triggered. */
int recorder_turn_over(struct recorder *r, int64_t now, struct err *e);
/* Waits that have not ended, as far as until_ns; INT64_MAX: now. */
int recorder_say_asleep(struct recorder *r, int64_t until_ns, struct err *e);
/* From time to time: records of threads that have been asleep for long. */
int recorder_look_at_sleepers(struct recorder *r, int64_t now, struct err *e);
/* A wait that has not ended, found in the list of sleeping threads: if it is for a lock, it is kept
 * until the list has been read. */
void recorder_keep_lock(struct recorder *r, const struct wire_offcpu *wait);
/* OWNER records of these locks, which are then dropped. */
int recorder_say_owners(struct recorder *r, struct err *e);
/* A wait on a descriptor goes on, or was that long: if it is a pipe, its other end is looked for;
 * again: once more. */
void recorder_keep_pipe(struct recorder *r, const struct wire_offcpu *wait, bool again);
void recorder_keep_pipe_of(struct recorder *r, const struct event *ev);
/* PIPE records: the processes with the other ends, if it is time to look. */
int recorder_say_pipes(struct recorder *r, int64_t now, struct err *e);
/* Behind what a flight recorder has written to fd: calls and waits that have not ended by the
 * watermark, as where a recording ends. bytes: how many. */
int recorder_say_tail(struct recorder *r, int fd, uint64_t *bytes, struct err *e);
/* A line for the person who records; warning: something is missing. */
void recorder_tell(struct recorder *r, enum record_notice kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* How stacks are walked: "none", "loop", "helper". */
const char *recorder_walker(const struct recorder *r);
/* Seconds of CPU this process has used. */
double recorder_cpu(void);
/* How probes are attached and stacks walked. */
void recorder_tell_probes(struct recorder *r);
/* Whether CPUs are sampled, once the session has been started. */
void recorder_tell_sampled(struct recorder *r);
/* Notices about library copies that were attached, or could not be. */
void recorder_tell_copies(struct recorder *r);
/* Once, when it is known whose health is recorded. */
void recorder_tell_gpus(struct recorder *r);
/* Once: which containers were given GPUs, or why that is not known. */
void recorder_tell_pods(struct recorder *r);
/* Once: that there are more processes than are sampled. */
void recorder_tell_unsampled(struct recorder *r);
/* How long it took to take the probes away. */
void recorder_tell_detached(struct recorder *r, int64_t took_ns, bool all);
/* Notices about Python runtimes found. */
void recorder_tell_pythons(struct recorder *r);
/* Once, while no target has a CUDA library. */
void recorder_tell_no_cuda(struct recorder *r);
/* UNCOVERED records of what scans found since the last call. */
int recorder_say_uncovered(struct recorder *r, struct err *e);
/* Another file begins: those that hold in it, too. */
int recorder_repeat_uncovered(struct recorder *r, struct err *e);
void recorder_forget_uncovered(struct recorder *r, const struct gone_processes *gone);
/* LOSS records of what was lost since the last call; the user gets a notice now and then. */
int recorder_say_losses(struct recorder *r, int64_t now, struct err *e);
/* What was lost in all, line by line. */
void recorder_tell_all_losses(struct recorder *r);
uint64_t recorder_ring_losses(const struct recorder *r);
/* Names of kernels that there was no room for. */
uint64_t recorder_roomless(const struct recorder *r);
/* What thinning left out since the last call, if it is on. */
int recorder_say_thinned(struct recorder *r, int64_t now, struct err *e);

#endif
