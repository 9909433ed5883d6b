/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of files and sockets for readers, instead of their ids.
 */
#ifndef INGERO_QUERY_RESOURCE_LABELS_H
#define INGERO_QUERY_RESOURCE_LABELS_H

#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/world/late_names.h"

/* "/mnt/x (nfs4, server:/export)", "tcp 192.0.2.1:80", "tcp 127.0.0.1:6379 (redis-server, pid
 * 812)"; "?" when the recording has no name. */
void query_append_file_label(const struct late_names *t, const struct world *w, uint64_t id,
			     struct buf *out);
void query_append_socket_label(const struct late_names *t, const struct world *w, uint64_t id,
			       struct buf *out);

#endif
