/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The context of a request in progress: whether its client still waits for the answer, and where
 * progress and log messages go. A server fills in the callbacks; whoever computes the answer calls
 * the functions below.
 */
#ifndef INGERO_STORE_REQUEST_CTX_H
#define INGERO_STORE_REQUEST_CTX_H

#include <stdbool.h>
#include <stddef.h>

/* The levels of the Model Context Protocol's log messages that we use, in order. */
enum request_log_level {
	REQUEST_LOG_DEBUG,
	REQUEST_LOG_INFO,
	REQUEST_LOG_WARNING,
	REQUEST_LOG_ERROR
};

/* Owned by the server and valid until the request is answered; any callback may be NULL. */
struct request_ctx {
	/* Whether the request is cancelled or out of time, or its client has gone: to be called
	 * every 100 ms of work or more often; true: return ERR_INTERRUPTED. */
	bool (*should_stop)(const struct request_ctx *rctx);
	/* done of total; total 0: not known. done grows. message may be NULL. Sent only to a client
	 * that requested progress. */
	void (*progress)(const struct request_ctx *rctx, double done, double total,
			 const char *message);
	void (*log)(const struct request_ctx *rctx, enum request_log_level level,
		    const char *message);
};

/* Call the callbacks that are set; rctx may be NULL. */
static inline bool request_ctx_should_stop(const struct request_ctx *rctx)
{
	return rctx && rctx->should_stop && rctx->should_stop(rctx);
}
static inline void request_ctx_progress(const struct request_ctx *rctx, double done, double total,
					const char *message)
{
	if (rctx && rctx->progress)
		rctx->progress(rctx, done, total, message);
}
static inline void request_ctx_log(const struct request_ctx *rctx, enum request_log_level level,
				   const char *message)
{
	if (rctx && rctx->log)
		rctx->log(rctx, level, message);
}

#endif
