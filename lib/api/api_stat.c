/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the store for the statistics that most endpoints answer from.
 */
#include "lib/event/section_rows.h"
#include "lib/api/api_state.h"

int api_query_stat(struct api_request *q, store_stat_fn *use, struct err *e)
{
	struct store_stat_request want = { .words = q->words, .sections = VIEW_ALL, .into = &q->j };

	return store_source_stat(q->api->source, &q->rctx, &want, use, q, e);
}
