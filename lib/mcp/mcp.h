/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of the Model Context Protocol over a catalog: one message in, at most one message
 * out, over any transport. Revisions 2026-07-28 to 2024-11-05. Keeps nothing but what is in the
 * session; several messages may be answered at the same time, each in one thread from its parsing
 * to its end (JSON values are not shared between threads).
 */
#ifndef INGERO_MCP_MCP_H
#define INGERO_MCP_MCP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/mcp/mcp_rpc.h"
#include "lib/mcp/mcp_session.h"
#include "lib/mcp/mcp_catalog.h"

/* Messages longer than this are refused, and arrays of more messages than that. */
#define MCP_MESSAGE_MAX ((size_t)4 << 20)
#define MCP_BATCH_MAX	64

/* The connection that an answer goes to. */
struct mcp_transport {
	/* Whole messages without a newline that go with the answer: progress and log. Called from
	 * any thread. NULL: they are dropped. */
	void (*send)(void *ctx, struct bytes message);
	/* Nobody waits any more, or the server ends. May be NULL. */
	bool (*gone)(void *ctx);
	void *ctx;
	uint64_t time_max_ns; /* of one call without progress; 0: any */
	struct bytes version; /* the header MCP-Protocol-Version, when there is one */
};

/* What became of a message. */
struct mcp_outcome {
	enum mcp_code
		code;	/* of the error that was answered; MCP_OK: a result, or nothing to answer */
	bool refused;	/* before any method looked at it: over HTTP that has a status of its own */
	bool stateless; /* it was in a revision without `initialize` */
	const struct mcp_revision *negotiated; /* by an `initialize`; else NULL */
};

/* Answers m, which is a whole message or what is left of one that could not be read (f says why).
 * Appends the answer to out; nothing for notifications and what was cancelled. running: of the
 * request, or NULL; it can be cancelled. */
struct mcp_outcome mcp_answer(const struct mcp_catalog *catalog, struct mcp_session *s,
			      const struct mcp_transport *transport, const struct mcp_message *m,
			      const struct mcp_fault *f, struct mcp_running *running,
			      struct buf *out);

/* The same for an array of messages, one after the other: an array of answers. */
struct mcp_outcome mcp_answer_batch(const struct mcp_catalog *catalog, struct mcp_session *s,
				    const struct mcp_transport *transport, struct json batch,
				    struct buf *out);

/* The same for a text, which may be a batch where the revision has them. */
struct mcp_outcome mcp_answer_text(const struct mcp_catalog *catalog, struct mcp_session *s,
				   const struct mcp_transport *transport, struct bytes text,
				   struct buf *out);

/* May take longer than a moment: to be answered in a thread of its own. */
bool mcp_is_slow(struct bytes method);

#endif
