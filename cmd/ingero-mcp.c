/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero-mcp: recordings behind the Model Context Protocol, for an assistant that asks. Over
 * standard input and output for the client that started it, or over HTTP. It reads the files it was
 * given, and no others, whatever a client asks for.
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
#include "lib/cli/signals.h"
#include "lib/fleet/remote_query.h"
#include "lib/store/server_rights.h"
#include "lib/api/listeners.h"
#include "lib/mcp/mcp_http.h"
#include "lib/mcp/mcp_stdio.h"
#include "lib/store/source.h"
#include "lib/mcp/tools.h"

/* Handlers at the same time, and for how long one call over HTTP may come no further. */
#define THREADS 16
#define CALL_NS 300000000000u

static struct values {
	const char *http, *tls_cert, *tls_key, *token_file;
	bool no_tls, no_token;
	struct cli_list allow_hosts;
	struct cli_asking fleet;
} values;

#define AT(member) .offset = offsetof(struct values, member)

static const struct cli_option options[] = {
	{ .name = "http",
	  .type = CLI_STRING,
	  AT(http),
	  .arg = "ADDRESS",
	  .group = "Over HTTP",
	  .help = "Answer there, at /mcp (\":8080\" is this machine only), not on standard input" },
	CLI_SERVING_OPTIONS("Over HTTP"),
	CLI_FLEET_OPTIONS_AS("Other machines", "Dashboards that query_fleet asks",
			     "nodes-token-file", "The token they want [none]",
			     "Ask them over TLS, and trust these certificates (PEM)", true),
	CLI_FLEET_ANSWERS("Other machines"),
	{ 0 },
};

static const struct cli_program program = {
	.name = "ingero-mcp",
	.summary = "Answer an assistant's questions about recordings (Model Context Protocol)",
	.usage = "[FILE...]",
	.options = options,
	.footer = "  ingero-mcp run.ige                started by the client\n"
		  "  ingero-mcp --http :8080 run.ige   at https://127.0.0.1:8080/mcp",
	.reads_recordings = true,
	.serves = true,
};

static void on_note(const char *line)
{
	cli_note("%s", line);
}

static void on_warning(const char *line)
{
	cli_warn("%s", line);
}

static void on_call(void *ctx, const struct net_call *call, struct net_reply *reply)
{
	if (!strcmp(call->path, MCP_PATH)) {
		mcp_http_answer(ctx, call, reply);
		return;
	}
	reply->status = 404;
	buf_puts(&reply->body, "the Model Context Protocol is at " MCP_PATH "\n");
}

/* made: of this run alone, and printed. */
struct http_token {
	char *text;
	bool made;
};

static int serve_http(const struct mcp_catalog *catalog, const struct http_token *token,
		      struct err *e)
{
	struct api_listen_options opt = { .address = values.http,
					  .tls_cert = values.tls_cert,
					  .tls_key = values.tls_key,
					  .no_tls = values.no_tls,
					  .token = token->text,
					  .hosts = values.allow_hosts.v,
					  .nhosts = values.allow_hosts.n,
					  .body_max = MCP_HTTP_BODY_MAX,
					  .threads_max = THREADS,
					  .note = on_note,
					  .warn = on_warning };
	struct pollfd end = { .fd = cli_signals_fd(), .events = POLLIN };
	struct api_listener *l = NULL;
	struct mcp_http *h = NULL;
	struct buf url = { 0 };
	int rc = mcp_http_new(&h, catalog, CALL_NS, e);
	rc = rc ? rc : api_listen(&l, &opt, on_call, h, e);
	if (!rc) {
		buf_printf(&url, "%s%s\n", api_listener_url(l), MCP_PATH);
		if (token->made)
			buf_printf(&url, "Authorization: Bearer %s\n", token->text);
		rc = cli_print(&url, e);
	}
	while (!rc && !cli_signal_received())
		poll(&end, 1, -1);
	buf_free(&url);
	api_listener_stop(l);
	mcp_http_free(h);
	return rc;
}

static int serve_stdio(const struct mcp_catalog *catalog, struct err *e)
{
	const struct mcp_stdio io = { .in = STDIN_FILENO,
				      .out = STDOUT_FILENO,
				      .stop = cli_signals_fd() };

	if (isatty(STDIN_FILENO))
		cli_note("waiting for a client of the Model Context Protocol on standard input; "
			 "--http serves over HTTP");
	return mcp_stdio_serve(catalog, &io, e);
}

static int check_options(struct err *e)
{
	if (!values.http && (values.tls_cert || values.tls_key || values.no_tls ||
			     values.no_token || values.token_file || values.allow_hosts.n))
		return err_set(e, ERR_USAGE, "certificates, tokens and hosts are for --http");
	if (!values.fleet.nodes.n && (values.fleet.token_file || values.fleet.ca_cert ||
				      values.fleet.skew_ns || values.fleet.answers_max))
		return err_set(e, ERR_USAGE,
			       "--nodes-token-file, --ca-cert, --clock-skew-threshold and "
			       "--max-answers are for --nodes");
	return 0;
}

/* What is open while it serves. */
struct served {
	struct store_source *source;
	struct mcp_tools *tools;
	struct mcp_checker *checker;
	struct fleet_options fleet;
	char *nodes_token, *disk_cache;
};

/* Whether they can be asked at all is found out now, not when somebody asks. */
static int name_nodes(struct served *s, struct err *e)
{
	struct fleet *f = NULL;
	int rc = values.fleet.token_file ? cli_token(&s->nodes_token, values.fleet.token_file, e)
					 : 0;

	s->fleet = (struct fleet_options){ .token = s->nodes_token, .agent = program.name };
	remote_query_options(&s->fleet, &values.fleet);
	rc = rc ? rc : fleet_new(&f, &s->fleet, e);
	fleet_free(f);
	return rc;
}

static int open_all(struct served *s, const struct cli_operands *operands, struct err *e)
{
	struct store_source_options from = { .names = (const char *const *)operands->v,
					     .n = (unsigned)operands->n,
					     .run_files = operands->row,
					     .tool = program.name,
					     .folder = getenv("TMPDIR"),
					     .disk_cache = s->disk_cache = cli_kept_folder() };
	struct mcp_tools_options to = { .version = cli_version() };
	int rc = values.http ? mcp_checker_new(&s->checker, e) : 0;

	if (!rc && operands->n)
		rc = store_source_open(&s->source, &from, e);

	if (!rc && values.fleet.nodes.n) {
		rc = name_nodes(s, e);
		to.fleet = &s->fleet;
	}
	if (rc)
		return rc;
	if (!operands->n)
		cli_warn("no recording yet: tools that need one will say so (ingero-record makes "
			 "them)");
	to.source = s->source;
	to.checker = s->checker;
	s->tools = mcp_tools_new(&to);
	return s->tools ? 0 : err_nomem(e);
}

int main(int argc, char **argv)
{
	struct http_token token = { 0 };
	struct served s = { 0 };
	struct cli_operands operands;
	struct err e = { 0 };
	int rc, status;

	cli_start();
	cli_serving_memory();
	status = cli_parse(&program, &values, argc, argv, &operands);
	if (status != CLI_GO)
		return status;
	rc = check_options(&e);
	rc = rc ? rc : cli_signals_catch(&e);
	/* Before there are other processes. */
	if (!rc && values.http)
		rc = cli_serving_token(&token.text, values.token_file, values.no_token, &token.made,
				       &e);
	rc = rc ? rc : open_all(&s, &operands, &e);
	/* Over standard input it is the client's own program, which that has started. */
	if (!rc && values.http)
		server_rights_restrict(&(struct server_rights){ .disk_cache = s.disk_cache,
								.folder = getenv("TMPDIR"),
								.nodes = values.fleet.nodes.n });
	if (!rc && s.source)
		store_source_warm_cache(s.source, on_warning);
	if (!rc)
		rc = values.http ? serve_http(mcp_tools_catalog(s.tools), &token, &e)
				 : serve_stdio(mcp_tools_catalog(s.tools), &e);
	status = rc ? cli_fail(&e) : CLI_EXIT_DONE;
	mcp_tools_free(s.tools);
	store_source_free(s.source);
	mcp_checker_free(s.checker);
	free(token.text);
	free(s.nodes_token);
	free(s.disk_cache);
	cli_list_free(&values.allow_hosts);
	cli_list_free(&values.fleet.nodes);
	return status;
}
