/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings of one kind that a detector adds up row by row: one for each process, or each process
 * and something else. What all kinds share is here: finding the row, deciding whether it is due,
 * its call sites, reporting it. A kind has a table of functions that name and describe its
 * findings. The state of such a detector begins with a struct tolls for each of its kinds
 * (account/detector.h), a row with a struct toll_row. Rows are reported in the order in which they
 * appeared.
 */
#ifndef INGERO_ACCOUNT_TOLLS_H
#define INGERO_ACCOUNT_TOLLS_H

#include "lib/base/map.h"
#include "lib/account/toll.h"
#include "lib/account/where.h"

struct toll_row {
	uint32_t process, of; /* of: what tells it apart from others of the process */
	uint32_t at;	      /* its number: subject of its places in struct tolls */
	uint64_t key;
	struct toll toll;
};

struct tolls_def {
	const char *kind, *counted;
	size_t row;    /* bytes */
	uint32_t most; /* rows; 0: as many as there are */
	bool one_lane; /* threads are not told apart */
	bool stays;    /* rows stay when their process is forgotten */
	double min_share;
	const char *moment; /* what the worst moments are called; NULL: by what was called */
	const char *blamed; /* what of the process's own is to blame where the first site has no
			       name; NULL: tell says */
	/* NULL: toll_due, and min_share. */
	bool (*due)(const struct cause *c, const struct toll_row *r, int64_t pane, double *share);
	/* What it is called, proven by and mended with. f has kind, process, counted, share,
	 * amounts, times, moments and sites; state is the detector's. */
	void (*tell)(void *state, const struct cause *c, struct toll_row *r, struct fact *f);
};

/* Empty with def and state set, the rest zeroed. */
struct tolls {
	const struct tolls_def *def;
	void *state; /* the detector's */
	struct map by;
	VEC(struct toll_row *) v; /* they stay where they are; NULL: given up */
	VEC(uint32_t) unused;	  /* positions of these */
	struct where where;	  /* by row */
};

/* The row, made and zeroed when there is none. NULL: out of memory, or (*nomem unset) there are too
 * many. nomem may be NULL for a kind that has no most. */
void *tolls_row_keyed(struct tolls *t, uint32_t process, uint64_t key, bool *nomem);

/* The same by what tells it apart of the process's. */
static inline void *tolls_row(struct tolls *t, uint32_t process, uint32_t of, bool *nomem)
{
	return tolls_row_keyed(t, process, (uint64_t)process << 32 | of, nomem);
}

/* This call or stretch lost lost_ns of its row's; it counts where it stands in the program, too.
 * False: out of memory. */
bool tolls_add(const struct cause *c, struct tolls *t, struct toll_row *r, uint32_t thread,
	       const struct event *ev, uint64_t lost_ns);

/* For struct tolls_def: of rows whose tolls have no time, only a count. */
bool tolls_due_count(const struct cause *c, const struct toll_row *r, int64_t pane, double *share);

/* Reports what is due; pane as in struct detector. */
int tolls_settle(struct tolls *t, struct cause *c, int64_t pane, struct err *e);
/* Gives up rows of the process that were not reported. False: out of memory. */
bool tolls_forget(struct tolls *t, uint32_t process);
void tolls_free(struct tolls *t);

#endif
