/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks' headers tell the latest event; a file that cannot be sought is read whole for it.
 */
#include "lib/input/resolve.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/input/input.h"

/* What cannot be looked at is left to input_open, which says why. */
static bool can_be_read_twice(const char *name)
{
	struct stat st;

	return strcmp(name, "-") != 0 &&
	       (stat(name, &st) < 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

/* The ends of the newest events that are asked for, whenever they were. */
struct newest {
	int64_t *ends; /* of sel->newest */
	uint64_t seen;
};

static void add_newest(struct newest *n, struct filter *sel, const struct world *w,
		       const struct stream_item *item)
{
	for (size_t i = 0; i < item->n; i++)
		if (filter_event(sel, w, &item->events[i]))
			n->ends[n->seen++ % sel->newest] = item->events[i].end_ns;
}

static void begin_at_newest(const struct newest *n, struct filter *sel)
{
	int64_t first = INT64_MAX;

	if (n->seen < sel->newest) /* all there are */
		return;
	for (uint64_t i = 0; i < sel->newest; i++)
		first = n->ends[i] < first ? n->ends[i] : first;
	sel->since = (struct filter_time){ .kind = FILTER_OWN, .own_ns = first };
}

static int resolve_times(struct world *w, const char *const *names, unsigned n,
			 const int64_t *ahead_ns, struct filter *sel, struct err *e)
{
	struct newest newest = { 0 };
	struct input *in = NULL;
	struct stream_item item;
	int64_t end = INT64_MIN, real = 0;
	bool has_real = false;
	int rc;

	for (unsigned i = 0; i < n || i == 0; i++)
		if (n == 0 || !can_be_read_twice(names[i]))
			return err_set(e, ERR_USAGE,
				       "--since, --until and --last count from the recording's end "
				       "and need a file, not a pipe");
	newest.ends = sel->newest ? calloc(sel->newest, sizeof(*newest.ends)) : NULL;
	if (sel->newest && !newest.ends)
		return err_nomem(e);
	rc = input_open_ahead(&in, w, names, n, ahead_ns, e);
	if (rc)
		goto out;
	rc = sel->newest ? ERR_CANNOT : input_end(in, &end, &has_real, &real, e);
	if (rc != ERR_CANNOT)
		goto out;
	while ((rc = input_stream(in)->next(input_stream(in), &item, e)) > 0) {
		if (sel->newest)
			add_newest(&newest, sel, w, &item);
		for (size_t i = 0; i < item.n; i++)
			end = item.events[i].end_ns > end ? item.events[i].end_ns : end;
		if (item.kind != STREAM_RECORD || item.record->kind != RECORD_CLOCK)
			continue;
		if (item.record->u.CLOCK.mono_ns > end)
			end = item.record->u.CLOCK.mono_ns;
		if (!record_tells_time(item.record))
			continue;
		real = item.record->u.CLOCK.real_ns - item.record->u.CLOCK.mono_ns;
		has_real = true;
	}
	if (!rc && sel->newest)
		begin_at_newest(&newest, sel);
out:
	input_free(in);
	free(newest.ends);
	if (!rc && end != INT64_MIN)
		rc = filter_resolve(sel, end, has_real, real, e);
	return rc;
}

int input_resolve(struct world *w, const char *const *names, unsigned n, struct filter *sel,
		  struct err *e)
{
	return resolve_times(w, names, n, NULL, sel, e);
}

int input_open_within_ahead(struct input **in, struct world *w, const char *const *names,
			    unsigned n, const int64_t *ahead_ns, struct filter *sel, struct err *e)
{
	int rc = filter_needs_end(sel) ? resolve_times(w, names, n, ahead_ns, sel, e) : 0;

	*in = NULL;
	if (!rc)
		rc = input_open_ahead(in, w, names, n, ahead_ns, e);
	if (!rc && sel->resolved)
		rc = input_window(*in, sel->since_ns, sel->until_ns, sel->calls, e);
	return rc;
}

int input_open_within(struct input **in, struct world *w, const char *const *names, unsigned n,
		      struct filter *sel, struct err *e)
{
	return input_open_within_ahead(in, w, names, n, NULL, sel, e);
}
