/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Once a second: what the machine and the recorded processes are doing, into the recording. Knows
 * which of the processes are still there.
 */
#ifndef INGERO_RECORD_SAMPLES_H
#define INGERO_RECORD_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/map.h"
#include "lib/host/sample.h"
#include "lib/ige/writer.h"
#include "lib/record/deadband_filter.h"

/* More processes than this are not sampled: a fork storm must not become a storm of ours. */
#define RECORD_SAMPLES_MAX 256

struct record_samples {
	struct host_sampler *sampler;
	struct map alive;      /* tgid -> world process */
	struct map callers;    /* world processes that have made calls, -> 1 */
	bool more;	       /* there were more of them at a time than are sampled */
	struct deadband *thin; /* the owner's */
};

int record_samples_init(struct record_samples *s, struct world *w, uint32_t node,
			struct deadband *thin, struct err *e);
void record_samples_free(struct record_samples *s);

void record_samples_process(struct record_samples *s, uint32_t tgid, uint32_t process);
void record_samples_exit(struct record_samples *s, uint32_t tgid);
/* Those are forgotten that are gone, whose end was lost. Reads /proc. */
void record_samples_gone(struct record_samples *s);

/* Where there are more than are sampled: those are, before others, that have made calls. Said anew
 * each time. */
bool record_samples_full(const struct record_samples *s);
void record_samples_no_callers(struct record_samples *s);
void record_samples_caller(struct record_samples *s, uint32_t process);
/* Those that are sampled, as many as there are in v of RECORD_SAMPLES_MAX. */
size_t record_samples_choose(const struct record_samples *s, struct host_target *v);

/* What was left out of them so far and is not to be lost: the file ends. */
int record_samples_rest(struct record_samples *s, struct ige_writer *wr, struct err *e);

int record_samples_say(struct record_samples *s, struct ige_writer *wr, int64_t now_ns,
		       struct err *e);

#endif
