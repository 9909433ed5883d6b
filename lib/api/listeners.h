/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server as our programs offer it: by default on this machine only and with TLS, guarded by host
 * names and a token.
 */
#ifndef INGERO_API_LISTENERS_H
#define INGERO_API_LISTENERS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/net/server.h"

struct api_listen_options {
	const char *address;		/* as net_server_options has it */
	const char *tls_cert, *tls_key; /* both or none: a certificate of its own */
	bool no_tls;
	const char *const *hosts; /* --allow-host */
	size_t nhosts;
	const char *token;	 /* NULL: none is needed */
	const char *const *open; /* paths for which none is needed; ended by NULL, or NULL */
	size_t body_max;
	unsigned connections_max, threads_max, streams_max,
		timeout_s;		/* as net_server_options has them */
	void (*note)(const char *line); /* receives fingerprints; may be NULL */
	void (*warn)(const char *line); /* receives warnings of open access; may be NULL */
};

struct api_listener;

/* All of opt is borrowed until stop. ERR_USAGE: one of tls_cert and tls_key, or either with no_tls;
 * else as net_server_start and net_cert_load. */
int api_listen(struct api_listener **out, const struct api_listen_options *opt,
	       net_handler *handler, void *ctx, struct err *e);
/* "https://127.0.0.1:8080"; borrowed. */
const char *api_listener_url(const struct api_listener *l);
void api_listener_stop(struct api_listener *l);

#endif
