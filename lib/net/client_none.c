/* SPDX-License-Identifier: Apache-2.0 */
/* In builds without libcurl: every use says so. */
#include "lib/net/parallel_requests.h"

static const char *const without = "built without libcurl (make deps, then make)";

int net_client_new(struct net_client **out, const struct net_client_options *opt, struct err *e)
{
	(void)opt;
	*out = NULL;
	return err_set(e, ERR_CANNOT, "%s", without);
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

int net_parallel_requests_new(struct net_parallel_requests **out,
			      const struct net_client_options *opt, size_t coming_max,
			      struct err *e)
{
	(void)opt;
	(void)coming_max;
	*out = NULL;
	return err_set(e, ERR_CANNOT, "%s", without);
}

void net_parallel_requests_free(struct net_parallel_requests *f)
{
	(void)f;
}

void net_parallel_requests_files(struct net_parallel_requests *f, size_t files_max)
{
	(void)f;
	(void)files_max;
}

int net_parallel_requests_out(struct net_parallel_requests *f, struct net_ask *asks, size_t n,
			      size_t at_once, void (*done)(void *ctx, struct net_ask *ask),
			      bool (*stop)(void *ctx), void *ctx, struct err *e)
{
	(void)f;
	(void)asks;
	(void)n;
	(void)at_once;
	(void)done;
	(void)stop;
	(void)ctx;
	return err_set(e, ERR_CANNOT, "%s", without);
}
