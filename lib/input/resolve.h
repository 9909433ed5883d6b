/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times that count from a recording's end become times on its clock: the input is read once for
 * that, before it is read for its events.
 */
#ifndef INGERO_INPUT_RESOLVE_H
#define INGERO_INPUT_RESOLVE_H

#include "lib/base/err.h"
#include "lib/input/input.h"
#include "lib/filter/filter.h"
#include "lib/world/world.h"

/* names[0..n) as for input_open. ERR_USAGE for a pipe, which cannot be read twice. An input without
 * events and clock readings has no end: the selection stays unresolved. */
int input_resolve(struct world *w, const char *const *names, unsigned n, struct filter *sel,
		  struct err *e);

/* input_open of no more than the selection's time asks for, which is resolved first. */
int input_open_within(struct input **in, struct world *w, const char *const *names, unsigned n,
		      struct filter *sel, struct err *e);
/* The same as input_open_ahead opens them. */
int input_open_within_ahead(struct input **in, struct world *w, const char *const *names,
			    unsigned n, const int64_t *ahead_ns, struct filter *sel, struct err *e);

#endif
