/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request by libcurl, as all of ours are: http and https only, no redirects, no signals.
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
	/* Whether n bytes more fit, beside the answers of other requests; NULL: there are none. */
	bool (*room)(struct net_taking *t, size_t n);
	bool over;   /* it is longer than max */
	bool pushed; /* cancelled to make room for other answers */
	bool failed; /* it could not be written */
};

/* Headers of every request: those of the options, and the type of a body. NULL: out of memory. */
struct curl_slist *net_curl_headers(const struct net_client_options *opt, const char *type);

/* A time limit for libcurl, in milliseconds: at least one, since 0 is no limit. */
long net_curl_ms(uint64_t ns);

/* The pointers must stay valid as long as the request. error: CURL_ERROR_SIZE bytes. */
bool net_curl_set(CURL *h, const struct net_client_options *opt, const char *url, const char *type,
		  struct bytes body, struct curl_slist *headers, struct net_taking *t, char *error);

/* How it ended: 0, and *answer has status and wait; else the error. */
int net_curl_end(CURL *h, CURLcode code, const char *url, const struct net_taking *t,
		 const char *error, struct net_answer *answer, struct err *e);

#endif
