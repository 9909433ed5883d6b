/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server for tests: the options of ours, and handlers that answer what they were asked, slowly,
 * at length, or in pieces. Prints its address, then what becomes of its peers; ends with standard
 * input.
 */
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cli/exit.h"
#include "lib/cli/message.h"
#include "lib/cli/options.h"
#include "lib/cli/output.h"
#include "lib/cli/server_options.h"
#include "lib/api/listeners.h"

static struct values {
	const char *addr, *tls_cert, *tls_key, *token_file;
	bool no_tls, no_token; /* without a token it wants none */
	struct cli_list allow_hosts;
	int64_t timeout, threads, connections, streams;
} values = { .addr = ":0", .threads = 8, .connections = 256 };

#define AT(member) .offset = offsetof(struct values, member)
#define NUMBER(text, member)                                                                  \
	{                                                                                     \
		.name = text, .type = CLI_INT, AT(member), .min = 0, .max = 1000, .arg = "N", \
		.group = "Server", .help = "As net_server_options has it"                     \
	}

static const struct cli_option options[] = {
	{ .name = "addr",
	  .type = CLI_STRING,
	  AT(addr),
	  .arg = "ADDRESS",
	  .group = "Server",
	  .help = "Where" },
	CLI_SERVING_OPTIONS("Server"),
	NUMBER("timeout", timeout),
	NUMBER("threads", threads),
	NUMBER("connections", connections),
	NUMBER("streams", streams),
	{ 0 },
};

static const struct cli_program program = {
	.name = "httpd", .summary = "A server for tests", .usage = "", .options = options
};

static uint64_t number(const struct net_call *call, const char *name)
{
	const char *text = net_call_query(call, name);

	return text ? strtoull(text, NULL, 10) : 0;
}

static void say(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}

static void echo(const struct net_call *call, struct net_reply *reply)
{
	const char *q = net_call_query(call, "q"), *header = net_call_header(call, "x-asked");

	reply->type = "application/json";
	net_reply_header(reply, "X-Answered", header ? header : "-");
	buf_printf(
		&reply->body,
		"{\"method\":\"%s\",\"path\":\"%s\",\"q\":\"%s\",\"body\":%zu,\"peer\":\"%s\"}\n",
		call->method, call->path, q ? q : "-", call->body.n, call->peer);
}

/* So many pieces of so many bytes, so far apart. */
static void stream(const struct net_call *call, struct net_reply *reply)
{
	uint64_t n = number(call, "n"), bytes = number(call, "bytes"), ms = number(call, "ms");
	struct err e = { 0 };
	char *piece = malloc(bytes + 32);
	int rc;

	reply->type = "text/event-stream";
	rc = piece ? net_stream_begin(call, reply, &e) : -1;
	if (rc) {
		reply->status = 503;
		buf_puts(&reply->body, e.text);
	}
	for (uint64_t i = 0; !rc && i < n; i++) {
		int head = snprintf(piece, 32, "data: %llu ", (unsigned long long)i);

		memset(piece + head, 'x', bytes);
		memcpy(piece + head + bytes, "\n\n", 2);
		rc = net_stream_write(call, piece, (size_t)head + bytes + 2, &e);
		if (!rc && ms)
			rc = net_call_wait(call, ms * 1000000) ? ERR_CLOSED : 0;
	}
	say(rc == ERR_CLOSED ? "stream: gone" : rc ? "stream: refused" : "stream: done");
	free(piece);
}

static void answer(void *ctx, const struct net_call *call, struct net_reply *reply)
{
	(void)ctx;
	if (!strcmp(call->path, "/echo")) {
		if (net_call_allowed(call, "GET, POST", reply))
			echo(call, reply);
	} else if (!strcmp(call->path, "/slow")) {
		say("slow: asked");
		say(net_call_wait(call, number(call, "ms") * 1000000) ? "slow: gone"
								      : "slow: done");
		buf_puts(&reply->body, "slow\n");
	} else if (!strcmp(call->path, "/big")) {
		for (uint64_t i = 0, n = number(call, "bytes"); i < n; i++)
			buf_putc(&reply->body, 'x');
	} else if (!strcmp(call->path, "/stream")) {
		stream(call, reply);
	} else {
		reply->status = 404;
		buf_puts(&reply->body, "not here\n");
	}
}

static void note(const char *line)
{
	cli_note("%s", line);
}

static void warn(const char *line)
{
	cli_warn("%s", line);
}

int main(int argc, char **argv)
{
	static const char *const open_paths[] = { "/open", NULL };
	struct api_listen_options how;
	struct api_listener *l = NULL;
	struct cli_operands operands;
	struct err e = { 0 };
	char *token = NULL;
	int status, rc;
	char byte;

	cli_start();
	status = cli_parse(&program, &values, argc, argv, &operands);
	if (status != CLI_GO)
		return status;
	rc = cli_token(&token, values.token_file, &e);
	how = (struct api_listen_options){ .address = values.addr,
					   .tls_cert = values.tls_cert,
					   .tls_key = values.tls_key,
					   .no_tls = values.no_tls,
					   .hosts = values.allow_hosts.v,
					   .nhosts = values.allow_hosts.n,
					   .token = token,
					   .open = open_paths,
					   .body_max = 100000,
					   .connections_max = (unsigned)values.connections,
					   .threads_max = (unsigned)values.threads,
					   .streams_max = (unsigned)values.streams,
					   .timeout_s = (unsigned)values.timeout,
					   .note = note,
					   .warn = warn };
	rc = rc ? rc : api_listen(&l, &how, answer, NULL, &e);
	if (rc)
		return cli_fail(&e);
	say(api_listener_url(l));
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	api_listener_stop(l);
	say("stopped");
	free(token);
	cli_list_free(&values.allow_hosts);
	return 0;
}
