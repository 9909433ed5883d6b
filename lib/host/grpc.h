/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Non-blocking gRPC client over a Unix socket, one call at a time: an event loop can query a daemon
 * of this machine. HTTP/2 comes from libnghttp2, opened with dlopen: the build takes its headers,
 * and errors distinguish a machine without the library from a daemon that does not answer. Requests
 * are empty messages. Not thread-safe.
 */
#ifndef INGERO_HOST_GRPC_H
#define INGERO_HOST_GRPC_H

#include <stddef.h>

#include "lib/base/bytes.h"
#include "lib/base/err.h"

struct host_grpc;

/* Connects and asks for method, "/package.Service/Method". max: an answer that has more bytes is
 * refused. The connection is made when the daemon gets to it. */
int host_grpc_open(struct host_grpc **out, const char *socket_path, const char *method, size_t max,
		   struct err *e);
void host_grpc_free(struct host_grpc *g); /* NULL is fine */

/* Asks again, on the same connection, once the answer before was taken. */
int host_grpc_ask(struct host_grpc *g, struct err *e);

/* What can be done without waiting. 1: there is an answer, *message, borrowed until the next call;
 * 0: not yet; negative: the connection is of no use any more, and the text says why. */
int host_grpc_step(struct host_grpc *g, struct bytes *message, struct err *e);

/* To wait for with poll(2), and what for. */
int host_grpc_fd(const struct host_grpc *g, short *events);

#endif
