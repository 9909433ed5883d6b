/* SPDX-License-Identifier: Apache-2.0 */
/* Sends progress and log messages that belong to a request in progress. Progress is sent fifty
 * times a second at most; the first and the last always. */
#include "lib/mcp/mcp_request_ctx.h"

#include <math.h>
#include <time.h>

#include "lib/base/jsonw.h"

#define PROGRESS_NS 20000000 /* between two messages */
#define LEVEL_NONE  8

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct mcp_request_ctx *mcp_ctx_of(const struct request_ctx *a)
{
	return (struct mcp_request_ctx *)(uintptr_t)a;
}

static bool is_stopped(const struct request_ctx *rctx)
{
	const struct mcp_request_ctx *a = mcp_ctx_of(rctx);
	const struct mcp_transport *transport = a->q->transport;

	return mcp_running_cancelled(a->q->running) ||
	       (transport->gone && transport->gone(transport->ctx)) ||
	       (transport->time_max_ns && now_ns() - a->advanced_ns > transport->time_max_ns);
}

static void begin_notification(struct jsonw *w, struct buf *out, const char *method)
{
	jsonw_init(w, out, false);
	jsonw_object_begin(w);
	jsonw_key_str(w, "jsonrpc", "2.0");
	jsonw_key_str(w, "method", method);
	jsonw_key_object(w, "params");
}

static void send_notification(const struct mcp_request_ctx *a, struct jsonw *w, struct buf *out)
{
	jsonw_object_end(w);
	jsonw_object_end(w);
	if (!out->failed)
		a->q->transport->send(a->q->transport->ctx, buf_bytes(out));
	buf_free(out);
}

static void send_progress(const struct request_ctx *rctx, double done, double total,
			  const char *message)
{
	struct mcp_request_ctx *a = mcp_ctx_of(rctx);
	struct buf out = { 0 };
	struct jsonw w;
	uint64_t now;

	if (!isfinite(done))
		return;
	pthread_mutex_lock(&a->lock);
	now = now_ns();
	if (done > a->done) {
		a->done = done;
		a->advanced_ns = now;
	}
	if (a->token.n && a->q->transport->send && done > a->sent &&
	    (!a->sent_ns || now - a->sent_ns >= PROGRESS_NS || (total > 0 && done >= total))) {
		a->sent = done;
		a->sent_ns = now;
		begin_notification(&w, &out, "notifications/progress");
		jsonw_key(&w, "progressToken");
		jsonw_raw(&w, buf_bytes(&a->token));
		jsonw_key_double(&w, "progress", done);
		if (total > 0)
			jsonw_key_double(&w, "total", total);
		if (message && a->q->revision->annotations)
			jsonw_key_str(&w, "message", message);
		send_notification(a, &w, &out);
	}
	pthread_mutex_unlock(&a->lock);
}

static void log_message(const struct request_ctx *rctx, enum request_log_level level,
			const char *message)
{
	static const int levels[] = { 0, 1, 3, 4 }; /* the protocol has a notice in between */
	struct mcp_request_ctx *a = mcp_ctx_of(rctx);
	struct buf out = { 0 };
	struct jsonw w;

	if (!a->q->transport->send || levels[level] < a->level)
		return;
	pthread_mutex_lock(&a->lock);
	begin_notification(&w, &out, "notifications/message");
	jsonw_key_str(&w, "level", mcp_level_name(levels[level]));
	jsonw_key_str(&w, "logger", a->q->catalog->name);
	jsonw_key_str(&w, "data", message);
	send_notification(a, &w, &out);
	pthread_mutex_unlock(&a->lock);
}

void mcp_request_ctx_init(struct mcp_request_ctx *a, const struct mcp_request *q)
{
	struct json meta = json_get(q->params, "_meta"), token = json_get(meta, "progressToken");
	struct bytes level = mcp_get_text(meta, MCP_META_LEVEL);

	*a = (struct mcp_request_ctx){ .rctx = { is_stopped, send_progress, log_message },
				       .q = q,
				       .advanced_ns = now_ns(),
				       .sent = -INFINITY,
				       .done = -INFINITY };
	if (json_type(token) == JSON_TYPE_STRING || json_type(token) == JSON_TYPE_NUMBER)
		json_dump(&a->token, token, 0);
	if (!q->revision->stateless)
		a->level = mcp_session_level(q->session);
	else
		a->level = level.p ? mcp_level_parse(level) : LEVEL_NONE;
	pthread_mutex_init(&a->lock, NULL);
	json_free(meta);
	json_free(token);
}

void mcp_request_ctx_free(struct mcp_request_ctx *a)
{
	buf_free(&a->token);
	pthread_mutex_destroy(&a->lock);
}
