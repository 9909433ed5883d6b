/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the page is drawn from: the values of ingero-stat and ingero-explain, whole (their schemas
 * stand in formats/), one call, and the news while a recording grows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/hash.h"
#include "lib/report/call_text.h"
#include "lib/report/ops_json.h"
#include "lib/event/part.h"
#include "lib/event/section_rows.h"
#include "lib/api/api_state.h"
#include "lib/api/report_from_answer.h"
#include "lib/store/source_state.h"

#define LOOK_NS	     UINT64_C(1000000000) /* how often files are looked at for news */
#define HEARTBEAT    15			  /* looks between two signs of life */
#define STREAM_LOOKS 3600		  /* then the page asks again */

int api_time(struct api_request *q, struct err *e)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	jsonw_object_begin(&q->j);
	jsonw_key_i64(&q->j, "timestamp_ns", t.tv_sec * INT64_C(1000000000) + t.tv_nsec);
	if (q->api->machine[0])
		jsonw_key_str(&q->j, "machine", q->api->machine);
	jsonw_object_end(&q->j);
	return 0;
}

void api_write_node_names(struct jsonw *j, const struct world *w)
{
	struct bytes name;
	bool again;

	jsonw_key_array(j, "nodes");
	for (uint32_t i = 1; i <= world_count(w, WORLD_NODE); i++) {
		name = world_text(w, world_get_node(w, i)->name);
		again = !name.n;
		for (uint32_t k = 1; k < i && !again; k++)
			again = bytes_equal(name, world_text(w, world_get_node(w, k)->name));
		if (!again)
			jsonw_bytes(j, name);
	}
	jsonw_array_end(j);
}

static int use_nodes(void *ctx, const struct store_stat *st, struct err *e)
{
	struct api_request *q = ctx;

	(void)e;
	jsonw_object_begin(&q->j);
	api_write_node_names(&q->j, st->w);
	jsonw_object_end(&q->j);
	return 0;
}

int api_nodes(struct api_request *q, struct err *e)
{
	static const struct store_stat_request brief = { .brief = true };

	return store_source_stat(q->api->source, &q->rctx, &brief, use_nodes, q, e);
}

int api_about(struct api_request *q, struct err *e)
{
	unsigned n;
	const char *const *names = store_source_names(q->api->source, &n);
	struct jsonw *j = &q->j;

	jsonw_object_begin(j);
	jsonw_key_str(j, "version", q->api->version);
	jsonw_key_array(j, "recordings");
	for (unsigned i = 0; i < n; i++) {
		const char *slash = strrchr(names[i], '/');

		jsonw_object_begin(j);
		jsonw_key_str(j, "name", slash ? slash + 1 : names[i]);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	jsonw_key_object(j, "states");
	for (unsigned p = 0; p < PART_COUNT; p++)
		jsonw_key_str(j, part_name(p), part_text(p));
	jsonw_object_end(j);
	jsonw_object_end(j);
	return 0;
}

static int use_stat(void *ctx, const struct store_stat *st, struct err *e)
{
	struct api_request *q = ctx;

	ops_json(&q->reply->body, st->w, st->ops, &st->quality.input);
	return 0;
}

int api_stat_whole(struct api_request *q, struct err *e)
{
	return api_query_stat(q, use_stat, e);
}

static int use_report(void *ctx, const struct store_chains *c, struct err *e)
{
	const struct report_answer answer = { c->answer, c->failures, c->oncpu };
	struct report r =
		report_from_answer(&answer, store_quality_partial(&c->quality), c->quality.notes);
	struct api_request *q = ctx;

	r.growing = c->quality.input.growing;
	report_json(&q->reply->body, &r);
	return 0;
}

int api_report(struct api_request *q, struct err *e)
{
	return store_source_chains(q->api->source, &q->rctx, &q->words, true, use_report, q, e);
}

static int use_call(void *ctx, const struct store_call *c, struct err *e)
{
	struct api_request *q = ctx;

	if (!c->found)
		return err_set(e, ERR_CANNOT, "no call %s in this recording",
			       net_call_query(q->call, "id"));
	call_json(&q->reply->body, c->found, c->start_ns);
	return 0;
}

int api_call(struct api_request *q, struct err *e)
{
	const char *id = net_call_query(q->call, "id");

	if (!id || !*id)
		return err_set(
			e, ERR_USAGE,
			"id: THREAD@END as in a report's events, or the name of an operation");
	return store_source_call(q->api->source, &q->rctx, id, use_call, q, e);
}

/* ---- news ---- */

struct news {
	struct api_request *q;
	bool growing;
};

static int use_growing(void *ctx, const struct store_stat *st, struct err *e)
{
	((struct news *)ctx)->growing = st->quality.input.growing;
	return 0;
}

/* A number that is another one when a file is another one. */
static int version_of(struct api_request *q, uint64_t *version, struct err *e)
{
	struct source_state st;
	int rc = source_state_init(q->api->source, &st, e);

	*version = rc ? 0 : hash_bytes(st.state.p, st.state.n, 0);
	source_state_free(&st);
	return rc;
}

static int send_version(struct news *n, uint64_t version, struct err *e)
{
	/* The page requests the same next, so that it is computed now. */
	const struct store_stat_request want = { .sections = VIEW_ALL };
	struct buf line = { 0 };
	int rc = store_source_stat(n->q->api->source, &n->q->rctx, &want, use_growing, n, e);

	if (!rc) {
		buf_printf(&line, "data: {\"version\":\"%016" PRIx64 "\",\"growing\":%s}\n\n",
			   version, n->growing ? "true" : "false");
		rc = line.failed ? err_nomem(e) : net_stream_write(n->q->call, line.p, line.n, e);
	}
	buf_free(&line);
	return rc;
}

int api_live(struct api_request *q, struct err *e)
{
	struct news n = { .q = q };
	uint64_t version = 0, now;
	int rc;

	rc = version_of(q, &now, e);
	rc = rc ? rc : net_stream_begin(q->call, q->reply, e);
	if (rc)
		return rc;
	q->streamed = true;
	for (unsigned look = 0; !rc && look < STREAM_LOOKS; look++) {
		rc = version_of(q, &now, e);
		if (!rc && (now != version || look == 0)) {
			version = now;
			rc = send_version(&n, version, e);
			if (!n.growing)
				break;
		} else if (!rc && look % HEARTBEAT == 0) {
			rc = net_stream_write(q->call, ":\n\n", 3, e);
		}
		if (rc || net_call_wait(q->call, LOOK_NS))
			break;
	}
	return rc;
}
