/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for the gRPC client in a build without the headers of libnghttp2: every call fails. */
#include "lib/host/grpc.h"

int host_grpc_open(struct host_grpc **out, const char *socket_path, const char *method, size_t max,
		   struct err *e)
{
	(void)socket_path;
	(void)method;
	(void)max;
	*out = NULL;
	return err_set(e, ERR_CANNOT,
		       "built without libnghttp2 (Debian: libnghttp2-dev, then make again)");
}

void host_grpc_free(struct host_grpc *g)
{
	(void)g;
}

int host_grpc_ask(struct host_grpc *g, struct err *e)
{
	return host_grpc_open(&g, NULL, NULL, 0, e);
}

int host_grpc_step(struct host_grpc *g, struct bytes *message, struct err *e)
{
	(void)message;
	return host_grpc_open(&g, NULL, NULL, 0, e);
}

int host_grpc_fd(const struct host_grpc *g, short *events)
{
	(void)g;
	*events = 0;
	return -1;
}
