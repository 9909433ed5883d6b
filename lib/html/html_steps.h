/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of programs in the page: what a step's time goes to, by line of the loop, with bars, and
 * what is before, between and after the steps.
 */
#ifndef INGERO_HTML_HTML_STEPS_H
#define INGERO_HTML_HTML_STEPS_H

#include "lib/base/buf.h"
#include "lib/report/step_track.h"

/* A section for each program that has steps; nothing where none has. */
void html_steps(struct buf *out, const struct report *r);

/* The facts below the verdict: how many, how long. */
void html_steps_facts(struct buf *out, const struct step_track *t);

/* Beside a cause: that it is of no step. Nothing where it is. */
void html_steps_outside(struct buf *out, const struct report *r, const struct finding *c);

#endif
