/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: bytes that any peer may send to a server, with the guard, the limits and the
 * protocol room behind them, over a socket of this machine. Whatever comes, what goes back is HTTP
 * or nothing, and the server lives.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/mcp/mcp_http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct net_server *fuzz_server;
static struct sockaddr_in fuzz_address;

static int fuzz_call(void *ctx, const struct request_ctx *a, struct json args,
		     struct mcp_reply *out, struct err *e)
{
	a->progress(a, 1, 2, "half");
	buf_puts(&out->text, "called");
	return 0;
}

static const struct mcp_tool fuzz_tools[] = {
	{ .name = "t",
	  .input_schema = "{\"type\":\"object\",\"properties\":{\"op\":{\"type\":\"string\"}}}",
	  .call = fuzz_call },
	{ 0 },
};
static const struct mcp_catalog fuzz_offer = { .name = "fuzz",
					       .version = "1",
					       .tools = fuzz_tools };

static void fuzz_handle(void *ctx, const struct net_call *call, struct net_reply *reply)
{
	const char *q = net_call_query(call, "q");

	if (!strcmp(call->path, MCP_PATH))
		mcp_http_answer(ctx, call, reply);
	else if (net_call_allowed(call, "GET", reply))
		buf_puts(&reply->body, q ? q : "-");
}

static int fuzz_start(struct err *e)
{
	static const struct net_access_check guard = { .token = "fuzz" };
	static const struct net_server_options opt = { .address = ":0",
						       .body_max = 100000,
						       .threads_max = 2,
						       .timeout_s = 5,
						       .guard = &guard };
	struct mcp_http *h = NULL;
	int rc = mcp_http_new(&h, &fuzz_offer, 0, e);

	signal(SIGPIPE, SIG_IGN);
	rc = rc ? rc : net_server_start(&fuzz_server, &opt, fuzz_handle, h, e);
	if (rc)
		return rc;
	fuzz_address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtoul(
			strrchr(net_server_address(fuzz_server), ':') + 1, NULL, 10)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct timeval patience = { 0, 20000 }, forever = { 0 };
	char back[4096] = "";
	size_t n = 0;
	ssize_t got;
	int fd;

	if (!fuzz_server && fuzz_start(NULL))
		abort();
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&fuzz_address, sizeof(fuzz_address)))
		abort();
	/* It may have hung up in the middle. */
	for (size_t sent = 0; sent < size; sent += (size_t)got)
		if ((got = send(fd, data + sent, size - sent, MSG_NOSIGNAL)) <= 0)
			break;
	/* Who closes a side is not answered for sure; who does not is waited for, when his request
	 * is not whole. */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if ((got = recv(fd, back, sizeof(back), 0)) > 0)
		n = (size_t)got;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever));
	shutdown(fd, SHUT_WR);
	while ((got = recv(fd, back + n, sizeof(back) - n, 0)) > 0)
		n = n < 9 ? n + (size_t)got : n;
	close(fd);
	if (n && strncmp(back, "HTTP/1.", n < 7 ? n : 7) != 0)
		abort();
	return 0;
}
