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
	bool more;		 /* there were more of them at a time than are sampled */
	struct probe_thin *thin; /* the owner's */
};

int probe_samples_init(struct probe_samples *s, struct world *w, uint32_t node,
		       struct probe_thin *thin, struct err *e);
void probe_samples_free(struct probe_samples *s);

void probe_samples_process(struct probe_samples *s, uint32_t tgid, uint32_t process);
void probe_samples_exit(struct probe_samples *s, uint32_t tgid);

int probe_samples_say(struct probe_samples *s, struct ige_writer *wr, int64_t now_ns,
		      struct err *e);

#endif
