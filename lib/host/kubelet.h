/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Polls the kubelet of this node every few seconds for the GPUs of each container, over its
 * pod-resources socket and without blocking the caller's loop. A node without a kubelet is no
 * error; a kubelet that does not answer is reported.
 */
#ifndef INGERO_HOST_KUBELET_H
#define INGERO_HOST_KUBELET_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/host/grpc.h"
#include "lib/host/pods.h"

/* Between two requests, and the timeout of an answer. The kubelet allows 100 requests a second. */
#define HOST_KUBELET_PERIOD_NS 5000000000

/* Zeroed before. */
struct host_kubelet {
	char path[108];	       /* of the socket; "": there is none, and all else is nothing */
	struct host_pods pods; /* what it answered last */
	uint64_t answers;
	struct err error; /* why it could not be asked last; cleared by an answer */
	struct host_grpc *call;
	bool waiting;	  /* for an answer */
	int64_t asked_ns; /* when that was, or would have been */
};

/* Looks for the socket where the kubelets of distributions have it, as seen from here and from the
 * first process; path: only there, NULL. */
void host_kubelet_find(struct host_kubelet *k, const char *path);
void host_kubelet_close(struct host_kubelet *k);

/* True: the list is another one than before. Never waits. now_ns: CLOCK_MONOTONIC. */
bool host_kubelet_step(struct host_kubelet *k, int64_t now_ns);
/* The same until it has answered, or cannot be asked, or so much time has passed. */
bool host_kubelet_wait(struct host_kubelet *k, unsigned ms);

#endif
