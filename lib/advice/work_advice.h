/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do about work that keeps a program from giving the device some (world/known_work.h).
 */
#ifndef INGERO_ADVICE_WORK_ADVICE_H
#define INGERO_ADVICE_WORK_ADVICE_H

#include <stdbool.h>

#include "lib/world/known_work.h"

struct work_advice {
	const char *action, *code; /* code: lines for the program itself */
};

/* python: the program's language, where the work does not say it. */
struct work_advice work_advice_of(enum known_work work, bool python);

#endif
