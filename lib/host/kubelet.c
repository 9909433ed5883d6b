/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection is kept: the right to make another may have been given up since. Invariant: while
 * waiting is true there is a call.
 */
#include "lib/host/kubelet.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/host/clock.h"

#define METHOD "/v1.PodResourcesLister/List"

/* Kubernetes' own folder, then those of MicroK8s and k0s. */
static const char *const folders[] = { "/var/lib/kubelet",
				       "/var/snap/microk8s/common/var/lib/kubelet",
				       "/var/lib/k0s/kubelet" };

static bool is_socket(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

void host_kubelet_find(struct host_kubelet *k, const char *path)
{
	if (path) {
		snprintf(k->path, sizeof(k->path), "%s", path);
		return;
	}
	for (unsigned i = 0; i < 2 * sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(k->path, sizeof(k->path), "%s%s/pod-resources/kubelet.sock",
			 i % 2 ? "/proc/1/root" : "", folders[i / 2]);
		if (is_socket(k->path))
			return;
	}
	k->path[0] = '\0';
}

static void hang_up(struct host_kubelet *k)
{
	host_grpc_free(k->call);
	k->call = NULL;
	k->waiting = false;
}

void host_kubelet_close(struct host_kubelet *k)
{
	hang_up(k);
	host_pods_free(&k->pods);
}

static void send_request(struct host_kubelet *k, int64_t now_ns)
{
	int rc;

	k->asked_ns = now_ns;
	if (k->call)
		rc = host_grpc_ask(k->call, &k->error);
	else
		rc = host_grpc_open(&k->call, k->path, METHOD, HOST_PODS_ANSWER_MAX, &k->error);
	k->waiting = rc == 0;
	if (rc)
		hang_up(k);
}

static bool apply_answer(struct host_kubelet *k, struct bytes message)
{
	struct host_pods now = { 0 };
	bool other;

	if (host_pods_parse(&now, message, &k->error)) {
		host_pods_free(&now);
		hang_up(k);
		return false;
	}
	k->error = (struct err){ 0 };
	k->waiting = false;
	other = k->answers++ == 0 || !host_pods_equal(&k->pods, &now);
	host_pods_free(&k->pods);
	k->pods = now;
	return other;
}

bool host_kubelet_step(struct host_kubelet *k, int64_t now_ns)
{
	struct bytes message;
	int rc;

	if (!*k->path)
		return false;
	if (!k->waiting && (k->asked_ns == 0 || now_ns - k->asked_ns >= HOST_KUBELET_PERIOD_NS))
		send_request(k, now_ns);
	if (!k->waiting)
		return false;
	rc = host_grpc_step(k->call, &message, &k->error);
	if (rc > 0)
		return apply_answer(k, message);
	if (rc == 0 && now_ns - k->asked_ns >= HOST_KUBELET_PERIOD_NS)
		rc = err_set(&k->error, ERR_CANNOT, "it does not answer");
	if (rc)
		hang_up(k);
	return false;
}

bool host_kubelet_wait(struct host_kubelet *k, unsigned ms)
{
	int64_t now = host_clock_mono(), until = now + (int64_t)ms * 1000000;
	bool other = host_kubelet_step(k, now);

	while (k->waiting && now < until) {
		struct pollfd p = { 0 };

		p.fd = host_grpc_fd(k->call, &p.events);
		poll(&p, 1, (int)((until - now) / 1000000) + 1);
		now = host_clock_mono();
		other |= host_kubelet_step(k, now);
	}
	return other;
}
