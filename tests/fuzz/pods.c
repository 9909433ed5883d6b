/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: a kubelet's list of pods and their devices, which any program that has the
 * socket may send.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/host/pods.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_name(const struct host_pods *pods, const struct host_pod *pod)
{
	static struct host_place place;

	memset(&place, 0, sizeof(place));
	place.pod_uid[0] = 'u';
	memcpy(place.gpus, pod->gpus, sizeof(place.gpus));
	host_pods_complete(pods, &place);
	if (*place.pod && strcmp(place.gpus, pod->gpus) == 0 && *place.namespace &&
	    !host_pods_has(pods, &place))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct host_pods pods = { 0 };
	struct err e = { 0 };
	int rc = host_pods_parse(&pods, (struct bytes){ (const char *)data, size }, &e);

	if (rc ? !e.code || pods.n : pods.n > HOST_PODS_MAX || !host_pods_equal(&pods, &pods))
		abort();
	for (size_t i = 0; i < pods.n; i++) {
		const struct host_pod *p = &pods.v[i];

		if (!*p->gpus || strlen(p->gpus) >= sizeof(p->gpus) ||
		    strlen(p->pod) >= sizeof(p->pod))
			abort();
		if (i < 16)
			fuzz_name(&pods, p);
	}
	host_pods_free(&pods);
	return 0;
}
