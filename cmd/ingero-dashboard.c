/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero-dashboard: recordings shown in a browser, and their data to programs. A server that reads
 * its files and nothing else, until it is interrupted.
 */
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>

#include "lib/cli/exit.h"
#include "lib/cli/help.h"
#include "lib/cli/message.h"
#include "lib/cli/options.h"
#include "lib/cli/output.h"
#include "lib/cli/server_options.h"
#include "lib/cli/signals.h"
#include "lib/host/node.h"
#include "lib/api/api.h"
#include "lib/store/server_rights.h"
#include "lib/api/listeners.h"
#include "lib/compat/api/agent_api.h"

static struct values {
	const char *addr, *tls_cert, *tls_key, *token_file;
	bool no_tls, no_token;
	struct cli_list allow_hosts;
} values = { .addr = "127.0.0.1:8080" };

#define AT(member) .offset = offsetof(struct values, member)

static const struct cli_option options[] = {
	{ .name = "addr",
	  .type = CLI_STRING,
	  AT(addr),
	  .arg = "ADDRESS",
	  .group = "Where it answers",
	  .help = "Address and port; a port alone is of this machine only [127.0.0.1:8080]" },
	CLI_SERVING_OPTIONS("Where it answers"),
	{ 0 },
};

static const struct cli_program program = {
	.name = "ingero-dashboard",
	.summary = "Show recordings in a browser",
	.usage = "[FILE...]",
	.options = options,
	.footer = "  ingero-dashboard run.ige\n"
		  "  ssh -L 8080:localhost:8080 gpu-host ingero-dashboard",
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

static void wait_for_signal(void)
{
	struct pollfd end = { .fd = cli_signals_fd(), .events = POLLIN };

	while (!cli_signal_received())
		poll(&end, 1, -1);
}

/* printed: the token goes with the address, behind what a browser keeps to itself. */
static int serve_source(struct store_source *source, const char *token, bool printed, struct err *e)
{
	struct api *api = api_new(source, cli_version(), agent_routes);
	struct api_listen_options listen = { .address = values.addr,
					     .tls_cert = values.tls_cert,
					     .tls_key = values.tls_key,
					     .no_tls = values.no_tls,
					     .hosts = values.allow_hosts.v,
					     .nhosts = values.allow_hosts.n,
					     .token = token,
					     .open = api_open_paths(),
					     .body_max = API_BODY_MAX,
					     .connections_max = 128,
					     .threads_max = 32,
					     .streams_max = 24,
					     .note = on_note,
					     .warn = on_warning };
	struct api_listener *listener = NULL;
	struct host_node node;
	struct buf url = { 0 };
	int rc = api ? 0 : err_nomem(e);

	if (!rc) {
		/* Before anybody can ask. */
		host_node_read(&node);
		api_set_machine(api, node.uuid, node.boot);
		rc = api_listen(&listener, &listen, api_answer, api, e);
	}
	if (!rc) {
		buf_printf(&url, "%s/%s%s\n", api_listener_url(listener), printed ? "#token=" : "",
			   printed ? token : "");
		rc = cli_print(&url, e);
	}
	if (!rc)
		wait_for_signal();
	api_listener_stop(listener);
	api_free(api);
	buf_free(&url);
	return rc;
}

int main(int argc, char **argv)
{
	struct store_source_options opt = { .tool = "ingero-dashboard" };
	struct store_source *source = NULL;
	struct cli_operands operands;
	char *token = NULL, *disk_cache;
	bool made = false;
	struct err e = { 0 };
	int status, rc;

	cli_start();
	cli_serving_memory();
	status = cli_parse(&program, &values, argc, argv, &operands);
	if (status != CLI_GO)
		return status;
	opt.names = (const char *const *)operands.v;
	opt.n = (unsigned)operands.n;
	opt.run_files = operands.row;
	opt.disk_cache = disk_cache = cli_kept_folder();
	rc = cli_signals_catch(&e);
	rc = rc ? rc : cli_serving_token(&token, values.token_file, values.no_token, &made, &e);
	rc = rc ? rc : store_source_open(&source, &opt, &e);
	if (!rc) {
		server_rights_restrict(&(struct server_rights){ .disk_cache = disk_cache });
		store_source_warm_cache(source, on_warning);
		rc = serve_source(source, token, made, &e);
	}
	status = rc ? cli_fail(&e) : CLI_EXIT_DONE;
	store_source_free(source);
	cli_list_free(&values.allow_hosts);
	free(token);
	free(disk_cache);
	return cli_finish_stdout(status);
}
