/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A certificate as the server's TLS asks for it: without a word about whose server it is, so one is
 * shown at a time.
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

/* Another one of its own making takes its place; what was shown before it is kept for who is being
 * shown it. */
int net_cert_renew(struct net_cert *c, struct err *e);

#endif
