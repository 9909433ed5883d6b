/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks windows of an anchor's life into groups of their own, one after the other: what is held is
 * one window's groups and the bounds of those to come.
 */
#include "lib/path/path_windows.h"

void path_windows_free(struct path_windows *ws)
{
	path_groups_free(&ws->groups);
	vec_free(&ws->bounds);
	vec_free(&ws->list.v);
}

bool path_windows_bound(struct path_windows *ws, int64_t at_ns)
{
	if (ws->bounds.n && at_ns <= ws->bounds.v[ws->bounds.n - 1])
		return true;
	return vec_push(&ws->bounds, at_ns);
}

static int tell_window(struct path_windows *ws, struct path *p, int64_t from_ns, int64_t to_ns,
		       struct err *e)
{
	int rc;

	path_groups_reset(&ws->groups);
	rc = path_window(p, ws->anchor, from_ns, to_ns, &ws->groups.listener, e);
	if (rc)
		return rc;
	if (!path_groups_of(&ws->groups, p, ws->anchor, &ws->list))
		return err_nomem(e);
	ws->on_window(ws, from_ns, to_ns, &ws->list);
	return 0;
}

int path_windows_tell(struct path_windows *ws, struct path *p, struct err *e)
{
	int64_t known = path_is_finished(p) ? INT64_MAX : path_known_ns(p, ws->anchor);
	size_t told = 0;
	int rc = 0;

	while (rc == 0 && told + 1 < ws->bounds.n && ws->bounds.v[told + 1] <= known) {
		rc = tell_window(ws, p, ws->bounds.v[told], ws->bounds.v[told + 1], e);
		told++;
	}
	if (told) {
		ws->bounds.n -= told;
		memmove(ws->bounds.v, ws->bounds.v + told, ws->bounds.n * sizeof(int64_t));
	}
	return rc;
}
