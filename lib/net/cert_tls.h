/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A certificate as the server's TLS requests it: the callback is not passed the server, so that one
 * certificate is in use at a time.
 */
#ifndef INGERO_NET_CERT_TLS_H
#define INGERO_NET_CERT_TLS_H

#include "lib/net/cert.h"

/* TLS 1.3 and nothing older. */
#define NET_TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3"

/* A gnutls_certificate_retrieve_function2. */
void (*net_cert_callback(void))(void);

/* c is shown from now on. ERR_CANNOT: another one is. */
int net_cert_show(struct net_cert *c, struct err *e);
void net_cert_hide(struct net_cert *c);

/* Replaces a self-signed certificate by a new one; the previous one is kept for handshakes in
 * progress. */
int net_cert_renew(struct net_cert *c, struct err *e);

#endif
