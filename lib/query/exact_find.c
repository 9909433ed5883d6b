/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs are opened again in the same world, so that ids and the selection mean the same. */
#include "lib/query/exact_find.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/input/input.h"

void exact_source_init(struct exact_source *from)
{
	struct stat st;

	from->standard = from->n == 0;
	for (unsigned i = 0; i < from->n; i++) {
		bool dash = !strcmp(from->names[i], "-");

		from->standard |= dash;
		from->pipe |= !dash && (stat(from->names[i], &st) || !S_ISREG(st.st_mode));
	}
	if (!from->standard)
		return;
	from->offset = lseek(STDIN_FILENO, 0, SEEK_CUR);
	from->pipe |= from->offset < 0 || fstat(STDIN_FILENO, &st) || !S_ISREG(st.st_mode);
}

static int read_again(const struct exact_source *from, struct input *in, struct err *e)
{
	struct exact *x = query_ops_get_exact(from->run);
	struct event_stream *stream = input_stream(in);
	struct stream_item item;
	struct ige_block block;
	struct ige_reader *r;
	int rc = 0;

	if (!from->brief) {
		item = query_ops_ongoing_item(from->run);
		exact_count_item(x, from->world, from->sel, &item);
		while ((rc = stream->next(stream, &item, e)) > 0)
			exact_count_item(x, from->world, from->sel, &item);
		return rc;
	}
	brief_restart_exact(from->brief);
	for (unsigned i = 0; !rc && (r = input_one(in, i)); i++) {
		ige_reader_want(r, BRIEF_WANTS);
		while (!rc && (rc = ige_reader_block(r, &block, e)) > 0) {
			const struct ige_arrays *a = ige_reader_arrays(r);

			rc = a ? brief_count_exact(from->brief, a, ige_reader_dict(r), e) : 0;
			while (!rc && ige_reader_items(r, &item, e) > 0)
				;
		}
	}
	return rc;
}

int exact_find(const struct exact_source *from, struct err *e)
{
	struct exact *x = query_ops_get_exact(from->run);
	int rc;

	if (!query_ops_start_search(from->run))
		return err_nomem(e);
	if (exact_search_stored(x))
		return EXACT_FOUND;
	if (from->pipe)
		return EXACT_PIPE;
	do {
		struct input *in = NULL;

		if (from->standard && lseek(STDIN_FILENO, from->offset, SEEK_SET) < 0)
			return err_sys(e, "cannot read standard input again");
		rc = input_open(&in, from->world, from->names, from->n, e);
		if (!rc && from->sel->resolved)
			rc = input_window(in, from->sel->since_ns, from->sel->until_ns, false, e);
		if (!rc)
			rc = read_again(from, in, e);
		input_free(in);
		if (rc && rc != ERR_TOO_NEW)
			return rc;
	} while (exact_next_round(x));
	return x->changed ? EXACT_CHANGED : EXACT_FOUND;
}
