/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a call over HTTP may take: as long as it comes further.
 */
#include <time.h>

#include "lib/mcp/mcp_request_ctx.h"
#include "lib/mcp/mcp_revision.h"
#include "tests/tap.h"

#define MAX_NS UINT64_C(200000000)

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Asks for so long whether to stop; each time further by step. A round in which the machine had no
 * time for us says nothing. */
static bool stops(struct mcp_request_ctx *a, uint64_t for_ns, double *done, double step)
{
	const struct timespec pause = { 0, 1000000 };
	uint64_t from = now_ns();
	bool stopped = false;

	while (!stopped && now_ns() - from < for_ns) {
		uint64_t at = now_ns();

		*done += step;
		request_ctx_progress(&a->rctx, *done, 0, "on");
		stopped = request_ctx_should_stop(&a->rctx);
		if (step > 0 && now_ns() - at > MAX_NS)
			stopped = false;
		nanosleep(&pause, NULL);
	}
	return stopped;
}

int main(void)
{
	const struct mcp_transport limited = { .time_max_ns = MAX_NS }, any = { 0 };
	struct mcp_request q = { .transport = &limited, .revision = mcp_revisions };
	struct mcp_request_ctx a;
	double done = 0;

	mcp_request_ctx_init(&a, &q);
	ok(!stops(&a, 4 * MAX_NS, &done, 1), "what comes further is not stopped, however long");
	ok(stops(&a, 100 * MAX_NS, &done, 0), "what stands is");
	done = 0;
	ok(stops(&a, 2 * MAX_NS, &done, 0), "what begins anew is no further");
	mcp_request_ctx_free(&a);
	q.transport = &any;
	mcp_request_ctx_init(&a, &q);
	ok(!stops(&a, 2 * MAX_NS, &done, 0), "without a limit nothing is");
	mcp_request_ctx_free(&a);
	return tap_done();
}
