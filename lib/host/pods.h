/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which containers of this node were given which GPUs, as the kubelet lists it: the answer of
 * v1.PodResourcesLister/List (k8s.io/kubelet/pkg/apis/podresources/v1/api.proto), reduced to GPUs.
 * Reads bytes only; lib/host/kubelet.h asks for them.
 */
#ifndef INGERO_HOST_PODS_H
#define INGERO_HOST_PODS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/bytes.h"
#include "lib/base/err.h"
#include "lib/host/process_placement.h"

#define HOST_PODS_ANSWER_MAX \
	(16u << 20)	    /* bytes of an answer; the kubelet's own clients take as much */
#define HOST_PODS_MAX 4096u /* containers with GPUs; more are damage */

struct host_pod {
	char namespace[64], pod[256], container[256];
	/* "GPU-..." or "MIG-..." as NVML spells them, or a plugin's or driver's own names;
	 * separated by commas, each once */
	char gpus[HOST_PLACE_GPUS];
};

/* A vec. Zero-initialised is empty. */
struct host_pods {
	struct host_pod *v;
	size_t n, cap;
};

/* Replaces what is there. ERR_DAMAGED: not such a message; *p is then empty. */
int host_pods_parse(struct host_pods *p, struct bytes message, struct err *e);
bool host_pods_equal(const struct host_pods *a, const struct host_pods *b);
void host_pods_free(struct host_pods *p);

/* Is one of the parts of a list, between commas, that id? */
bool host_pods_lists(const char *list, struct bytes id);

/* What the list adds to where a process is: to a pod that has a name its GPUs, and to one without
 * whose GPUs are known its name, where no other container was given the same. */
void host_pods_complete(const struct host_pods *p, struct host_place *place);
/* Is that place a container that was given GPUs? (Of which container it is may be unknown: then,
 * any of its pod.) */
bool host_pods_has(const struct host_pods *p, const struct host_place *place);

#endif
