/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of loops (lib/line/steps.h) as a member of the analysis record.
 */
#ifndef INGERO_CAUSE_STEPPING_H
#define INGERO_CAUSE_STEPPING_H

#include "lib/base/jsonw.h"
#include "lib/cause/inside.h"

#define STEPPING_TOLD 32 /* threads */

/* The "steps" member. */
void cause_steps_json(const struct cause *c, struct jsonw *j);

#endif
