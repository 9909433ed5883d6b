/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs with steps, as the analysis found them (lib/model/paths.h), and the texts about them
 * that all reports share: the verdict, and what lies outside of the steps.
 */
#ifndef INGERO_REPORT_STEP_TRACK_H
#define INGERO_REPORT_STEP_TRACK_H

#include "lib/report/report.h"
#include "lib/model/paths.h"

#define STEP_PROGRAMS  3    /* shown at most */
#define STEP_WHY       3    /* causes of a row */
#define STEP_WHY_LEAST 0.01 /* of a step */

/* A thread that a program waits for, with steps. Borrowed from the report. */
struct step_track {
	const struct paths *all;
	const struct paths_track *track;
	const struct paths_phase *phase; /* of the steps */
	double count, ns;		 /* steps, and all their time */
	const struct finding *mismatch;	 /* of the collectives of its ranks; NULL: none */
	bool differs;			 /* it hangs in a collective, for that reason */
	bool loss_leads; /* its first finding is about lost time, not about slow work */
};

/* Programs that are to be shown, one after another; *at: 0 to begin. A second thread of one is
 * passed. */
bool step_track_next(const struct report *r, size_t *at, struct step_track *t);

/* Those that a report shows, STEP_PROGRAMS at most: a loop of each program, and where there is room
 * other threads' loops, those with most time, behind that of their program. *more: how many others
 * have steps. */
unsigned step_track_shown(const struct report *r, struct step_track shown[STEP_PROGRAMS],
			  unsigned *more);

/* The program that the report is about: the one with most calls. What works for it, as a loader
 * does, is on its path. */
bool step_track_main(const struct report *r, struct step_track *t);

/* Of a step where their number is known, else of all of them. */
double step_track_per_step(const struct step_track *t, double ns);

/* "300", "~300", ">=300"; "Trainer.step (train.py:199-209)". */
void step_track_print_count(struct buf *out, const struct step_track *t);
void step_track_print_loop(struct buf *out, const struct step_track *t);
/* ", every 10th about 301 ms"; nothing where slow steps do not come in equal distances. */
void step_track_print_every(struct buf *out, const struct step_track *t);

/* Without a full stop: how long a step takes, and what most of it is lost to or spent on. */
void step_track_print_verdict(struct buf *out, const struct step_track *t);

/* How bad it is: enum finding_severity, of the worst that the steps lose time to; 0: to nothing. */
unsigned step_track_severity(const struct step_track *t);

/* Whether a cause lies outside of all steps of its process: in its start or its end. */
bool step_track_is_outside(const struct report *r, const struct finding *c);

/* How many of those that are to be shown do; 0 where no program has steps. */
unsigned step_track_count_outside(const struct report *r);

#endif
