/* SPDX-License-Identifier: Apache-2.0 */
/* In builds without libcurl: every use says so. */
#include "lib/net/client.h"

int net_client_new(struct net_client **out, const struct net_client_options *opt, struct err *e)
{
	(void)opt;
	*out = NULL;
	return err_set(e, ERR_CANNOT, "built without libcurl (make deps, then make)");
}

void net_client_free(struct net_client *c)
{
	(void)c;
}

int net_client_send(struct net_client *c, const char *url, const char *type, struct bytes body,
		    struct net_answer *answer, struct err *e)
{
	(void)c;
	(void)type;
	(void)body;
	(void)answer;
	return err_set(e, ERR_CANNOT, "%s: built without libcurl", url);
}
