/* SPDX-License-Identifier: Apache-2.0 */
/* The only user of libcurl: sets options on an easy handle and maps its errors to ours. */
#include "lib/net/curl_handle.h"

#include <string.h>

#include "lib/base/io.h"

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
	struct net_taking *t = arg;

	if (t->n + size * n > t->max) {
		t->over = true;
		return 0;
	}
	if (t->pushed || (t->room && !t->room(t, size * n)))
		return 0;
	t->n += size * n;
	if (t->into)
		buf_add(t->into, p, size * n);
	t->failed = t->into ? t->into->failed : write_all(t->fd, p, size * n, NULL) != 0;
	return t->failed ? 0 : size * n;
}

static int on_progress(void *arg, curl_off_t all, curl_off_t came, curl_off_t out, curl_off_t went)
{
	const struct net_client_options *opt = arg;

	(void)all;
	(void)came;
	(void)out;
	(void)went;
	return opt->stop();
}

long net_curl_ms(uint64_t ns)
{
	return (long)(ns / 1000000 + (ns % 1000000 != 0));
}

bool net_curl_set(CURL *h, const struct net_client_options *opt, const char *url, const char *type,
		  struct bytes body, struct curl_slist *headers, struct net_taking *t, char *error)
{
	bool good;

	curl_easy_reset(h);
	error[0] = 0;
	good = curl_easy_setopt(h, CURLOPT_URL, url) == CURLE_OK &&
#if LIBCURL_VERSION_NUM >= 0x075500 /* 7.85 */
	       curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
#else
	       curl_easy_setopt(h, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS)) ==
		       CURLE_OK &&
#endif
	       curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers) == CURLE_OK;
	curl_easy_setopt(h, CURLOPT_ERRORBUFFER, error);
	curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, net_curl_ms(opt->timeout_ns));
	if (opt->reach_ns)
		curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, net_curl_ms(opt->reach_ns));
	curl_easy_setopt(h, CURLOPT_USERAGENT, opt->agent ? opt->agent : "ingero");
	curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(h, CURLOPT_WRITEDATA, t);
	if (opt->stop) {
		curl_easy_setopt(h, CURLOPT_NOPROGRESS, 0L);
		curl_easy_setopt(h, CURLOPT_XFERINFOFUNCTION, on_progress);
		curl_easy_setopt(h, CURLOPT_XFERINFODATA, (void *)opt);
	}
	if (opt->ca_file)
		curl_easy_setopt(h, CURLOPT_CAINFO, opt->ca_file);
	if (type) {
		curl_easy_setopt(h, CURLOPT_POST, 1L);
		curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n);
		curl_easy_setopt(h, CURLOPT_POSTFIELDS, body.p ? body.p : "");
	}
	return good;
}

static bool append_header(struct curl_slist **list, const char *text)
{
	struct curl_slist *more = curl_slist_append(*list, text);

	if (more)
		*list = more;
	return more;
}

struct curl_slist *net_curl_headers(const struct net_client_options *opt, const char *type)
{
	struct curl_slist *list = NULL;
	struct buf content = { 0 };
	/* No body is held back until the server says that it may come. */
	bool good = append_header(&list, "Expect:");

	if (type) {
		buf_printf(&content, "Content-Type: %s", type);
		good = good && !content.failed && append_header(&list, buf_text(&content));
	}
	for (size_t i = 0; good && i < opt->nheaders; i++)
		good = append_header(&list, opt->headers[i]);
	buf_free(&content);
	if (!good) {
		curl_slist_free_all(list);
		list = NULL;
	}
	return list;
}

int net_curl_end(CURL *h, CURLcode code, const char *url, const struct net_taking *t,
		 const char *error, struct net_answer *answer, struct err *e)
{
	curl_off_t wait = 0;
	long status = 0;

	if (t->over)
		return err_set(e, ERR_LIMIT, "%s: the answer is longer than %zu bytes", url,
			       t->max);
	if (t->pushed)
		return err_set(e, ERR_LIMIT,
			       t->into ? "%s: its answer is the longest of more than may come at "
					 "once (--max-answers)"
				       : "%s: its recording is the longest of those that come, and "
					 "all are more than there is room for (--max-nodes)",
			       url);
	if (t->failed)
		return t->into ? err_nomem(e)
			       : err_set(e, ERR_SYS, "%s: cannot write what it sends", url);
	if (code == CURLE_ABORTED_BY_CALLBACK)
		return err_set(e, ERR_INTERRUPTED, "interrupted");
	if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
		return err_set(e, ERR_USAGE, "'%s' is no URL of http or https", url);
	if (code != CURLE_OK)
		return err_set(e, ERR_CANNOT, "%s: %s", url,
			       error[0] ? error : curl_easy_strerror(code));
	curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(h, CURLINFO_RETRY_AFTER, &wait);
	answer->status = (unsigned)status;
	answer->retry_after_ns = wait > 0 && wait < 86400 ? (uint64_t)wait * 1000000000 : 0;
	return 0;
}
