/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /api/v1/query: {"sql": text, "limit": rows} → {"columns": [...], "rows": [[...]],
 * "truncated": bool, "partial": bool}, partial where the recording was damaged, cut or did not end
 * cleanly. Reads only, within the limits of the source; an answer that grows past API_ANSWER_MAX is
 * refused, not cut.
 */
#include "lib/archive/answer.h"
#include "lib/base/json.h"
#include "lib/base/jsoncheck.h"
#include "lib/api/api_state.h"

#define DEPTH_MAX 16 /* of a question: what is asked for lies one deep */

struct rows {
	struct archive_answer answer; /* first: SQL's answer is the rows */
	struct api_request *q;
};

static int put_columns(struct archive_answer *a, const char *const *names, unsigned n,
		       struct err *e)
{
	struct jsonw *j = &((struct rows *)a)->q->j;

	jsonw_key_array(j, "columns");
	for (unsigned i = 0; i < n; i++)
		jsonw_str(j, names[i]);
	jsonw_array_end(j);
	jsonw_key_array(j, "rows");
	return 0;
}

static int put_row(struct archive_answer *a, const struct archive_value *values, unsigned n,
		   struct err *e)
{
	struct api_request *q = ((struct rows *)a)->q;

	jsonw_array_begin(&q->j);
	for (unsigned i = 0; i < n; i++)
		answer_value_json(&q->j, &values[i]);
	jsonw_array_end(&q->j);
	if (q->reply->body.n > API_ANSWER_MAX)
		return err_set(e, ERR_LIMIT,
			       "the answer is longer than %u MiB: ask for fewer rows or columns",
			       API_ANSWER_MAX >> 20);
	return 0;
}

static int limit_of(struct json body, uint64_t *rows, struct err *e)
{
	struct json limit = json_get(body, "limit");
	enum json_type type = json_type(limit);
	double n = json_double(limit, 0);

	json_free(limit);
	*rows = API_ROWS;
	if (type == JSON_TYPE_NONE || type == JSON_TYPE_NULL)
		return 0;
	if (type != JSON_TYPE_NUMBER || n < 0 || n > 1e15 || n != (double)(uint64_t)n)
		return err_set(e, ERR_USAGE, "limit is a number of rows, 0 to %d", API_ROWS_MAX);
	*rows = n >= 1 && n <= API_ROWS_MAX ? (uint64_t)n : API_ROWS_MAX;
	return 0;
}

static int run_query(struct api_request *q, struct json body, struct err *e)
{
	struct rows rows = { { put_columns, put_row }, q };
	struct json text = json_get(body, "sql");
	struct archive_asked asked = { 0 };
	struct buf sql = { 0 };
	uint64_t limit;
	int rc = limit_of(body, &limit, e);

	if (!rc && (json_type(text) != JSON_TYPE_STRING || !json_bytes(text).n))
		rc = err_set(e, ERR_USAGE,
			     "a body as {\"sql\": \"SELECT ...\", \"limit\": 100} is asked for");
	if (!rc) {
		buf_add(&sql, json_bytes(text).p, json_bytes(text).n);
		jsonw_object_begin(&q->j);
		rc = sql.failed ? err_nomem(e)
				: store_source_sql(q->api->source, &q->rctx, buf_text(&sql), limit,
						   &rows.answer, &asked, e);
	}
	if (!rc) {
		jsonw_array_end(&q->j);
		jsonw_key_bool(&q->j, "truncated", asked.truncated);
		jsonw_key_bool(&q->j, "partial", asked.partial);
		jsonw_object_end(&q->j);
	}
	buf_free(&sql);
	json_free(text);
	return rc;
}

int api_query(struct api_request *q, struct err *e)
{
	struct json body = JSON_NONE;
	int rc = json_check(q->call->body, DEPTH_MAX, e);

	rc = rc ? rc : json_parse(q->call->body, &body, e);
	if (rc == ERR_DAMAGED || rc == ERR_LIMIT)
		rc = err_set(e, ERR_USAGE, "the body is no JSON object with a member sql");
	rc = rc ? rc : run_query(q, body, e);
	json_free(body);
	return rc;
}
