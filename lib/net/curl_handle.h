/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request of libcurl's, as all of ours are: only http and https, nothing followed, no signals.
 */
#ifndef INGERO_NET_CURL_HANDLE_H
#define INGERO_NET_CURL_HANDLE_H

#include <curl/curl.h>
#include <stdbool.h>

#include "lib/net/client.h"

/* Where an answer goes. */
struct net_taking {
	struct buf *into; /* or NULL: */
	int fd;
	size_t max, n;
	/* Whether so many bytes more may come, beside those of others; NULL: it is alone. */
	bool (*room)(struct net_taking *t, size_t n);
	bool over;   /* it is longer than max */
	bool pushed; /* out, by others */
	bool failed; /* it could not be written */
};

/* Headers of every request: those of the options, and the type of a body. NULL: out of memory. */
struct curl_slist *net_curl_headers(const struct net_client_options *opt, const char *type);

/* A time as libcurl takes it; of less than a millisecond it is one, since none at all is no limit. */
long net_curl_ms(uint64_t ns);

/* What is pointed to lives as long as the request. error: CURL_ERROR_SIZE bytes. */
bool net_curl_set(CURL *h, const struct net_client_options *opt, const char *url, const char *type,
		  struct bytes body, struct curl_slist *headers, struct net_taking *t, char *error);

/* How it ended: 0, and *answer has status and wait; else the error. */
int net_curl_end(CURL *h, CURLcode code, const char *url, const struct net_taking *t,
		 const char *error, struct net_answer *answer, struct err *e);

#endif
