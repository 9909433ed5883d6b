/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet of this node is asked every few seconds which containers were given GPUs, over its
 * pod-resources socket, beside a loop that must not wait. A node without a kubelet is no error; one
 * whose kubelet cannot be asked is told of.
 */
#ifndef INGERO_HOST_KUBELET_H
#define INGERO_HOST_KUBELET_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/host/grpc.h"
#include "lib/host/pods.h"

/* Between two questions; and so long an answer may take. The kubelet takes 100 questions a second. */
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
