/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that a report tells of a stream, asked at once: its causes, the calls that failed, and where the CPU was used.
 */
#ifndef INGERO_ASK_STORY_H
#define INGERO_ASK_STORY_H

#include "lib/ask/chains.h"
#include "lib/event/failure.h"
#include "lib/event/oncpu.h"

struct ask_story;

struct story {
	const struct ask_chains *chains;
	const struct failures *failures; /* NULL, as is what follows: only causes were asked for */
	const struct oncpu *oncpu;
};

/* w must outlive it. complete: not only causes. NULL: out of memory. */
struct ask_story *ask_story_new(struct world *w, bool complete);
int ask_story_item(struct ask_story *a, const struct stream_item *item, struct err *e);
/* As ask_chains_stands. */
bool ask_story_stands(struct ask_story *a, const struct record *r, int64_t now_ns, struct buf *out);
/* No more items: what it points to is borrowed until freed. */
int ask_story_end(struct ask_story *a, struct story *told, struct err *e);
void ask_story_free(struct ask_story *a);

#endif
