/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The "timeline" member of a chain's body: a few moments that show best what happened.
 */
#ifndef INGERO_CAUSE_TIMELINE_H
#define INGERO_CAUSE_TIMELINE_H

#include "lib/cause/detect/detect.h"
#include "lib/cause/fact.h"

void cause_timeline(const struct finding *f, struct jsonw *j);

/* One element of it; and the one that heads it, of how busy the node was, 0: the process's (none when that was not sampled). */
void timeline_moment(const struct cause *c, const struct fact_moment *m, struct jsonw *j);
void timeline_system(const struct cause *c, uint32_t process, uint32_t node, struct jsonw *j);

#endif
