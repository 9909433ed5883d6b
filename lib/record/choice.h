/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is recorded, from what was asked for: processes, a user, a pod, everyone, a command of ours,
 * or, when nothing was asked for, the CUDA processes of the invoking user (of everyone, where that
 * is root and nobody stands behind sudo).
 */
#ifndef INGERO_RECORD_CHOICE_H
#define INGERO_RECORD_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/record/recording_files.h"
#include "lib/attach/session.h"
#include "lib/attach/targets.h"

/* Texts as they were typed, borrowed. */
struct record_choice {
	const char *const *pids;
	size_t npids;
	const char *user, *pod;
	const char *command; /* for people; NULL none */
	bool all;
	uid_t invoker; /* behind sudo; 0: nobody special */
};

/* Fills *t; *pids is what it borrows, the caller's to free. text: for people, appended. ERR_USAGE
 * says what is wrong. */
int record_choose(const struct record_choice *c, struct probe_targets_options *t, uint32_t **pids,
		  struct buf *text, struct err *e);

/* The user who typed sudo, as sudo told: texts, NULL none. Nobody special stays what *owner was. */
void record_choose_owner(const char *uid, const char *gid, struct record_owner *owner);

/* How to attach and to walk stacks, as the options' words say; NULL or "auto": whatever is
 * cheapest. */
void record_choose_way(struct probe_options *p, const char *link, const char *walker, bool stacks);

/* Bytes of the kernel buffer; 0: the default. ERR_USAGE: no power of two, or out of bounds. */
int record_choose_ring(struct probe_options *p, uint64_t bytes, struct err *e);

/* Threads are to be sampled hz times a second on each CPU, 0: not. asked: somebody said so; else it
 * is 99 where that makes sense. ERR_USAGE where it was asked for and makes none. */
int record_choose_samples(struct probe_options *p, int64_t hz, bool asked, bool stacks, bool probes,
			  struct err *e);

/* "1%", "0.5": a share between 0 and all, as a fraction. */
bool record_percent(const char *text, double *share);

/* A decimal number and nothing else, up to max; -1 otherwise. */
int64_t decode_number(const char *text, int64_t max);

#endif
