/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The groups of windows of an anchor's life: steps, panes, the last seconds. Bounds are given in
 * order of time, before or after what lies between them; each window is told once, as soon as all
 * of it is known.
 */
#ifndef INGERO_PATH_PATH_WINDOWS_H
#define INGERO_PATH_PATH_WINDOWS_H

#include "lib/path/path_groups.h"

/* Zero-initialised but for groups, anchor and on_window is empty. Bounds are held until their
 * windows are told. */
struct path_windows {
	struct path_groups groups; /* path_groups_init */
	uint32_t anchor;
	/* [from, to), its groups, most time first; they are overwritten then. */
	void (*on_window)(struct path_windows *ws, int64_t from_ns, int64_t to_ns,
			  const struct path_group_list *groups);
	VEC(int64_t) bounds; /* from where the first window begins that was not told */
	struct path_group_list list;
};

void path_windows_free(struct path_windows *ws);

/* The first one begins the first window; every other one ends a window and begins the next. One
 * that is not later than the one before is ignored. False: out of memory. */
bool path_windows_bound(struct path_windows *ws, int64_t at_ns);

/* Tells the windows that are known to their ends; all of them if p is finished: what lies outside
 * of the anchor's life has no groups. Whose CPU the path needs is known in the end alone: until
 * then it may be told as taken. */
int path_windows_tell(struct path_windows *ws, struct path *p, struct err *e);

#endif
