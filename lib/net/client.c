/* SPDX-License-Identifier: Apache-2.0 */
/* The only place that knows libcurl. */
#include "lib/net/client.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

struct net_client {
	struct net_client_options opt;
	CURL *curl;
	char error[CURL_ERROR_SIZE];
};

struct taking {
	struct buf *into;
	size_t max;
	bool over;
};

static const char *const no_libcurl = "libcurl cannot be initialised";

int net_client_new(struct net_client **out, const struct net_client_options *opt, struct err *e)
{
	struct net_client *c;

	*out = NULL;
	for (size_t i = 0; i < opt->nheaders; i++)
		if (strchr(opt->headers[i], ':') == NULL || opt->headers[i][0] == ':' ||
		    strpbrk(opt->headers[i], "\r\n"))
			return err_set(e, ERR_USAGE, "'%s' is no header: 'Name: value' is wanted",
				       opt->headers[i]);
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

static size_t take(char *p, size_t size, size_t n, void *arg)
{
	struct taking *t = arg;

	if (t->into->n + size * n > t->max) {
		t->over = true;
		return 0;
	}
	buf_add(t->into, p, size * n);
	return t->into->failed ? 0 : size * n;
}

static bool set(struct net_client *c, const char *url, const char *type, struct bytes body,
		struct curl_slist *headers, struct taking *t)
{
	CURL *h = c->curl;
	bool good;

	curl_easy_reset(h);
	c->error[0] = 0;
	good = curl_easy_setopt(h, CURLOPT_URL, url) == CURLE_OK &&
#if LIBCURL_VERSION_NUM >= 0x075500 /* 7.85 */
	       curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
#else
	       curl_easy_setopt(h, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS)) ==
		       CURLE_OK &&
#endif
	       curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers) == CURLE_OK;
	curl_easy_setopt(h, CURLOPT_ERRORBUFFER, c->error);
	curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, (long)(c->opt.timeout_ns / 1000000));
	curl_easy_setopt(h, CURLOPT_USERAGENT, c->opt.agent ? c->opt.agent : "ingero");
	curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(h, CURLOPT_WRITEDATA, t);
	if (c->opt.ca_file)
		curl_easy_setopt(h, CURLOPT_CAINFO, c->opt.ca_file);
	if (type) {
		curl_easy_setopt(h, CURLOPT_POST, 1L);
		curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n);
		curl_easy_setopt(h, CURLOPT_POSTFIELDS, body.p ? body.p : "");
	}
	return good;
}

static bool push(struct curl_slist **list, const char *text)
{
	struct curl_slist *more = curl_slist_append(*list, text);

	if (more)
		*list = more;
	return more;
}

static bool list_headers(struct curl_slist **list, const struct net_client *c, const char *type)
{
	struct buf content = { 0 };
	/* No body is held back until the server says that it may come. */
	bool good = push(list, "Expect:");

	if (type) {
		buf_printf(&content, "Content-Type: %s", type);
		good = good && !content.failed && push(list, buf_text(&content));
	}
	for (size_t i = 0; good && i < c->opt.nheaders; i++)
		good = push(list, c->opt.headers[i]);
	buf_free(&content);
	return good;
}

int net_client_send(struct net_client *c, const char *url, const char *type, struct bytes body,
		    struct net_answer *answer, struct err *e)
{
	struct taking t = { .into = &answer->body, .max = c->opt.answer_max };
	struct curl_slist *headers = NULL;
	curl_off_t wait = 0;
	long status = 0;
	CURLcode code;
	int rc = 0;

	*answer = (struct net_answer){ 0 };
	if (!list_headers(&headers, c, type) || !set(c, url, type, body, headers, &t)) {
		rc = err_nomem(e);
		goto out;
	}
	code = curl_easy_perform(c->curl);
	if (t.over)
		rc = err_set(e, ERR_LIMIT, "%s: the answer is longer than %zu bytes", url, t.max);
	else if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
		rc = err_set(e, ERR_USAGE, "'%s' is no URL of http or https", url);
	else if (code != CURLE_OK)
		rc = err_set(e, ERR_CANNOT, "%s: %s", url,
			     c->error[0] ? c->error : curl_easy_strerror(code));
	if (rc)
		goto out;
	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(c->curl, CURLINFO_RETRY_AFTER, &wait);
	answer->status = (unsigned)status;
	answer->retry_after_ns = wait > 0 && wait < 86400 ? (uint64_t)wait * 1000000000 : 0;
out:
	curl_slist_free_all(headers);
	if (rc)
		net_answer_free(answer);
	return rc;
}
