/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server as our programs offer it: on this machine only unless told, with TLS unless told, guarded by names and a token.
 */
#ifndef INGERO_SERVE_LISTEN_H
#define INGERO_SERVE_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/net/server.h"

struct serve_listen_options {
	const char *address;		/* as net_server_options has it */
	const char *tls_cert, *tls_key; /* both or none: a certificate of its own */
	bool no_tls;
	const char *const *hosts; /* --allow-host */
	size_t nhosts;
	const char *token;	 /* NULL: nobody needs one */
	const char *const *open; /* paths for which none is needed; ended by NULL, or NULL */
	size_t body_max;
	unsigned connections_max, threads_max, streams_max,
		timeout_s;		/* as net_server_options has them */
	void (*note)(const char *line); /* told fingerprints; NULL: nobody wants to know */
	void (*warn)(const char *line); /* told what is open to others; NULL */
};

struct serve_listener;

/* All of opt is borrowed until stop. ERR_USAGE: one of tls_cert and tls_key, or either with no_tls; else as net_server_start and
 * net_cert_load. */
int serve_listen(struct serve_listener **out, const struct serve_listen_options *opt,
		 net_handler *handler, void *ctx, struct err *e);
/* "https://127.0.0.1:8080"; borrowed. */
const char *serve_listener_url(const struct serve_listener *l);
void serve_listener_stop(struct serve_listener *l);

#endif
