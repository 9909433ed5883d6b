/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses of LOSS_IDLE in words: what the program did while its device had nothing to do, or in the
 * waits of its steps, and where.
 */
#ifndef INGERO_ACCOUNT_IDLE_TEXT_H
#define INGERO_ACCOUNT_IDLE_TEXT_H

#include "lib/account/loss_detector.h"
#include "lib/world/known_work.h"

enum part idle_state(const struct loss *x);
bool idle_is_own_code(const struct loss *x);
/* Of its own code: what Python did for it. */
enum known_work idle_work(const struct loss *x);
/* Most of it lies in a wait that had not ended. */
bool idle_is_unended(const struct loss *x);

struct idle_line {
	uint32_t frame; /* 0 not known */
	uint32_t stack;
	double share; /* of those that say where */
	bool sampled; /* found there on the CPU */
};

/* The function with most of it, and its line with most of that. */
struct idle_line idle_line_find(const struct loss_view *f);
/* Neither waits nor samples say what the thread did. */
bool idle_is_unknown(const struct loss_view *f, const struct idle_line *line);
/* "waiting for loader (pid 200), which slept in fetch (data.py:31)", "a sleep in fetch
 * (train.py:31)" */
void idle_text_print(const struct loss_view *f, const struct idle_line *line, struct buf *out);

/* Each of the waits is about as long as a receiver of TCP delays its acknowledgement at least
 * (TCP_DELACK_MIN, 40 ms): a sender that has more to send waits for it (Nagle's algorithm). */
bool idle_is_delayed_ack(const struct loss *x);

#endif
