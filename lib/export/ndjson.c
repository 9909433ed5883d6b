/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one line of JSON per event, in the order of their ends, and one per chain, for jq and log
 * shippers. Lines of events have no key "record", all others do.
 */
#include <stdlib.h>

#include "lib/export/format.h"
#include "lib/world/event_json.h"
#include "lib/world/record_json.h"

struct ndjson {
	struct export_ctx em;
	struct event_json_stacks stacks;
};

static void *open_lines(const struct export_ctx *em)
{
	struct ndjson *own = calloc(1, sizeof(*own));

	if (own)
		own->em = *em;
	return own;
}

static int on_item(void *state, const struct stream_item *it, struct err *e)
{
	struct ndjson *own = state;
	const struct export_ctx *em = &own->em;
	struct jsonw j;

	for (size_t i = 0; it->kind == STREAM_EVENTS && i < it->n; i++) {
		jsonw_init(&j, em->out, false);
		event_json(&j, em->w, em->told, &it->events[i],
			   em->opt.stacks ? &own->stacks : NULL);
		buf_putc(em->out, '\n');
	}
	if (it->kind == STREAM_RECORD && (em->opt.records || it->record->kind == RECORD_CHAIN)) {
		jsonw_init(&j, em->out, false);
		record_json(&j, em->w, em->told, it->record);
		buf_putc(em->out, '\n');
	}
	return em->out->failed ? err_nomem(e) : 0;
}

static int on_finish(void *state, struct err *e)
{
	(void)state;
	(void)e;
	return 0;
}

static void free_state(void *state)
{
	struct ndjson *own = state;

	event_json_stacks_free(&own->stacks);
	free(own);
}

const struct export_format export_json = {
	.name = "json",
	.endings = ".json .ndjson .jsonl",
	.help = "events, a line of JSON each",
	.open = open_lines,
	.item = on_item,
	.finish = on_finish,
	.free = free_state,
};
