/* SPDX-License-Identifier: Apache-2.0 */
/* Sends HTTP requests one after another over persistent connections. */
#include "lib/net/client.h"

#include <stdlib.h>
#include <string.h>

#include "lib/net/curl_handle.h"

struct net_client {
	struct net_client_options opt;
	CURL *curl;
	char error[CURL_ERROR_SIZE];
};

static const char *const no_libcurl = "libcurl cannot be initialised";

/* The value may be a secret: errors do not quote it. */
static int check_header(const char *line, struct err *e)
{
	static const char name[] = "!#$%&'*+-.^_`|~0123456789"
				   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t n = strspn(line, name); /* RFC 9110, 5.6.2 */

	if (!n || line[n] != ':')
		return err_set(e, ERR_USAGE, "a header is wanted as 'Name: value'");
	if (strpbrk(line, "\r\n"))
		return err_set(e, ERR_USAGE, "header %.*s: its value is more than a line", (int)n,
			       line);
	return 0;
}

int net_client_new(struct net_client **out, const struct net_client_options *opt, struct err *e)
{
	struct net_client *c;

	*out = NULL;
	for (size_t i = 0; i < opt->nheaders; i++)
		if (check_header(opt->headers[i], e))
			return e->code;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(e, ERR_CANNOT, "%s", no_libcurl);
	c = calloc(1, sizeof(*c));
	if (!c)
		return err_nomem(e);
	c->opt = *opt;
	c->opt.timeout_ns = opt->timeout_ns ? opt->timeout_ns : UINT64_C(10000000000);
	c->opt.answer_max = opt->answer_max ? opt->answer_max : 1 << 20;
	c->curl = curl_easy_init();
	if (!c->curl) {
		free(c);
		return err_set(e, ERR_CANNOT, "%s", no_libcurl);
	}
	*out = c;
	return 0;
}

void net_client_free(struct net_client *c)
{
	if (!c)
		return;
	curl_easy_cleanup(c->curl);
	free(c);
}

int net_client_send(struct net_client *c, const char *url, const char *type, struct bytes body,
		    struct net_answer *answer, struct err *e)
{
	struct net_taking t = { .into = &answer->body, .max = c->opt.answer_max };
	struct curl_slist *headers;
	int rc = 0;

	*answer = (struct net_answer){ 0 };
	headers = net_curl_headers(&c->opt, type);
	if (!headers || !net_curl_set(c->curl, &c->opt, url, type, body, headers, &t, c->error))
		rc = err_nomem(e);
	else
		rc = net_curl_end(c->curl, curl_easy_perform(c->curl), url, &t, c->error, answer,
				  e);
	curl_slist_free_all(headers);
	if (rc)
		net_answer_free(answer);
	return rc;
}
