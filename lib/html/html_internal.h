/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections of the page.
 */
#ifndef INGERO_HTML_HTML_INTERNAL_H
#define INGERO_HTML_HTML_INTERNAL_H

#include "lib/base/buf.h"
#include "lib/html/html_page.h"
#include "lib/report/step_track.h"

/*
 * The picture of lost time: over the time of the recording how much the host took, by state, and
 * below it on the same axis from when to when each cause was at work, the intervals that show it
 * best, and where events are missing.
 */

#define HTML_LANES 20

/* Nothing where there is neither lost time nor a cause. */
void html_course(struct buf *out, const struct html_page *p);

/*
 * Steps of programs in the page: what a step's time goes to, by line of the loop, with bars, and
 * what is before, between and after the steps.
 */

/* A section for each program that has steps; nothing where none has. */
void html_steps(struct buf *out, const struct report *r);

/* The facts below the verdict: how many, how long. */
void html_steps_facts(struct buf *out, const struct step_track *t);

/* Beside a cause: that it is of no step. Nothing where it is. */
void html_steps_outside(struct buf *out, const struct report *r, const struct finding *c);

/*
 * What a person reads first: what happened, who did it, where, how much it took, and the command
 * that ends it; or that nothing was found, and what that means. Below it every cause in a line,
 * with what it took as a bar.
 */

/* As the page's title: text, cut to `most` bytes. */
void html_title(struct buf *out, const struct html_page *p, size_t most);

void html_verdict(struct buf *out, const struct html_page *p);

/* Opens the section of a cause, with its heading: the caller puts the facts into it and closes it.
 * at: from 1. */
void html_cause(struct buf *out, const struct report *r, const struct finding *c, unsigned at);

#endif
