/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one fact took, by thread and by second: the ledger of a detector whose findings are lost
 * time. A toll is significant as a loss is (detect/settle.c): by the worst-hit thread, over the
 * last ten seconds or over the whole recording.
 */
#ifndef INGERO_ACCOUNT_TOLL_H
#define INGERO_ACCOUNT_TOLL_H

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/account/fact.h"
#include "lib/account/found.h"

#define TOLL_WORST 3

struct toll_thread {
	uint32_t thread;
	uint64_t ns;
	int64_t newest; /* pane */
	struct tally_pane panes[TALLY_PANES];
};

/* Zero-initialised is empty. */
struct toll {
	uint64_t ns, count;
	struct cause_found found;
	bool whole;	/* it is all there, whichever calls were recorded */
	uint32_t lanes; /* not 0: threads are not told apart; so many lose side by side, of whom it
			   is one's on average */
	int64_t first_ns, last_ns;
	uint64_t worst_ns;		 /* most that one thread lost */
	VEC(struct toll_thread) threads; /* that lost something lately */
	struct map at;			 /* thread -> position in threads */
	struct map before;		 /* of those that did not: thread -> what it had lost */
	struct fact_moment worst[TOLL_WORST]; /* most lost first */
	unsigned nworst;
	struct fact_told told;
};

/* Something of this thread from start to end lost lost_ns; op is what it was, 0 between calls.
 * False: out of memory. */
bool toll_add(const struct cause *c, struct toll *t, uint32_t thread, uint16_t op, int64_t start_ns,
	      int64_t end_ns, uint64_t lost_ns);
/* The same of a moment, found by calls of these tiers (1 << enum op_tier, or-ed). */
bool toll_add_moment(const struct cause *c, struct toll *t, const struct fact_moment *m,
		     unsigned tiers);

/* One more of what takes no time: the first and the last of them are its moments. */
void toll_count(struct toll *t, const struct fact_moment *m);

/* Keep no seconds of threads that lost nothing in these. False: out of memory. */
bool toll_settle(struct toll *t, int64_t pane);

/* Whether it must be reported now (pane as in settle), and then the share of wall time of its
 * worst-hit thread. */
bool toll_due(const struct cause *c, const struct toll *t, int64_t pane, double *share);

/* The share that one thread lost of all wall time, as far as what was measured stands for it. */
double toll_share(const struct cause *c, const struct toll *t);

/* Amounts, times and moments of the toll. */
void toll_fill(const struct cause *c, const struct toll *t, struct fact *f);

void toll_free(struct toll *t);

#endif
