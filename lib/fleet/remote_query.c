/* SPDX-License-Identifier: Apache-2.0 */
/* The token is needed only until there is a fleet, which has a header of it. */
#include "lib/fleet/remote_query.h"

#include <stdlib.h>

#include "lib/cli/message.h"
#include "lib/cli/server_options.h"

void remote_query_options(struct fleet_options *how, const struct cli_asking *asked)
{
	how->nodes = asked->nodes.v;
	how->nnodes = asked->nodes.n;
	how->ca_file = asked->ca_cert;
	how->timeout_ns = asked->timeout_ns;
	how->skew_ns = asked->skew_ns;
	how->answers_max = asked->answers_max;
}

int remote_query_open(struct fleet **out, const struct cli_asking *asked, struct fleet_options how,
		      struct err *e)
{
	char *token = NULL;
	int rc = cli_token(&token, asked->token_file, e);

	*out = NULL;
	remote_query_options(&how, asked);
	how.token = token;
	rc = rc ? rc : fleet_new(out, &how, e);
	free(token);
	return rc;
}

int remote_query_end(struct fleet *f, int rc, struct err *e)
{
	rc = rc ? rc : fleet_compare_clocks(f, e);
	if (f)
		cli_warn_lines(fleet_warnings(f));
	return rc;
}
