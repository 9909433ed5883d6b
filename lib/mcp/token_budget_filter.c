/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer through a filter of jq, which whoever asks has written.
 */
#include <string.h>

#include "lib/filter/confined.h"
#include "lib/mcp/sanitize_text.h"
#include "lib/mcp/token_budget_internal.h"

#define JQ_SECONDS    2
#define JQ_BYTES      (256u << 20)
#define JQ_OUTPUT_MAX (1u << 20)

static bool is_stopped(void *ctx)
{
	return request_ctx_should_stop(ctx);
}

int token_budget_filter_answer(struct mcp_reply *out, struct json answer,
			       const struct tool_args *args, const struct request_ctx *rctx,
			       struct err *e)
{
	const struct filter_confined how = { .seconds = JQ_SECONDS,
					     .memory_bytes = JQ_BYTES,
					     .output_max = JQ_OUTPUT_MAX,
					     .stop = is_stopped,
					     .ctx = (void *)rctx };
	struct buf text = { 0 }, made = { 0 };
	struct json kept = json_array(), o = json_object();
	size_t all = 0, shown = 0;
	uint64_t left = args->budget - TOKEN_BUDGET_NOTES - TOKEN_BUDGET_NOTE;
	int rc;

	json_dump(&text, answer, 0);
	rc = filter_confined_jq(args->jq, buf_bytes(&text), &how, &made, e);
	for (char *line = made.p, *end; !rc && line && *line; line = end + 1) {
		struct bytes b = { line, strcspn(line, "\n") };
		struct json v = JSON_NONE;
		struct err ignored;

		end = line + b.n;
		all++;
		if (shown + 1 == all && token_budget_estimate(b) + 1 <= left &&
		    !json_parse(b, &v, &ignored)) {
			struct json clean = sanitize_json(v);

			json_dump(&out->text, clean, 0);
			buf_putc(&out->text, '\n');
			json_append(&kept, clean);
			json_free(v);
			left -= token_budget_estimate(b) + 1;
			shown++;
		}
		if (!*end)
			break;
	}
	json_set(&o, "filtered", kept);
	if (!rc && shown < all) {
		struct json notes = json_array();

		token_budget_add_note(&notes, &(struct answer_list){ .key = "filtered" },
				      all - shown, true, args->budget);
		token_budget_write_notes(&out->text, notes, args->budget);
		json_set(&o, "left_out", notes);
	}
	if (!rc && !all)
		buf_puts(&out->text, "the filter made nothing of the answer\n");
	out->structured = o;
	buf_free(&text);
	buf_free(&made);
	return rc;
}
