/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections and until when each may take for what it is doing: one that sends its request byte by
 * byte, or takes an answer so, is ended when its time is over, though it never was silent.
 */
#ifndef INGERO_NET_CONNECTION_DEADLINES_H
#define INGERO_NET_CONNECTION_DEADLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

struct net_watch;
struct net_watched;

int net_watch_new(struct net_watch **out, struct err *e);
/* fd is shut down when its time is over, never closed. NULL: out of memory. */
struct net_watched *net_watch_add(struct net_watch *w, int fd);
/* No more than most stay, of those that have an end: who has more make room for others. First the
 * oldest of the largest crowd, which is more than a quarter of most from one address of a network
 * that never sent a whole request; then the oldest that never did so in their first second; of any,
 * once there are NET_WATCH_SPARE times as many. Those that did make room when there is nobody else.
 */
void net_watch_make_room(struct net_watch *w, unsigned most);
/* It sent a request that is answered. */
void net_watch_known(struct net_watch *w, struct net_watched *c);
#define NET_WATCH_SPARE 4
/* CLOCK_MONOTONIC; INT64_MAX: no end. */
void net_watch_until(struct net_watch *w, struct net_watched *c, int64_t until_ns);
/* Before fd is closed. */
void net_watch_end(struct net_watch *w, struct net_watched *c);
void net_watch_free(struct net_watch *w); /* all were ended; or NULL */

#endif
