/* SPDX-License-Identifier: Apache-2.0 */
/* Gives an export's format the findings of a recording, carried or found on the way. */
#include "lib/store/findings_format.h"

#include <stdlib.h>

#include "lib/query/analyzed.h"
#include "lib/event/chain.h"

struct findings_format {
	const struct export_format *format;
	void *state;		   /* of the format */
	struct analyzed *analyzed; /* NULL: the stream goes to the format as it is */
	struct map ids;
};

static int write_item(void *to, const struct stream_item *item, struct err *e)
{
	struct findings_format *f = to;

	if (item->kind == STREAM_RECORD && !chain_count_record(&f->ids, item->record))
		return err_nomem(e);
	return f->format->item(f->state, item, e);
}

int findings_format_open(struct findings_format **out, const struct export_format *format,
			 const struct export_ctx *em, bool analyze, struct err *e)
{
	struct findings_format *f = calloc(1, sizeof(*f));
	int rc = 0;

	*out = f;
	if (!f)
		return err_nomem(e);
	f->format = format;
	f->state = format->open(em);
	if (analyze)
		f->analyzed = analyzed_new(em->w, write_item, f);
	if (!f->state || (analyze && !f->analyzed))
		rc = err_nomem(e);
	if (!rc && format->begin)
		rc = format->begin(f->state, e);
	return rc;
}

int findings_format_item(struct findings_format *f, const struct stream_item *item, struct err *e)
{
	return f->analyzed ? analyzed_item(f->analyzed, item, e) : write_item(f, item, e);
}

int findings_format_analyze(struct findings_format *f, struct err *e)
{
	return f->analyzed ? analyzed_end(f->analyzed, e) : 0;
}

int findings_format_finish(struct findings_format *f, struct err *e)
{
	return f->format->finish(f->state, e);
}

int findings_format_idle(struct findings_format *f, struct err *e)
{
	return f->format->idle ? f->format->idle(f->state, e) : 0;
}

uint64_t findings_format_count(const struct findings_format *f)
{
	return f->ids.n;
}

void findings_format_free(struct findings_format *f)
{
	if (!f)
		return;
	analyzed_free(f->analyzed);
	if (f->state)
		f->format->free(f->state);
	map_free(&f->ids);
	free(f);
}
