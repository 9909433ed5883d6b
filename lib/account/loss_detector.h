/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of findings of lost time. These detectors search nothing: the ledger already holds who
 * took how much. Each says which losses of its family it stands for, describes them in one
 * sentence, and recommends what to do. One file per kind; kinds.h has the table of them.
 */
#ifndef INGERO_ACCOUNT_LOSS_DETECTOR_H
#define INGERO_ACCOUNT_LOSS_DETECTOR_H

#include "lib/base/buf.h"
#include "lib/model/finding.h"
#include "lib/account/found.h"
#include "lib/account/analysis_state.h"
#include "lib/account/lost_time.h"

/* One significant loss to be reported, as its detector sees it. */
struct loss_view {
	struct cause *c;
	const struct loss *loss;
	const struct line_culprit *who; /* NULL: several, none of them alone */
	const char *victim;		/* "python3 (pid 4821)" */
	const char *culprit;		/* "hog (pid 1234)" */
	const char *where; /* "mostly in cudaLaunchKernel called from train_step (train.cpp:41)", or
			      "" */
	uint32_t victim_pid;
	uint64_t lost_ns, count;
	double share;	/* of its steps or, where none are known, of wall time; worst-hit thread */
	const char *of; /* which of these: "its steps", "wall time" */
	struct cause_estimate estimate; /* what the amounts below stand for */
	double others; /* share of the victim's time that other causes take: what a regained second
			  loses again */
};

struct loss_detector {
	const char *kind;
	enum loss_family family;
	/* Whether this kind, and not another of its family, is what the group shows. NULL: it is
	 * the family's only one. */
	bool (*is)(const struct cause *c, const struct loss *x);
	void (*summary)(const struct loss_view *f, struct buf *out);
	/* Adds its fixes, by detect_recommend. */
	void (*recommend)(const struct loss_view *f, struct finding *to);
	/* Adds its evidence; NULL: the shares say it all. */
	void (*evidence)(const struct loss_view *f, struct finding *to);
	/* Besides that it takes enough of the time: whether so many times, with this share of it,
	 * are worth a word; NULL: if they are often. */
	bool (*matters)(const struct cause *c, const struct loss *x, uint64_t count, double share);
	/* How grave it is, where that does not follow from the share alone: some of it may be what
	 * the program wants. NULL: it does. */
	uint32_t (*severity)(const struct loss *x, double share);
	const char *nobody;  /* who it was where that is not known; NULL: it was several */
	const char *moment;  /* what an interval of it is called; NULL: by its state */
	const char *counted; /* what is counted; NULL: waits */
};

/* One recommendation. Its gain lies between keep (0..1) of what the worst-hit thread lost, less
 * what other causes take again, and all of that. */
void detect_recommend(const struct loss_view *f, struct finding *to, const char *action,
		      const char *command, double keep, const char *basis);

/* The same with lines for the program itself. */
void detect_recommend_code(const struct loss_view *f, struct finding *to, const char *action,
			   const char *code, const char *basis);

/* What is said of a thread in that state: "slept"; NULL: nothing is. */
const char *detect_was(enum part part);

/* Whether the culprit is the victim's own other threads. */
bool detect_own(const struct loss_view *f);

/* Whether most of it was lost by threads that the victim waited for: what one would move to such a
 * thread is there. */
static inline bool detect_beside(const struct loss_view *f)
{
	return f->loss->beside_ns > f->loss->ns / 2;
}

/* "1.51 s (14.8% of wall time, 312 times)"; where it is the sum of several threads' time,
 * "9.89 s in 9 threads (at most 22.0% of wall time in one, 312 times)" */
void detect_amount(const struct loss_view *f, struct buf *out);

/* ", mostly in …", and what of it was lost in processes that the victim waited for; or nothing.
 */
void detect_where(const struct loss_view *f, struct buf *out);

/* CPUs of the node on which the victim did not wait for its turn: "0-1,3"; nothing when there are
 * none. */
void detect_other_cpus(const struct loss_view *f, struct buf *out);

/* Whether a thread of the same process that it waits for holds the interpreter's lock, too: more
 * threads would take turns. */
bool detect_has_interpreter(const struct loss_view *f);

/* Against a thread of the victim's interpreter, whose turns it waits for. */
void detect_recommend_interpreter(const struct loss_view *f, struct finding *to);

/* What keeps tasks off each other's CPUs: shared by the two kinds about that. */
void detect_recommend_cpu(const struct loss_view *f, struct finding *to);

#endif
