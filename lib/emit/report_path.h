/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of programs and where their time goes, from the member "paths" of the analysis.
 */
#ifndef INGERO_EMIT_REPORT_PATH_H
#define INGERO_EMIT_REPORT_PATH_H

#include "lib/emit/report.h"

/* Whether a program that is to be shown has steps. */
bool report_path_has_steps(const struct report *r);

/* The verdict on the program with the most time in steps, without a full stop: how long a step
 * takes, and what most of it is lost to or spent on. */
void report_path_verdict(struct buf *out, const struct report *r);

/* The lines of each program's step, and its start and end. */
void report_path_text(struct buf *out, const struct report *r, bool color);

/* Whether a cause lies outside of all steps of its process: in its start or its end. */
bool report_path_outside(const struct report *r, const struct finding *c);

#endif
