/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's CPU, memory and load as bars that are drawn over while samples come: the lines that
 * ingero-stat shows of a whole recording, of what there is so far.
 */
#ifndef INGERO_DEMO_SYSTEM_BARS_H
#define INGERO_DEMO_SYSTEM_BARS_H

#include "lib/base/err.h"
#include "lib/cli/redraw.h"
#include "lib/event/record.h"
#include "lib/sim/sim.h"
#include "lib/world/world.h"

struct system_bars;

/* w must outlive it. */
int system_bars_new(struct system_bars **out, struct world *w, struct err *e);
void system_bars_free(struct system_bars *b);
/* Takes nodes and samples; other records are passed by. */
int system_bars_record(struct system_bars *b, const struct record *r, struct err *e);
/* In the place of what was drawn before; nothing before the first sample. */
int system_bars_draw(struct system_bars *b, struct cli_redraw *to, struct err *e);

/* On a terminal: a generated machine, its recording run through in play_ns. The last picture stays.
 */
int system_bars_play(const struct sim_options *o, uint64_t play_ns, struct err *e);

#endif
