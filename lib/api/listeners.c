/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the HTTP listener of a server with its TLS certificate, token and access rules. */
#include "lib/api/listeners.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/net/cert.h"

struct api_listener {
	struct api_listen_options opt;
	const char **hosts; /* ended by NULL */
	char own[256];	    /* the address that is listened on, where it is one */
	struct net_access_check guard;
	struct net_cert *cert;
	struct net_server *server;
	char url[80];
};

/* Reports a new certificate. Static, since at most one server with TLS runs in a process. */
static void (*tell_renewed)(const char *line);

static void on_renewed(const char *fingerprint)
{
	char line[NET_FINGERPRINT_SIZE + 80];

	snprintf(line, sizeof(line), "certificate for the next 24 hours, SHA-256 %s", fingerprint);
	if (tell_renewed)
		tell_renewed(line);
}

/* The host of "HOST:PORT" without brackets; "" when there is none. */
static void host_of(const char *address, char *out, size_t size)
{
	const char *colon = strrchr(address, ':');
	size_t n = colon ? (size_t)(colon - address) : 0;

	if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
		address++;
		n -= 2;
	}
	snprintf(out, size, "%.*s", (int)n, address);
}

static bool only_here(const char *host)
{
	return !*host || !strncmp(host, "127.", 4) || !strcmp(host, "::1") ||
	       !strcmp(host, "localhost");
}

static int open_certificate(struct api_listener *l, struct err *e)
{
	const struct api_listen_options *o = &l->opt;
	char fingerprint[NET_FINGERPRINT_SIZE], line[NET_FINGERPRINT_SIZE + 80];
	int rc;

	if (!o->tls_cert != !o->tls_key)
		return err_set(e, ERR_USAGE, "--tls-cert and --tls-key go together");
	if (o->no_tls)
		return o->tls_cert ? err_set(e, ERR_USAGE, "--no-tls or --tls-cert, not both") : 0;
	if (o->tls_cert)
		return net_cert_load(&l->cert, o->tls_cert, o->tls_key, e);
	tell_renewed = o->note;
	rc = net_cert_make(&l->cert, l->hosts, on_renewed, e);
	if (rc || !o->note)
		return rc;
	net_cert_fingerprint(l->cert, fingerprint);
	snprintf(line, sizeof(line), "certificate of its own for 24 hours, SHA-256 %s",
		 fingerprint);
	o->note(line);
	return 0;
}

/* Collects the host names of the server: those that are allowed, and the address it listens on. */
static int collect_hosts(struct api_listener *l, struct err *e)
{
	size_t n = 0;

	l->hosts = calloc(l->opt.nhosts + 2, sizeof(*l->hosts));
	if (!l->hosts)
		return err_nomem(e);
	for (; n < l->opt.nhosts; n++)
		l->hosts[n] = l->opt.hosts[n];
	host_of(l->opt.address, l->own, sizeof(l->own));
	if (!only_here(l->own) && strcmp(l->own, "0.0.0.0") && strcmp(l->own, "::"))
		l->hosts[n] = l->own;
	return 0;
}

static void warn_of_others(const struct api_listener *l)
{
	const char *missing =
		l->cert ? l->opt.token ? NULL : "whoever reaches it may ask (no token is set)"
		: l->opt.token
			? "the token can be read on the way (no TLS)"
			: "whoever reaches it may ask, and can read along (no token, no TLS)";
	struct buf line = { 0 };

	if (!l->opt.warn || !missing)
		return;
	if (only_here(l->own)) {
		if (l->opt.token)
			return;
		buf_printf(&line,
			   "%s is open to every user and program of this machine: whoever asks "
			   "reads the recordings (no token)",
			   l->url);
		l->opt.warn(buf_text(&line));
		buf_free(&line);
		return;
	}
	buf_printf(&line, "%s is open to other machines: %s", l->url, missing);
	l->opt.warn(buf_text(&line));
	buf_free(&line);
}

int api_listen(struct api_listener **out, const struct api_listen_options *opt,
	       net_handler *handler, void *ctx, struct err *e)
{
	struct api_listener *l = calloc(1, sizeof(*l));
	struct net_server_options how = { .address = opt->address,
					  .body_max = opt->body_max,
					  .connections_max = opt->connections_max,
					  .threads_max = opt->threads_max,
					  .streams_max = opt->streams_max,
					  .timeout_s = opt->timeout_s };
	int rc;

	*out = NULL;
	if (!l)
		return err_nomem(e);
	l->opt = *opt;
	rc = collect_hosts(l, e);
	rc = rc ? rc : open_certificate(l, e);
	l->guard = (struct net_access_check){ .token = opt->token,
					      .open = opt->open,
					      .hosts = l->hosts };
	how.guard = &l->guard;
	how.cert = l->cert;
	rc = rc ? rc : net_server_start(&l->server, &how, handler, ctx, e);
	if (rc) {
		api_listener_stop(l);
		return rc;
	}
	snprintf(l->url, sizeof(l->url), "%s://%s", l->cert ? "https" : "http",
		 net_server_address(l->server));
	warn_of_others(l);
	*out = l;
	return 0;
}

const char *api_listener_url(const struct api_listener *l)
{
	return l->url;
}

void api_listener_stop(struct api_listener *l)
{
	if (!l)
		return;
	net_server_stop(l->server);
	net_cert_free(l->cert);
	free(l->hosts);
	free(l);
}
