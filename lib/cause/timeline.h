/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The "timeline" member of a chain's body: a few moments that show best what happened.
 */
#ifndef INGERO_CAUSE_TIMELINE_H
#define INGERO_CAUSE_TIMELINE_H

#include "lib/cause/detect/detect.h"

void cause_timeline(const struct finding *f, struct jsonw *j);

#endif
