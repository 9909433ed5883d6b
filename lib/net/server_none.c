/* SPDX-License-Identifier: Apache-2.0 */
/* In builds without libmicrohttpd: every use says so. */
#include "lib/net/server.h"

int net_server_start(struct net_server **out, const struct net_server_options *opt,
		     net_handler *handler, void *ctx, struct err *e)
{
	(void)handler;
	(void)ctx;
	*out = NULL;
	return err_set(e, ERR_CANNOT,
		       "cannot listen on %s: built without libmicrohttpd (make deps, then make)",
		       opt->address);
}

const char *net_server_address(const struct net_server *s)
{
	(void)s;
	return "";
}

void net_server_stop(struct net_server *s)
{
	(void)s;
}
