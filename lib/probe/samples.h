/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Once a second: what the machine and the recorded processes are doing, into the recording. Knows which of the
 * processes are still there.
 */
#ifndef INGERO_PROBE_SAMPLES_H
#define INGERO_PROBE_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/map.h"
#include "lib/host/sample.h"
#include "lib/ige/writer.h"
#include "lib/probe/thin.h"

/* More processes than this are not sampled: a fork storm must not become a storm of ours. */
#define PROBE_SAMPLES_MAX 256

struct probe_samples {
	struct host_sampler *sampler;
	struct map alive;	 /* tgid -> world process */
	struct map callers;	 /* world processes that have made calls, -> 1 */
	bool more;		 /* there were more of them at a time than are sampled */
	struct probe_thin *thin; /* the owner's */
};

int probe_samples_init(struct probe_samples *s, struct world *w, uint32_t node,
		       struct probe_thin *thin, struct err *e);
void probe_samples_free(struct probe_samples *s);

void probe_samples_process(struct probe_samples *s, uint32_t tgid, uint32_t process);
void probe_samples_exit(struct probe_samples *s, uint32_t tgid);
/* Those are forgotten that are gone, whose end was lost. Reads /proc. */
void probe_samples_gone(struct probe_samples *s);

/* Where there are more than are sampled: those are, before others, that have made calls. Said anew each time. */
bool probe_samples_full(const struct probe_samples *s);
void probe_samples_no_callers(struct probe_samples *s);
void probe_samples_caller(struct probe_samples *s, uint32_t process);
/* Those that are sampled, as many as there are in v of PROBE_SAMPLES_MAX. */
size_t probe_samples_choose(const struct probe_samples *s, struct host_target *v);

/* What was left out of them so far and is not to be lost: the file ends. */
int probe_samples_rest(struct probe_samples *s, struct ige_writer *wr, struct err *e);

int probe_samples_say(struct probe_samples *s, struct ige_writer *wr, int64_t now_ns,
		      struct err *e);

#endif
