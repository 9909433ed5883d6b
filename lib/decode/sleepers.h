/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that sleep for long, and when that is next said of each: when its sleep has lasted
 * SLEEPERS_FIRST_NS, and each time that it has doubled since; of few that matter more every
 * SLEEPERS_OFTEN_NS, so that the newest minute of a recording has them however long they sleep.
 * Knows numbers only: who looks at threads tells what it sees.
 */
#ifndef INGERO_DECODE_SLEEPERS_H
#define INGERO_DECODE_SLEEPERS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"

#define SLEEPERS_FIRST_NS 5000000000
#define SLEEPERS_REST_NS  2000000000 /* between two looks, at least */
#define SLEEPERS_OFTEN_NS 30000000000
#define SLEEPERS_OFTEN	  64 /* threads of which it is said so often */

/* Zero-initialised is empty. */
struct sleepers {
	int64_t first_ns;   /* 0: SLEEPERS_FIRST_NS */
	struct map due;	    /* of a sleep: how long it is to have lasted when it is said next */
	struct map seen;    /* the same, of those seen in this look */
	int64_t next_ns;    /* the time of the next look */
	int64_t closest_ns; /* in this look: when the first is due */
	unsigned often;	    /* in this look: threads of which it is said so often */
};

/* Whether it is time for a look, which then begins: call sleepers_sleeps for each sleeping thread,
 * then sleepers_looked. */
bool sleepers_look(struct sleepers *s, int64_t now_ns);
/* This thread sleeps, since then; often: it matters more. True: write its record now. */
bool sleepers_sleeps(struct sleepers *s, uint32_t tid, int64_t since_ns, int64_t now_ns,
		     bool often);
void sleepers_looked(struct sleepers *s, int64_t now_ns);

/* Another file of the recording begins: what goes on is said in it too. */
void sleepers_again(struct sleepers *s);
void sleepers_free(struct sleepers *s);

#endif
